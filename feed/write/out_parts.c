/* feed/write/out_parts.c - reads the object form for output. */
#include "feed/write/writer_priv.h"

#include "base/compiler.h"
#include "feed/text/fragment.h"
#include "feed/text/html.h"
#include "feed/text/iri.h"
#include "feed/text/json.h"
#include "feed/text/sanitize_priv.h"
#include "feed/text/uri.h"

#define LINKS_MAX 256 /* of one entry; each is compared with all before it */
#define TAGS_MAX 256

/* Returns null for an empty or blank text. */
static struct str some(struct str s)
{
    s = str_trim(s);
    return s.len == 0 ? STR_NULL : s;
}

static bool has_markup(struct str s)
{
    ssize_t lt = str_chr(s, '<'), amp = str_chr(s, '&');

    return lt >= 0 || (amp >= 0 && str_chr(str_slice(s, (size_t)amp, s.len), ';') >= 0);
}

static bool is_html_type(struct str type)
{
    return str_ieqz(type, "text/html") || str_ieqz(type, "application/xhtml+xml") ||
           str_ieqz(type, "html") || str_ieqz(type, "xhtml");
}

/* Returns the text if it looks like a language tag (BCP 47): subtags of letters and digits, each of
 * at most eight characters. Otherwise null. */
static struct str language(struct str s)
{
    size_t n = 0;

    s = some(s);
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool alpha = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (c == '-' ? n == 0 : !alpha && !(c >= '0' && c <= '9' && n < i))
            return STR_NULL;
        n = c == '-' ? 0 : n + 1;
        if (n > 8)
            return STR_NULL;
    }
    return n == 0 ? STR_NULL : s;
}

/* Read a text construct: the members `key` and `key`_detail. */
static struct part_text read_text(struct arena *a, const struct value *obj, const char *key)
{
    const struct value *detail = value_get(obj, str_printf(a, "%s_detail", key));
    struct str type = value_get_textz(detail, "type");
    struct part_text t = {.lang = language(value_get_textz(detail, "language"))};

    t.value = some(value_get_textz(detail, "value"));
    if (str_is_null(t.value))
        t.value = some(value_get_text(obj, str_from(key)));
    /* HTML without markup is written as plain text, which is simpler */
    t.html = has_markup(t.value) && (type.len == 0 || is_html_type(type));
    return t;
}

/* Returns the `x/y` of a media type, or null. */
static struct str media_type(struct str s)
{
    struct str type = some(s);
    ssize_t semi = str_chr(type, ';');
    bool slash = false;

    if (semi >= 0)
        type = some(str_slice(type, 0, (size_t)semi));
    for (size_t i = 0; i < type.len; i++) {
        char c = type.ptr[i];
        if (c == '/' && !slash && i > 0 && i + 1 < type.len)
            slash = true;
        else if ((unsigned char)c <= ' ' || (unsigned char)c >= 0x7F ||
                 strchr("()<>@,;:\\\"/[]?=", c) != NULL)
            return STR_NULL;
    }
    return slash ? type : STR_NULL;
}

/* Returns true when the XML can be Atom's content: a single element that declares its namespace,
 * with nothing beside it, and without elements on which a browser or an XML tool acts. */
static bool is_fit_xml(struct str xml, struct str text)
{
    static const char *const barred[] = {
        "http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg",
        "http://www.w3.org/1998/Math/MathML", "http://www.w3.org/2001/XInclude"};
    struct fragment_element el;
    struct str rest = xml;

    if (xml.len == 0 || text.len > 0 || !fragment_next(&rest, &el) || el.ns.len == 0 ||
        el.text.len < str_trim(xml).len)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(barred); i++)
        if (str_find(xml, str_from(barred[i])) >= 0)
            return false;
    return true;
}

/* Choose the best content: one that differs from the summary before one that is the same, HTML
 * before text, and the longer one. */
