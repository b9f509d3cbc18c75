/* feed/write/write_rss.c - RSS 2.0, by the Advisory Board's specification and profile. */
#include "feed/text/html.h"
#include "feed/text/iri.h"
#include "feed/text/xml_out.h"
#include "feed/write/writer_priv.h"
#include "model/media_types.h"

/* Returns a reference as RSS needs it: in ASCII, and http(s) or another scheme that readers
 * follow. */
static struct str ascii(struct arena *a, struct str href)
{
    return str_is_null(href) ? href : iri_escape(a, href, true);
}

static void write_atom_link(struct arena *a, struct buf *out, const struct part_link *l,
                            struct str kept)
{
    struct part_link copy = *l;

    copy.href = ascii(a, l->href);
    copy.rel = ascii(a, l->rel);
    atom_link(out, "atom:link", &copy, kept);
}

static void write_link_to(struct arena *a, struct buf *out, struct str rel, struct str type,
                          struct str href)
{
    struct part_link l = {.rel = rel, .type = type, .href = href, .length = -1};

    write_atom_link(a, out, &l, STR_NULL);
}

static void write_date(struct buf *out, const char *name, int64_t at, struct str kept)
{
    char text[CLOCK_TEXT];

    clock_rfc822(at, text);
    xml_element_at(out, name, str_from(text), kept);
}

/* RSS cannot say whether a title is HTML. A title that could be misread is also written as Atom's
 * title, which says it. That comes first, because parsers take the first title. */
static void write_title(struct arena *a, struct buf *out, const struct out_parts *v,
                        struct str title)
{
    struct str text = v->title.value, kept = kept_get(v->kept, KEPT_TITLE, 0);

    if (v->title.html || str_chr(text, '<') >= 0 || str_chr(text, '&') >= 0)
        atom_text(a, out, "atom:title", v->title, STR_NULL, STR_NULL);
    xml_element_at(out, "title", title.len == 0 ? STR_NULL : title, kept);
}

/* Returns true for mail addresses that even the simplest programs recognise. */
static bool is_plain_email(struct str s)
{
    ssize_t at = str_chr(s, '@');
    ssize_t dot = -1;

    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!word && c != '-' && c != '.' && (ssize_t)i != at &&
            ((ssize_t)i > at || strchr("_+", c) == NULL))
            return false;
        if (c == '.' && (ssize_t)i > at)
            dot = (ssize_t)i;
    }
    return at > 0 && dot > at + 1 && (size_t)dot + 2 < s.len;
}

/* Write at most one `author`, which is a mail address with a name. An author without an address
 * becomes a dc:creator. When more is known of an author, an atom:author is added, which the parser
 * merges with the first. */
static void write_authors(struct arena *a, struct buf *out, const struct out_parts *v, bool head)
{
    const char *name = head ? "managingEditor" : "author";
    bool done = false;

    for (size_t i = 0; i < v->n_authors; i++) {
        struct part_person p = v->authors[i];
        struct str kept = kept_get(v->kept, KEPT_AUTHOR, p.at);
        bool email = !done && is_plain_email(p.email);
        bool more = !str_is_null(p.uri) || (!email && !str_is_null(p.email)) ||
                    kept_inner(v->kept, KEPT_AUTHOR, p.at);
        p.uri = ascii(a, p.uri);
        if (email) {
            done = true;
            xml_element_at(out, name,
                           str_eq(p.name, p.email)
                               ? p.email
                               : str_printf(a, "%.*s (%.*s)", STR_ARG(p.email), STR_ARG(p.name)),
                           kept);
        } else {
            xml_element_at(out, "dc:creator", p.name, kept);
        }
        if (more)
            atom_person(out, "atom:author", &p, v->kept, KEPT_AUTHOR);
    }
    for (size_t i = 0; i < v->n_contributors; i++) {
        struct part_person p = v->contributors[i];
        p.uri = ascii(a, p.uri);
        atom_person(out, "atom:contributor", &p, v->kept, KEPT_CONTRIBUTOR);
    }
}

