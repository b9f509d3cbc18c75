/* feed/write_rss.c - RSS 2.0 after the Advisory Board's specification and profile. */
#include "feed/html.h"
#include "feed/iri.h"
#include "feed/writer_priv.h"
#include "feed/xml_out.h"

#define EXCERPT 500 /* bytes of plain text that stand as description beside a full content */

/* A reference as RSS wants it: ASCII, http(s) or what else readers follow. */
static struct str ascii(struct arena *a, struct str href)
{
    return str_is_null(href) ? href : iri_escape(a, href, true);
}

static void write_date(struct buf *out, const char *name, int64_t at)
{
    char text[CLOCK_TEXT];

    clock_rfc822(at, text);
    xml_element(out, name, str_from(text));
}

static void write_atom_link(struct arena *a, struct buf *out, struct str rel, struct str type,
                            struct str href)
{
    buf_puts(out, "<atom:link");
    xml_attr(out, "rel", rel);
    xml_attr(out, "type", type);
    xml_attr(out, "href", ascii(a, href));
    buf_puts(out, "/>\n");
}

/* `author` is an address with a name; who has none is a dc:creator. One author at most. */
static void write_authors(struct buf *out, const struct out_view *v, bool head)
{
    bool done = false;

    for (size_t i = 0; i < v->n_authors; i++) {
        const struct view_person *p = &v->authors[i];
        if (done || str_is_null(p->email)) {
            xml_element(out, "dc:creator", p->name);
            continue;
        }
        done = true;
        buf_puts(out, head ? "<managingEditor>" : "<author>");
        xml_text(out, p->email);
        if (!str_eq(p->name, p->email)) {
            buf_puts(out, " (");
            xml_text(out, p->name);
            buf_putc(out, ')');
        }
        buf_puts(out, head ? "</managingEditor>\n" : "</author>\n");
    }
}

static void write_tags(struct buf *out, const struct out_view *v)
{
    for (size_t i = 0; i < v->n_tags; i++) {
        buf_puts(out, "<category");
        xml_attr(out, "domain", v->tags[i].scheme);
        buf_putc(out, '>');
        xml_text(out, v->tags[i].term);
        buf_puts(out, "</category>\n");
    }
}

/* The first enclosure as such, further ones as media:content unless the publisher did so. */
static void write_enclosures(struct arena *a, struct buf *out, const struct out_view *v,
                             struct str ext)
{
    bool first = true;

    for (size_t i = 0; i < v->n_links; i++) {
        const struct view_link *l = &v->links[i];
        struct str type = str_is_null(l->type) ? STR("application/octet-stream") : l->type;
        if (!str_eqz(l->rel, "enclosure") || !iri_is_http(l->href))
            continue;
        if (first) {
            buf_puts(out, "<enclosure");
            xml_attr(out, "url", ascii(a, l->href));
            buf_printf(out, " length=\"%lld\"", (long long)(l->length < 0 ? 0 : l->length));
            xml_attr(out, "type", type);
            buf_puts(out, "/>\n");
        } else if (str_find(ext, l->href) < 0) {
            buf_puts(out, "<media:content");
            xml_attr(out, "url", ascii(a, l->href));
            if (l->length >= 0)
                buf_printf(out, " fileSize=\"%lld\"", (long long)l->length);
            xml_attr(out, "type", l->type);
            buf_puts(out, "/>\n");
        }
        first = false;
    }
}

/* The beginning of a content as plain text, cut between words. */
static struct view_text excerpt(struct arena *a, struct view_text content)
{
    struct str text = view_plain(a, content);
    size_t n = EXCERPT;

    if (text.len > EXCERPT) {
        while (n > EXCERPT / 2 && text.ptr[n] != ' ')
            n--;
        while (n > 0 && ((unsigned char)text.ptr[n] & 0xC0) == 0x80)
            n--;
        text = str_concat(a, str_slice(text, 0, n), STR("\xE2\x80\xA6"));
    }
    return (struct view_text){.value = text, .lang = STR_NULL};
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

static struct str feed_title(struct arena *a, const struct out_feed *feed)
{
    struct out_view v;

    out_view_read(a, feed->obj, feed->url, true, &v);
    return out_feed_name(a, view_plain(a, v.title), feed->url);
}

/* `source` of an entry that its feed took from elsewhere. */
static void write_own_source(struct arena *a, struct buf *out, const struct value *source,
                             struct str base)
{
    struct out_view v;
    struct str url = value_get_textz(source, "href");

