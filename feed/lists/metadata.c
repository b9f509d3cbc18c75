/* feed/lists/metadata.c - see metadata.h. Source: Atom-PMH, "Active entries" and "Atom-RDC". */
#include "feed/lists/metadata.h"

#include "feed/read/encoding.h"
#include "feed/text/html.h"
#include "feed/text/sanitize.h"
#include "feed/text/uri.h"

enum alternate_kind {
    ALTERNATE_ATOM,
    ALTERNATE_PAGE,
    ALTERNATE_TEXT,
    ALTERNATE_XML,
    ALTERNATE_JSON,
    ALTERNATE_KINDS
};

static enum alternate_kind kind_of(struct str type)
{
    if (str_eqz(type, "application/atom+xml"))
        return ALTERNATE_ATOM;
    if (str_eqz(type, "text/html") || str_eqz(type, "application/xhtml+xml"))
        return ALTERNATE_PAGE;
    if (str_eqz(type, "application/xml") || str_eqz(type, "text/xml") ||
        str_ends(type, STR("+xml")))
        return ALTERNATE_XML;
    if (str_eqz(type, "application/json") || str_ends(type, STR("+json")))
        return ALTERNATE_JSON;
    return str_starts(type, STR("text/")) ? ALTERNATE_TEXT : ALTERNATE_KINDS;
}

/* Returns the media type in lower case, without parameters. */
static struct str media_type(struct arena *a, struct str value)
{
    return str_lower(a, str_trim(str_split(&value, ';')));
}

static bool is_of_host(struct arena *a, struct str href, struct str host)
{
    struct str rest = href, scheme = str_split(&rest, ':');

    if (!str_ieqz(scheme, "http") && !str_ieqz(scheme, "https"))
        return false;
    if (!str_starts(rest, STR("//")))
        return false;
    rest = str_slice(rest, 2, rest.len);
    for (size_t i = 0; i < rest.len; i++)
        if (strchr("/?#", rest.ptr[i]) != NULL)
            rest.len = i;
    for (ssize_t at; (at = str_chr(rest, '@')) >= 0;)
        rest = str_slice(rest, (size_t)at + 1, rest.len);
    if (str_starts(rest, STR("["))) {
        ssize_t end = str_chr(rest, ']');

        return end > 0 && str_ieq(str_slice(rest, 0, (size_t)end + 1), host);
    }
    return str_eq(str_lower(a, str_split(&rest, ':')), host);
}

size_t metadata_alternates(struct arena *a, const struct value *entry, struct str host,
                           struct metadata_alternate *out)
{
    const struct value *links = value_getz(entry, "links");
    size_t n = 0;

    for (int kind = ALTERNATE_ATOM; kind < ALTERNATE_KINDS; kind++)
        for (size_t i = 0; i < value_len(links) && n < METADATA_ALTERNATES_MAX; i++) {
            struct str rel = value_get_textz(value_at(links, i), "rel");
            struct str href = value_get_textz(value_at(links, i), "href");
            struct str type = value_get_textz(value_at(links, i), "type");
            struct str bare = media_type(a, type);

            if ((!str_is_null(rel) && !str_ieqz(rel, "alternate")) || href.len == 0 ||
                kind_of(bare) != (enum alternate_kind)kind)
                continue;
            if (kind == ALTERNATE_ATOM && str_ifind(type, STR("type=feed")) >= 0)
                continue;
            if ((kind == ALTERNATE_PAGE || kind == ALTERNATE_TEXT) && !is_of_host(a, href, host))
                continue;
            out[n++] = (struct metadata_alternate){href, bare};
        }
    return n;
}

bool metadata_is_evident(struct arena *a, const struct feed_doc *doc)
{
    struct metadata_alternate forms[METADATA_ALTERNATES_MAX];

    for (size_t i = 0; i < doc->n_entries; i++) {
        const struct doc_entry *e = &doc->entries[i];

        if (e->is_blank || (e->is_metadata && metadata_alternates(a, e->obj, STR(""), forms) > 0))
            return true;
    }
    return false;
}

/* ---- what was found there -------------------------------------------------------------------- */

static bool is_listed(struct str key, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eqz(key, list[i]))
            return true;
    return false;
}

static bool has_link(const struct value *links, struct str rel, struct str href)
{
    for (size_t i = 0; i < value_len(links); i++)
        if (str_eq(value_get_textz(value_at(links, i), "rel"), rel) &&
            str_eq(value_get_textz(value_at(links, i), "href"), href))
            return true;
    return false;
}

/* Add the links of the representation, except those that say where it is itself. */
static void add_links(struct arena *a, struct value *entry, const struct value *more)
{
    static const char *const own[] = {"self", "alternate", "edit", "edit-media"};
    struct value *old = value_getz(entry, "links"), *all = value_list(a);
    size_t n = value_len(old);

    for (size_t i = 0; i < n; i++)
        value_push(a, all, value_at(old, i));
    for (size_t i = 0; i < value_len(more) && i < 1000; i++) {
        struct value *link = value_at(more, i);
        struct str rel = value_get_textz(link, "rel");

        if (!str_is_null(rel) && !is_listed(rel, own, ARRAY_LEN(own)) &&
            !has_link(old, rel, value_get_textz(link, "href")))
            value_push(a, all, link);
    }
    if (value_len(all) > n)
        value_setz(a, entry, "links", all);
}