static void write_tags(struct buf *out, const struct out_parts *v)
{
    for (size_t i = 0; i < v->n_tags; i++) {
        const struct part_tag *t = &v->tags[i];
        buf_puts(out, "<category");
        xml_attr(out, "domain", t->domain);
        buf_str(out, kept_get(v->kept, KEPT_TAG, t->at));
        buf_putc(out, '>');
        xml_text(out, t->term);
        buf_puts(out, "</category>\n");
        if (!str_is_null(t->label) && !str_eq(t->label, t->term))
            atom_tag(out, "atom:category", t, STR_NULL);
    }
}

/* Write all links except the first alternate, which is RSS's `link`, and the first enclosure, which
 * is RSS's `enclosure`. */
static void write_links(struct arena *a, struct buf *out, const struct out_parts *v,
                        struct str title)
{
    bool enclosed = false;

    for (size_t i = 0; i < v->n_links; i++) {
        const struct part_link *l = &v->links[i];
        struct str kept = kept_get(v->kept, KEPT_LINK, l->at);
        if (str_eqz(l->rel, "alternate") && str_eq(l->href, v->link) &&
            (str_is_null(l->type) || str_eqz(l->type, MEDIA_HTML)) && str_is_null(l->hreflang) &&
            (str_is_null(l->title) || str_eq(l->title, title)))
            continue; /* all of it is in `link` and `title` already */
        if (str_eqz(l->rel, "replies") && str_eq(l->href, v->comments))
            continue; /* all of it is in `comments` already */
        if (!str_eqz(l->rel, "enclosure") || enclosed || !iri_is_http(l->href)) {
            write_atom_link(a, out, l, kept);
            continue;
        }
        enclosed = true;
        buf_puts(out, "<enclosure");
        xml_attr(out, "url", ascii(a, l->href));
        buf_printf(out, " length=\"%lld\"", (long long)(l->length < 0 ? 0 : l->length));
        xml_attr(out, "type", str_is_null(l->type) ? STR("application/octet-stream") : l->type);
        buf_str(out, kept);
        buf_puts(out, "/>\n");
    }
}

static void write_source(struct arena *a, struct buf *out, struct str url, struct str title)
{
    if (!iri_is_http(url))
        return;
    buf_puts(out, "<source");
    xml_attr(out, "url", ascii(a, url));
    buf_putc(out, '>');
    xml_text(out, title);
    buf_puts(out, "</source>\n");
}

/* Returns true when more is known of a source than a URL and a title. */
static bool is_rich_source(const struct value *source)
{
    for (size_t i = 0; i < value_len(source); i++) {
        struct str key = source->members[i].key;
        if (!str_eqz(key, "href") && !str_eqz(key, "title") && !str_eqz(key, "title_detail"))
            return true;
    }
    return false;
}

/* `source` has the name and URL of a feed. Anything else that is known of it is written as Atom's
 * source. */
static void write_sources(struct arena *a, struct buf *out, const struct out_doc *doc,
                          const struct out_entry *e, const struct value *obj)
{
    struct out_feed own;
    struct out_parts v;
    int64_t at;

    if (doc->merged) {
        out_parts_read(a, e->feed->obj, STR(""), e->feed->url, true, &v);
        write_source(a, out, e->feed->url, out_feed_name(a, part_plain(a, v.title), e->feed->url));
    } else if (out_source_read(a, obj, e->feed->url, &own, &v)) {
        at = own.updated_at != TIME_UNKNOWN ? own.updated_at : out_entry_updated(e);
        write_source(a, out, str_is_null(own.url) ? v.link : own.url, part_plain(a, v.title));
        if (is_rich_source(value_getz(obj, "source")))
            atom_source(a, out, &own, &v, at, true);
    }
}

/* Write description, foreign elements and content. The order matters to the parser; see
 * write_atom.c. When there is no summary, the content is written as description, too, because many
 * programs know only that. */