static void read_content(const struct value *obj, struct out_parts *v)
{
    const struct value *list = value_getz(obj, "content"), *more = value_getz(obj, "summaries");
    size_t best = 0;

    for (size_t i = 0; i < value_len(list) + value_len(more); i++) {
        const struct value *c =
            i < value_len(list) ? value_at(list, i) : value_at(more, i - value_len(list));
        struct str type = value_get_textz(c, "type"), text = some(value_get_textz(c, "value"));
        bool html = is_html_type(type) || (type.len == 0 && has_markup(text));
        size_t rank;
        if (str_is_null(v->content_xml) && is_fit_xml(value_get_textz(c, "xml"), text)) {
            v->content_xml = value_get_textz(c, "xml");
            v->content_xml_type = media_type(type);
        }
        if (str_is_null(text)) {
            if (str_is_null(v->content_src) && value_get_textz(c, "src").len > 0) {
                v->content_src = value_get_textz(c, "src");
                v->content_type = media_type(type);
            }
            continue;
        }
        if (!html && type.len > 0 && !str_istarts(type, STR("text/")))
            continue;
        rank = (str_eq(text, v->summary.value) ? 1 : 3) + (html ? 1 : 0);
        if (rank < best || (rank == best && text.len <= v->content.value.len))
            continue;
        best = rank;
        v->content = (struct part_text){.value = text,
                                        .html = html && has_markup(text),
                                        .lang = language(value_get_textz(c, "language"))};
    }
}

/* A summary that was made from the content (feed/identity/complete.h) has the content's type. */
static void summary_like_content(const struct value *obj, struct out_parts *v)
{
    const struct value *list = value_getz(obj, "content");

    if (value_getz(obj, "summary_detail") != NULL)
        return;
    for (size_t i = 0; i < value_len(list); i++) {
        const struct value *c = value_at(list, i);
        struct str type = value_get_textz(c, "type");
        if (!str_eq(some(value_get_textz(c, "value")), v->summary.value))
            continue;
        v->summary.html = v->summary.html && (type.len == 0 || is_html_type(type));
        return;
    }
}

/* Returns a reference that may be written, or null. */
static struct str read_href(struct arena *a, struct str href, struct str base)
{
    struct str scheme;

    href = some(href);
    if (str_is_null(href))
        return href;
    href = iri_escape(a, uri_resolve(a, base, href), false);
    scheme = iri_scheme(href);
    if (str_is_null(scheme) || !sanitize_listed(SANITIZE_SCHEMES, scheme) ||
        !iri_is_permanent(href))
        return STR_NULL;
    return href;
}

static int64_t length_of(const struct value *link)
{
    const struct value *v = value_getz(link, "length");
    int64_t n;

    if (v != NULL && v->kind == VAL_INT)
        return v->i >= 0 ? v->i : -1;
    if (v == NULL || v->kind != VAL_TEXT || !str_to_i64(str_trim(v->s), &n) || n < 0)
        return -1;
    return n;
}

/* Returns true for relations that may be written for an entry or a head: absolute ones, and
 * registered ones that make sense there. Links for paging, archives, hubs and the document's own
 * address are set by Feedmill, not by the publisher. */
static bool is_relation(struct str rel, bool head)
{
    static const char *const names[] = {"about",
                                        "alternate",
                                        "appendix",
                                        "archives",
                                        "author",
                                        "bookmark",
                                        "canonical",
                                        "chapter",
                                        "cite-as",
                                        "collection",
                                        "contents",
                                        "copyright",
                                        "describedby",
                                        "disclosure",
                                        "duplicate",
                                        "edit",
                                        "edit-form",
                                        "edit-media",
                                        "enclosure",
                                        "glossary",
                                        "help",
                                        "icon",
                                        "index",
                                        "item",
                                        "latest-version",
                                        "license",
                                        "lrdd",
                                        "memento",
                                        "original",
                                        "payment",
                                        "predecessor-version",
                                        "preview",
                                        "privacy-policy",
                                        "related",
                                        "replies",
                                        "search",
                                        "section",
                                        "self",
                                        "service",
                                        "start",
                                        "subsection",
                                        "successor-version",
                                        "tag",
                                        "terms-of-service",
                                        "timegate",
                                        "timemap",
                                        "type",
                                        "up",
                                        "version-history",
                                        "via",
                                        "working-copy",
                                        "working-copy-of"};

    if (iri_is_permanent(rel))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eqz(rel, names[i]))
            return !(head && (str_eqz(rel, "self") || str_eqz(rel, "enclosure")));
    return false;
}