static bool read_atom(struct arena *a, const struct parse_input *in, struct value *entry,
                      struct str *ext)
{
    /* members that are taken from the feed, not from the representation */
    static const char *const admin[] = {
        "id",      "guidislink",    "source_id",      "title",     "title_detail",     "link",
        "links",   "updated",       "updated_parsed", "published", "published_parsed", "source",
        "summary", "summary_detail"};
    struct feed_doc *doc = feed_parse(a, in);
    const struct value *obj;
    struct str summary;

    /* it must be an Atom entry document, without a feed */
    if (doc->family != FAMILY_NONE || !str_starts(doc->version, STR("atom")) || doc->n_entries != 1)
        return false;
    obj = doc->entries[0].obj;
    for (size_t i = 0; i < value_len(obj); i++)
        if (!is_listed(obj->members[i].key, admin, ARRAY_LEN(admin)) &&
            value_get(entry, obj->members[i].key) == NULL)
            value_set(a, entry, obj->members[i].key, obj->members[i].val);
    add_links(a, entry, value_getz(obj, "links"));
    summary = value_get_textz(obj, "summary");
    if (value_get_textz(entry, "summary").len == 0 && summary.len > 0) {
        value_set_textz(a, entry, "summary", summary);
        if (value_getz(obj, "summary_detail") != NULL)
            value_setz(a, entry, "summary_detail", value_getz(obj, "summary_detail"));
    }
    if (!str_is_null(doc->entries[0].ext))
        *ext = str_concat(a, *ext, doc->entries[0].ext);
    return true;
}

/* Returns the content of the body element; a fragment is returned as a whole. */
static struct str body_of(struct arena *a, struct str page)
{
    struct html_lexer *lx = arena_alloc(a, sizeof *lx);
    struct html_token t;
    size_t from = 0;

    html_lexer_init(lx, a, page);
    while (html_next(lx, &t) != HTML_END_OF_INPUT) {
        if (t.kind == HTML_START_TAG && str_eqz(t.name, "body")) {
            from = lx->at;
            break;
        }
        if (t.kind == HTML_START_TAG &&
            (str_eqz(t.name, "title") || str_eqz(t.name, "script") || str_eqz(t.name, "style"))) {
            html_skip_raw(lx, t.name);
            from = str_eqz(t.name, "title") ? lx->at : from;
        }
        if (t.kind == HTML_END_TAG && str_eqz(t.name, "head"))
            from = lx->at;
    }
    return str_slice(page, from, page.len);
}

/* Read the answer as the type that was requested, unless it says that it is an HTML page: sites in
 * trouble send pages. */
static bool read_other(struct arena *a, const struct parse_input *in, struct str type,
                       enum alternate_kind kind, struct value *entry)
{
    struct str sent = media_type(a, str_is_null(in->content_type) ? STR("") : in->content_type);
    struct value *content = value_dict(a), *list = value_list(a);
    struct decoded text;
    struct str value;

    if (kind != ALTERNATE_PAGE && kind_of(sent) == ALTERNATE_PAGE)
        return false;
    if (sent.len > 0 && kind_of(sent) == ALTERNATE_KINDS &&
        !str_eqz(sent, "application/octet-stream"))
        return false;
    decode_document(a, in->body, in->content_type, &text);
    value = kind != ALTERNATE_PAGE ? str_dup(a, str_trim(text.text))
            : in->raw_html         ? str_dup(a, body_of(a, text.text))
                                   : sanitize_html(a, body_of(a, text.text), in->url);
    decoded_release(&text);
    if (value.len == 0 || memchr(value.ptr, '\0', value.len) != NULL)
        return false;
    value_set_textz(a, content, "type", kind == ALTERNATE_PAGE ? STR("text/html") : type);
    value_setz(a, content, "language", value_null(a));
    value_set_textz(a, content, "base", in->url);
    value_set_textz(a, content, "value", value);
    value_push(a, list, content);
    value_setz(a, entry, "content", list);
    return true;
}

bool metadata_read(struct arena *a, const struct parse_input *in, struct str type,
                   struct value *entry, struct str *ext)
{
    enum alternate_kind kind = kind_of(type);
    struct str content;

    if (kind == ALTERNATE_KINDS)
        return false;
    if (kind == ALTERNATE_ATOM ? !read_atom(a, in, entry, ext)
                               : !read_other(a, in, type, kind, entry))
        return false;
    content = value_get_textz(value_at(value_getz(entry, "content"), 0), "value");
    if (kind <= ALTERNATE_TEXT && value_get_textz(entry, "summary").len == 0 && content.len > 0)
        value_set_textz(a, entry, "summary", content);
    return true;
}