static void write_body(struct arena *a, struct buf *out, const struct out_parts *v, struct str ext)
{
    struct str content = part_html(a, v->content), summary = part_html(a, v->summary);

    xml_element_at(out, "description", str_is_null(summary) ? content : summary,
                   kept_get(v->kept, KEPT_SUMMARY, 0));
    out_ext_write(out, ext, EXT_RSS_ITEM);
    xml_element_at(out, "content:encoded", content, kept_get(v->kept, KEPT_CONTENT, 0));
    if (str_is_null(content) && !str_is_null(v->content_src)) {
        buf_puts(out, "<atom:content");
        xml_attr(out, "type", v->content_type);
        xml_attr(out, "src", ascii(a, v->content_src));
        buf_puts(out, "/>\n");
    }
}

static void write_item(struct arena *a, struct buf *out, const struct out_doc *doc,
                       const struct out_entry *e, struct str lang UNUSED)
{
    const struct value *obj = out_entry_object(a, e);
    struct str iri = out_entry_id(a, e), title;
    struct out_parts v;
    char text[CLOCK_TEXT];

    out_parts_read(a, obj, e->ext, e->feed->url, false, &v);
    title = part_plain(a, v.title);
    if (title.len == 0 && str_is_null(v.summary.value) && str_is_null(v.content.value))
        title = parts_title(a, &v);
    buf_puts(out, "<item");
    buf_str(out, kept_get(v.kept, KEPT_ITSELF, 0));
    buf_puts(out, ">\n");
    write_title(a, out, &v, title);
    xml_element_at(out, "link", ascii(a, v.link),
                   v.n_links > 0 ? kept_get(v.kept, KEPT_LINK, v.links[0].at) : STR_NULL);
    buf_puts(out, "<guid");
    xml_attr(out, "isPermaLink",
             iri_is_http(iri) && str_eq(iri, v.link) ? STR("true") : STR("false"));
    buf_str(out, kept_get(v.kept, KEPT_ID, 0));
    buf_putc(out, '>');
    xml_text(out, iri);
    buf_puts(out, "</guid>\n");
    write_date(out, "pubDate",
               e->published_at != TIME_UNKNOWN ? e->published_at : out_entry_updated(e),
               kept_get(v.kept, KEPT_PUBLISHED, 0));
    if (e->updated_at != TIME_UNKNOWN && e->updated_at != e->published_at) {
        clock_rfc3339(e->updated_at, text);
        xml_element_at(out, "atom:updated", str_from(text), kept_get(v.kept, KEPT_UPDATED, 0));
    }
    for (size_t i = 0; i < e->n_links; i++)
        write_link_to(a, out, e->links[i].rel, e->links[i].type, e->links[i].href);
    write_authors(a, out, &v, false);
    write_tags(out, &v);
    if (iri_is_http(v.comments))
        xml_element(out, "comments", ascii(a, v.comments));
    write_links(a, out, &v, title);
    write_body(a, out, &v, e->ext);
    out_extra_write(out, &v, e->ext, EXT_RSS_ITEM);
    write_sources(a, out, doc, e, obj);
    buf_puts(out, "</item>\n");
}

/* Write a deletion or a metadata record, which has no text except the title. */
static void write_bare_item(struct arena *a, struct buf *out, const struct out_doc *doc UNUSED,
                            const struct out_entry *e, struct str lang UNUSED)
{
    struct str title = STR("Deleted");
    struct out_parts v;

    if (e->kind == OUT_METADATA) {
        out_parts_read(a, out_entry_object(a, e), STR(""), e->feed->url, false, &v);
        title = part_plain(a, v.title);
        if (title.len == 0)
            title = parts_title(a, &v);
    }
    buf_puts(out, "<item>\n");
    xml_element(out, "title", title);
    buf_puts(out, "<guid isPermaLink=\"false\">");
    xml_text(out, out_entry_id(a, e));
    buf_puts(out, "</guid>\n");
    write_date(out, "pubDate", out_entry_updated(e), STR_NULL);
    if (e->at_us > 0)
        out_time_write(out, "atom:updated", 0, e->at_us, STR_NULL);
    for (size_t i = 0; i < e->n_links; i++)
        write_link_to(a, out, e->links[i].rel, e->links[i].type, e->links[i].href);
    buf_puts(out, "</item>\n");
}