/* Add a link, unless there is an equal one: an alternate with the same type and language, or the
 * same relation to the same target. */
static void add_link(struct out_parts *v, struct part_link l)
{
    bool alternate = str_eqz(l.rel, "alternate");

    if (str_is_null(l.href) || v->n_links == LINKS_MAX)
        return;
    for (size_t i = 0; i < v->n_links; i++) {
        const struct part_link *o = &v->links[i];
        if (!str_eq(o->rel, l.rel))
            continue;
        if (alternate ? str_eq(o->type, l.type) && str_eq(o->hreflang, l.hreflang)
                      : str_eq(o->href, l.href))
            return;
    }
    if (alternate && str_is_null(v->link))
        v->link = l.href;
    v->links[v->n_links++] = l;
}

static struct part_link read_link(struct arena *a, const struct value *l, struct str base,
                                  const char *rel)
{
    struct str own = iri_relation(some(value_get_textz(l, "rel")));
    struct str href = value_get_textz(l, "href");

    if (href.len == 0)
        href = value_get_textz(l, "url");
    if (!str_is_null(own))
        own = iri_is_permanent(own) ? iri_escape(a, own, false) : str_lower(a, own);
    return (struct part_link){.rel = rel != NULL        ? str_from(rel)
                                     : str_is_null(own) ? STR("alternate")
                                                        : own,
                              .type = media_type(value_get_textz(l, "type")),
                              .href = read_href(a, href, base),
                              .hreflang = language(value_get_textz(l, "hreflang")),
                              .title = some(value_get_textz(l, "title")),
                              .length = length_of(l),
                              .original = some(value_get_textz(l, "original"))};
}

static void read_links(struct arena *a, const struct value *obj, struct str base, bool head,
                       struct out_parts *v)
{
    const struct value *links = value_getz(obj, "links");
    const struct value *enclosures = value_getz(obj, "enclosures");
    struct part_link first = {.rel = STR("alternate"),
                              .href = read_href(a, value_get_textz(obj, "link"), base),
                              .length = -1,
                              .at = SIZE_MAX};
    size_t most = 2 + (size_t)value_len(links) + (head ? 0 : value_len(enclosures));

    v->links = ARENA_ARRAY(a, struct part_link, most < LINKS_MAX ? most : LINKS_MAX);
    /* `link` is the one to show, so it comes first, with the details that `links` has for it */
    for (size_t i = 0; i < value_len(links) && i < LINKS_MAX; i++) {
        struct part_link l = read_link(a, value_at(links, i), base, NULL);
        l.at = i;
        if (str_eqz(l.rel, "alternate") && str_eq(l.href, first.href)) {
            first = l;
            /* RSS's link cannot have a title, so an atom:link follows it */
            if (!str_is_null(l.title))
                break;
        }
    }
    add_link(v, first);
    for (size_t i = 0; i < value_len(links) && i < LINKS_MAX; i++) {
        struct part_link l = read_link(a, value_at(links, i), base, NULL);
        l.at = i;
        if (is_relation(l.rel, head))
            add_link(v, l);
    }
    for (size_t i = 0; i < value_len(enclosures) && i < LINKS_MAX && !head; i++) {
        struct part_link l = read_link(a, value_at(enclosures, i), base, "enclosure");
        l.at = SIZE_MAX;
        add_link(v, l);
    }
    v->comments = head ? STR_NULL : read_href(a, value_get_textz(obj, "comments"), base);
    add_link(v, (struct part_link){.rel = STR("replies"),
                                   .type = STR("text/html"),
                                   .href = v->comments,
                                   .length = -1,
                                   .at = SIZE_MAX});
}

/* Returns `x@y` if it has no spaces, or null. */
static struct str email_of(struct str s)
{
    ssize_t at;