    if (source == NULL || source->kind != VAL_DICT)
        return;
    out_view_read(a, source, base, true, &v);
    if (url.len == 0)
        url = value_get_textz(source, "url");
    if (url.len == 0)
        url = v.link;
    write_source(a, out, iri_escape(a, url, true), out_feed_name(a, view_plain(a, v.title), url));
}

static void write_item(struct arena *a, struct buf *out, const struct out_doc *doc,
                       const struct out_entry *e)
{
    const struct value *obj = out_entry_object(a, e);
    struct str iri = out_entry_id(a, e), title;
    struct view_text summary;
    struct out_view v;
    char text[CLOCK_TEXT];

    out_view_read(a, obj, e->feed->url, false, &v);
    summary = v.summary;
    if (str_is_null(summary.value) && !str_is_null(v.content.value))
        summary = excerpt(a, v.content);
    title = view_plain(a, v.title);
    if (title.len == 0 && str_is_null(summary.value))
        title = view_title(a, &v);
    buf_puts(out, "<item>\n");
    xml_element(out, "title", title.len == 0 ? STR_NULL : title);
    xml_element(out, "link", ascii(a, v.link));
    xml_element(out, "description", view_html(a, summary));
    xml_element(out, "content:encoded", view_html(a, v.content));
    buf_puts(out, "<guid");
    xml_attr(out, "isPermaLink",
             iri_is_http(iri) && str_eq(iri, v.link) ? STR("true") : STR("false"));
    buf_putc(out, '>');
    xml_text(out, iri);
    buf_puts(out, "</guid>\n");
    write_date(out, "pubDate",
               e->published_at != TIME_UNKNOWN ? e->published_at : out_entry_updated(e));
    if (e->published_at != TIME_UNKNOWN && e->updated_at != TIME_UNKNOWN &&
        e->updated_at != e->published_at) {
        clock_rfc3339(e->updated_at, text);
        xml_element(out, "atom:updated", str_from(text));
    }
    for (size_t i = 0; i < e->n_links; i++)
        write_atom_link(a, out, e->links[i].rel, e->links[i].type, e->links[i].href);
    write_authors(out, &v, false);
    write_tags(out, &v);
    if (iri_is_http(v.comments))
        xml_element(out, "comments", ascii(a, v.comments));
    write_enclosures(a, out, &v, e->ext);
    if (doc->merged)
        write_source(a, out, e->feed->url, feed_title(a, e->feed));
    else
        write_own_source(a, out, value_getz(obj, "source"), e->feed->url);
    out_ext_write(out, e->ext, EXT_RSS_ITEM);
    buf_puts(out, "</item>\n");
}

/* A deletion, or the metadata of a record: no text but a title. */
static void write_bare_item(struct arena *a, struct buf *out, const struct out_entry *e)
{
    struct str title = STR("Deleted");
    struct out_view v;

    if (e->kind == OUT_RECORD) {
        out_view_read(a, out_entry_object(a, e), e->feed->url, false, &v);
        title = view_plain(a, v.title);
        if (title.len == 0)
            title = view_title(a, &v);
    }
    buf_puts(out, "<item>\n");
    xml_element(out, "title", title);
    buf_puts(out, "<guid isPermaLink=\"false\">");
    xml_text(out, out_entry_id(a, e));
    buf_puts(out, "</guid>\n");
    write_date(out, "pubDate", out_entry_updated(e));
    if (e->at_us > 0)
        out_time_write(out, "atom:updated", 0, e->at_us);
    for (size_t i = 0; i < e->n_links; i++)
        write_atom_link(a, out, e->links[i].rel, e->links[i].type, e->links[i].href);
    buf_puts(out, "</item>\n");
}

static void write_head(struct arena *a, struct buf *out, const struct out_doc *doc,
                       const struct out_feed *feed, const struct out_view *v)
{
    struct str url = feed != NULL ? feed->url : doc->self_url;
    struct str title =
        !str_is_null(doc->title) ? doc->title : out_feed_name(a, view_plain(a, v->title), url);
    struct str link = ascii(a, iri_is_http(v->link) ? v->link : url);

    xml_element(out, "title", title);
    xml_element(out, "link", link);
    xml_element(out, "description",
                str_is_null(v->summary.value) ? title : view_html(a, v->summary));
    xml_element(out, "language", v->lang);
    xml_element(out, "copyright", view_plain(a, v->rights));
    write_authors(out, v, true);
    write_date(out, "lastBuildDate", doc->updated_at);
    write_tags(out, v);
    xml_element(out, "generator",
                str_is_null(v->generator) ? STR("Feedmill " FEEDMILL_VERSION) : v->generator);
    buf_puts(out, "<docs>https://www.rssboard.org/rss-specification</docs>\n");
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
        write_atom_link(a, out, STR("self"), STR("application/rss+xml"), doc->self_url);
    for (size_t i = 0; i < doc->n_links; i++)
        write_atom_link(a, out, doc->links[i].rel, doc->links[i].type, doc->links[i].href);
    out_history_write(out, doc);
    if (feed != NULL)
        out_ext_write(out, feed->ext, EXT_RSS_HEAD);
}

void write_rss(struct buf *out, const struct out_doc *doc)
{
    const struct out_feed *feed = doc->merged || doc->n_feeds == 0 ? NULL : &doc->feeds[0];
    struct arena head = ARENA_INIT, ids = ARENA_INIT;
    struct map seen = MAP_INIT;
    struct out_view v;

    out_view_read(&head, feed == NULL ? NULL : feed->obj, feed == NULL ? doc->self_url : feed->url,
                  true, &v);
    buf_puts(out, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
                  "<rss version=\"2.0\" xmlns:atom=\"" NS_ATOM "\""
                  " xmlns:content=\"http://purl.org/rss/1.0/modules/content/\""
                  " xmlns:dc=\"http://purl.org/dc/elements/1.1/\""
                  " xmlns:media=\"http://search.yahoo.com/mrss/\">\n<channel>\n");
    write_head(&head, out, doc, feed, &v);
    out_tombstones_write(out, doc);
    for (size_t i = 0; i < doc->n_entries && buf_ok(out); i++) {
        struct arena a = ARENA_INIT;
        const struct out_entry *e = &doc->entries[i];

        if (e->kind == OUT_EMPTY || e->kind == OUT_RECORD)
            write_bare_item(&a, out, e);
        else if (e->kind == OUT_ENTRY && out_entry_is_first(&ids, &seen, doc, e))
            write_item(&a, out, doc, e);
        arena_release(&a);
    }
    buf_puts(out, "</channel>\n</rss>\n");
    map_release(&seen, NULL);
    arena_release(&ids);
    arena_release(&head);
}