/* RSS wants all five attributes; by http-post the procedure means nothing. */
static void write_cloud(struct buf *out, const struct out_cloud *cloud)
{
    if (str_is_null(cloud->domain))
        return;
    buf_puts(out, "<cloud");
    xml_attr(out, "domain", cloud->domain);
    buf_printf(out, " port=\"%d\"", cloud->port);
    xml_attr(out, "path", cloud->path);
    buf_puts(out, " registerProcedure=\"\" protocol=\"http-post\"/>\n");
}

static void write_head(struct arena *a, struct buf *out, const struct out_doc *doc,
                       const struct out_feed *feed, const struct out_parts *v)
{
    struct str url = feed != NULL ? feed->url : doc->self_url;
    struct str title =
        !str_is_null(doc->title) ? doc->title : out_feed_name(a, part_plain(a, v->title), url);
    struct str link = ascii(a, iri_is_http(v->link) ? v->link : url);
    struct part_text plain = {.value = title, .lang = STR_NULL};

    if (feed != NULL && str_is_null(doc->title))
        write_title(a, out, v, title);
    else
        xml_element(out, "title", title);
    xml_element(out, "link", link);
    xml_element_at(out, "description",
                   part_html(a, str_is_null(v->summary.value) ? plain : v->summary),
                   kept_get(v->kept, KEPT_SUMMARY, 0));
    xml_element(out, "language", v->lang);
    xml_element_at(out, "copyright", part_html(a, v->rights), kept_get(v->kept, KEPT_RIGHTS, 0));
    write_authors(a, out, v, true);
    write_date(out, "lastBuildDate", doc->updated_at, kept_get(v->kept, KEPT_UPDATED, 0));
    write_tags(out, v);
    xml_element(out, "generator",
                str_is_null(v->generator) ? STR("Feedmill " FEEDMILL_VERSION) : v->generator);
    buf_puts(out, "<docs>https://www.rssboard.org/rss-specification</docs>\n");
    write_cloud(out, &doc->cloud);
    if (doc->ttl_s > 0)
        buf_printf(out, "<ttl>%lld</ttl>\n", (long long)((doc->ttl_s + 59) / 60));
    if (iri_is_http(v->image)) {
        buf_puts(out, "<image>\n");
        xml_element(out, "url", ascii(a, v->image));
        xml_element(out, "title", title);
        xml_element(out, "link", link);
        buf_puts(out, "</image>\n");
    }
    if (!str_is_null(doc->self_url))
        write_link_to(a, out, STR("self"), STR(MEDIA_RSS), doc->self_url);
    for (size_t i = 0; i < doc->n_links; i++)
        write_link_to(a, out, doc->links[i].rel, doc->links[i].type, doc->links[i].href);
    write_links(a, out, v, title);
    out_history_write(out, doc);
    if (feed == NULL)
        return;
    out_ext_write(out, feed->ext, EXT_RSS_HEAD);
    out_extra_write(out, v, feed->ext, EXT_RSS_HEAD);
}

void write_rss(struct buf *out, const struct out_doc *doc)
{
    static const struct out_xml_format rss = {
        .begin = "<rss version=\"2.0\" xmlns:atom=\"" NS_ATOM "\" xmlns:content=\"" NS_CONTENT
                 "\" xmlns:dc=\"" NS_DC "\" xmlns:media=\"" NS_MEDIA "\">\n<channel",
        .head = write_head,
        .entry = write_item,
        .bare_entry = write_bare_item,
        .end = "</channel>\n</rss>\n",
    };

    out_document_write(out, doc, &rss);
}