    s = some(s);
    if (str_istarts(s, STR("mailto:")))
        s = str_slice(s, 7, s.len);
    at = str_chr(s, '@');
    if (at < 1 || (size_t)at + 1 >= s.len)
        return STR_NULL;
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] <= ' ' || strchr("<>()\",;", s.ptr[i]) != NULL)
            return STR_NULL;
    return s;
}

/* Read a person. False: nothing can be used as a name. */
static bool read_person(struct arena *a, const struct value *p, struct str base,
                        struct part_person *out)
{
    struct str name = value_get_textz(p, "name"), href = value_get_textz(p, "href");

    if (p != NULL && p->kind == VAL_TEXT)
        name = p->s;
    if (href.len == 0)
        href = value_get_textz(p, "uri");
    out->email = email_of(value_get_textz(p, "email"));
    out->uri = read_href(a, href, base);
    out->name = some(has_markup(name) ? html_to_text(a, name) : name);
    if (str_is_null(out->name))
        out->name = !str_is_null(out->email) ? out->email : iri_host(out->uri);
    return out->name.len > 0;
}

static size_t read_persons(struct arena *a, const struct value *obj, struct str base,
                           const char *list_key, const char *one_key, struct part_person **out)
{
    const struct value *list = value_get(obj, str_from(list_key));
    const struct value *one = NULL;
    size_t n = 0, len = value_len(list) < TAGS_MAX ? value_len(list) : TAGS_MAX;

    *out = ARENA_ARRAY(a, struct part_person, len + 1);
    for (size_t i = 0; i < len; i++) {
        struct part_person *p = &(*out)[n];
        bool known = !read_person(a, value_at(list, i), base, p);
        p->at = i;
        for (size_t k = 0; k < n && !known; k++) {
            const struct part_person *o = &(*out)[k];
            known = str_eq(o->name, p->name) &&
                    (str_is_null(p->email) || str_eq(o->email, p->email)) &&
                    (str_is_null(p->uri) || str_eq(o->uri, p->uri));
        }
        n += !known;
    }
    if (n > 0 || one_key == NULL)
        return n;
    one = value_get(obj, str_printf(a, "%s_detail", one_key));
    if (one == NULL)
        one = value_get(obj, str_from(one_key));
    (*out)[0].at = SIZE_MAX;
    return read_person(a, one, base, &(*out)[0]);
}

static void read_tags(struct arena *a, const struct value *obj, struct out_parts *v)
{
    const struct value *list = value_getz(obj, "tags");
    size_t most = value_len(list);

    v->tags = ARENA_ARRAY(a, struct part_tag, most < TAGS_MAX ? most + 1 : TAGS_MAX);
    for (size_t i = 0; i < value_len(list) && v->n_tags < TAGS_MAX; i++) {
        const struct value *t = value_at(list, i);
        struct part_tag tag = {.term = some(value_get_textz(t, "term")),
                               .scheme = some(value_get_textz(t, "scheme")),
                               .domain = some(value_get_textz(t, "scheme")),
                               .at = i,
                               .label = some(value_get_textz(t, "label"))};
        bool known = false;
        if (str_is_null(tag.term))
            tag.term = tag.label;
        if (str_is_null(tag.term))
            continue;
        if (!iri_is_permanent(tag.scheme) || !str_eq(iri_escape(a, tag.scheme, false), tag.scheme))
            tag.scheme = STR_NULL;
        for (size_t k = 0; k < v->n_tags && !known; k++)
            known = str_eq(v->tags[k].term, tag.term) && str_eq(v->tags[k].domain, tag.domain);
        if (!known)
            v->tags[v->n_tags++] = tag;
    }
}

static void read_pictures(struct arena *a, const struct value *obj, struct str base,
                          struct out_parts *v)
{
    const struct value *image = value_getz(obj, "image");
    struct str href = value_get_textz(image, "href");

    if (href.len == 0)
        href = value_get_textz(image, "url");
    if (image != NULL && image->kind == VAL_TEXT)
        href = image->s;
    v->image = read_href(a, href, base);
    if (str_is_null(v->image))
        v->image = read_href(a, value_get_textz(obj, "logo"), base);
    v->icon = read_href(a, value_get_textz(obj, "icon"), base);
}

void out_parts_read(struct arena *a, const struct value *obj, struct str ext, struct str base,
                    bool head, struct out_parts *out)
{
    const struct value *generator = value_getz(obj, "generator_detail");

    *out = (struct out_parts){.link = STR_NULL, .content_xml = STR_NULL, .kept = kept_read(a, ext)};
    out->title = read_text(a, obj, "title");
    out->rights = read_text(a, obj, "rights");
    out->summary = read_text(a, obj, head ? "subtitle" : "summary");
    out->subtitle = head ? (struct part_text){.value = STR_NULL} : read_text(a, obj, "subtitle");
    if (head && str_is_null(out->summary.value))
        out->summary = read_text(a, obj, "summary");
    if (!head) {
        summary_like_content(obj, out);
        read_content(obj, out);
    }
    out->content_src = read_href(a, out->content_src, base);
    out->n_authors = read_persons(a, obj, base, "authors", "author", &out->authors);
    if (out->n_authors == 0 && head)
        out->n_authors = read_persons(a, obj, base, "authors", "publisher", &out->authors);
    out->n_contributors = read_persons(a, obj, base, "contributors", NULL, &out->contributors);
    read_links(a, obj, base, head, out);
    read_tags(a, obj, out);
    read_pictures(a, obj, base, out);
    out->lang = language(value_get_textz(obj, "language"));
    out->generator = some(value_get_textz(generator, "name"));
    if (str_is_null(out->generator))
        out->generator = some(value_get_textz(obj, "generator"));
    out->generator_uri = read_href(a, value_get_textz(generator, "href"), base);
    out->generator_version = some(value_get_textz(generator, "version"));
    out->publisher = some(value_get_textz(obj, "publisher"));
    out->created = some(value_get_textz(obj, "created"));
    /* a description that is the same as the content is left out */
    if (!str_is_null(out->summary.value) && str_eq(out->summary.value, out->content.value)) {
        out->summary.value = STR_NULL; /* it was made from the content */
        out->is_summary_content = true;
    }
}

const struct value *out_entry_object(struct arena *a, const struct out_entry *e)
{
    struct value *v = NULL;

    if (e->obj != NULL || e->json.len == 0)
        return e->obj;
    return json_read(a, e->json, &v, NULL) == RC_OK ? v : NULL;
}

struct str part_plain(struct arena *a, struct part_text t)
{
    if (str_is_null(t.value))
        return t.value;
    if (t.html)
        return some(html_to_text(a, t.value));
    return some(t.value);
}

struct str part_html(struct arena *a, struct part_text t)
{
    struct buf b = BUF_INIT(BUF_ANY);
    struct str html;

    if (str_is_null(t.value) || t.html)
        return t.value;
    for (size_t i = 0; i < t.value.len; i++) {
        char c = t.value.ptr[i];
        if (c == '<')
            buf_puts(&b, "&lt;");
        else if (c == '>')
            buf_puts(&b, "&gt;");
        else if (c == '&')
            buf_puts(&b, "&amp;");
        else
            buf_putc(&b, c);
    }
    html = str_dup(a, buf_view(&b));
    buf_release(&b);
    return html;
}

struct str parts_title(struct arena *a, const struct out_parts *v)
{
    struct str text = part_plain(a, v->title);
    size_t n = 80;

    if (text.len > 0)
        return text;
    text = part_plain(a, v->summary);
    if (text.len == 0)
        text = part_plain(a, v->content);
    if (text.len == 0)
        return str_is_null(v->link) ? STR("Untitled") : v->link;
    if (text.len <= n)
        return text;
    while (n > 60 && text.ptr[n] != ' ')
        n--;
    while (n > 0 && ((unsigned char)text.ptr[n] & 0xC0) == 0x80)
        n--;
    return str_concat(a, str_trim(str_slice(text, 0, n)), STR("\xE2\x80\xA6"));
}
