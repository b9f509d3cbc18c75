/* feed/write_atom.c - Atom 1.0 (RFC 4287): what leaves is valid whatever came in. */
#include "feed/html.h"
#include "feed/iri.h"
#include "feed/uri.h"
#include "feed/writer_priv.h"
#include "feed/xml_out.h"

/* A text construct. Markup is never in a "text": what looks like it is said to be HTML and escaped
 * once more, so that no reader takes it for markup. */
static void write_text(struct arena *a, struct buf *out, const char *name, struct view_text t,
                       struct str lang)
{
    bool html = t.html || str_chr(t.value, '<') >= 0 || str_chr(t.value, '&') >= 0;

    if (str_is_null(t.value))
        return;
    buf_putc(out, '<');
    buf_puts(out, name);
    xml_attr(out, "type", html ? STR("html") : STR("text"));
    if (!str_eq(t.lang, lang))
        xml_attr(out, "xml:lang", t.lang);
    buf_putc(out, '>');
    xml_text(out, html ? view_html(a, t) : t.value);
    buf_puts(out, "</");
    buf_puts(out, name);
    buf_puts(out, ">\n");
}

static void write_date(struct buf *out, const char *name, int64_t at)
{
    char text[CLOCK_TEXT];

    clock_rfc3339(at, text);
    xml_element(out, name, str_from(text));
}

static void write_persons(struct buf *out, const char *name, const struct view_person *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        buf_putc(out, '<');
        buf_puts(out, name);
        buf_putc(out, '>');
        xml_element(out, "name", p[i].name);
        xml_element(out, "uri", p[i].uri);
        xml_element(out, "email", p[i].email);
        buf_puts(out, "</");
        buf_puts(out, name);
        buf_puts(out, ">\n");
    }
}

static void write_author_name(struct buf *out, struct str name)
{
    struct view_person p = {.name = name, .email = STR_NULL, .uri = STR_NULL};

    write_persons(out, "author", &p, 1);
}

static void write_link(struct buf *out, const struct view_link *l)
{
    buf_puts(out, "<link");
    xml_attr(out, "rel", l->rel);
    xml_attr(out, "type", l->type);
    xml_attr(out, "hreflang", l->hreflang);
    xml_attr(out, "href", l->href);
    xml_attr(out, "title", l->title);
    if (l->length >= 0)
        buf_printf(out, " length=\"%lld\"", (long long)l->length);
    buf_puts(out, "/>\n");
}

static void write_link_to(struct buf *out, struct str rel, struct str type, struct str href)
{
    struct view_link l = {.rel = rel, .type = type, .href = href, .length = -1};

    write_link(out, &l);
}

static void write_own_links(struct buf *out, const struct out_entry *e)
{
    for (size_t i = 0; i < e->n_links; i++)
        write_link_to(out, e->links[i].rel, e->links[i].type, e->links[i].href);
}

static void write_links(struct buf *out, const struct out_view *v)
{
    for (size_t i = 0; i < v->n_links; i++)
        write_link(out, &v->links[i]);
}

static void write_tags(struct buf *out, const struct out_view *v)
{
    for (size_t i = 0; i < v->n_tags; i++) {
        buf_puts(out, "<category");
        xml_attr(out, "term", v->tags[i].term);
        xml_attr(out, "scheme", v->tags[i].scheme);
        xml_attr(out, "label", v->tags[i].label);
        buf_puts(out, "/>\n");
    }
}

static void write_generator(struct buf *out, const struct out_view *v)
{
    bool own = v == NULL || str_is_null(v->generator);

    buf_puts(out, "<generator");
    xml_attr(out, "uri", own ? STR_NULL : v->generator_uri);
    xml_attr(out, "version", own ? STR(FEEDMILL_VERSION) : v->generator_version);
    buf_putc(out, '>');
    xml_text(out, own ? STR("Feedmill") : v->generator);
    buf_puts(out, "</generator>\n");
}

/* atom:source of an entry in a merged document: the head of its feed, in short. */
static void write_merged_source(struct arena *a, struct buf *out, const struct out_feed *feed)
{
    struct out_view v;

    out_view_read(a, feed->obj, feed->url, true, &v);
    buf_puts(out, "<source>\n");
    xml_element(out, "id", feed_iri(a, feed));
    if (str_is_null(v.title.value))
        v.title.value = out_feed_name(a, STR_NULL, feed->url);
    write_text(a, out, "title", v.title, STR_NULL);
    write_date(out, "updated", out_feed_updated(feed));
    if (v.n_authors == 0)
        write_author_name(out, out_feed_name(a, view_plain(a, v.title), feed->url));
    write_persons(out, "author", v.authors, v.n_authors);
    write_links(out, &v);
    write_link_to(out, STR("self"), STR_NULL, iri_escape(a, feed->url, false));
    write_text(a, out, "rights", v.rights, STR_NULL);
    buf_puts(out, "</source>\n");
}

/* atom:source that the publisher gave, when it has all that a source should have. */
static void write_own_source(struct arena *a, struct buf *out, const struct value *source,
                             struct str base)
{
    struct out_view v;
    struct out_feed feed = {.url = STR(""), .updated_at = TIME_UNKNOWN};
    struct value *obj = (struct value *)(uintptr_t)source;
    struct str id = value_get_textz(source, "id");

    if (source == NULL || source->kind != VAL_DICT)
        return;
    feed.obj = obj;
    out_view_read(a, source, base, true, &v);
    if (id.len == 0 || str_is_null(v.title.value) || out_feed_updated(&feed) == TIME_UNKNOWN ||
        !str_eq(feed_entry_iri(a, base, id), id))
        return;
    buf_puts(out, "<source>\n");
    xml_element(out, "id", id);
    write_text(a, out, "title", v.title, STR_NULL);
    write_date(out, "updated", out_feed_updated(&feed));
    write_persons(out, "author", v.authors, v.n_authors);
    write_links(out, &v);
    write_text(a, out, "rights", v.rights, STR_NULL);
    buf_puts(out, "</source>\n");
}

/* Summary and content. An entry without an alternate link has content, whatever there is. */
static void write_body(struct arena *a, struct buf *out, const struct out_view *v, struct str lang)
{
    struct view_text summary = v->summary, content = v->content;
    bool elsewhere = str_is_null(content.value) && !str_is_null(v->content_src);

    if (elsewhere && str_is_null(summary.value)) /* RFC 4287, 4.1.2: src asks for a summary */
        summary = (struct view_text){.value = view_title(a, v), .lang = STR_NULL};
    if (!elsewhere && str_is_null(content.value) && str_is_null(v->link)) {
        content = summary;
        summary.value = STR_NULL;
        if (str_is_null(content.value))
            content = (struct view_text){.value = STR(""), .lang = STR_NULL};
    }
    write_text(a, out, "summary", summary, lang);
    if (elsewhere) {
        buf_puts(out, "<content");
        xml_attr(out, "type", v->content_type);
        xml_attr(out, "src", v->content_src);
        buf_puts(out, "/>\n");
    }
    write_text(a, out, "content", content, lang);
}

/* A deletion, or the metadata of a record: no text but a title. */
static void write_bare_entry(struct arena *a, struct buf *out, const struct out_doc *doc,
                             const struct out_entry *e, struct str lang)
{
    struct out_view v;

    buf_puts(out, "<entry>\n");
    xml_element(out, "id", out_entry_id(a, e));
    if (e->kind == OUT_EMPTY) {
        buf_puts(out, "<title type=\"text\">Deleted</title>\n");
    } else {
        out_view_read(a, out_entry_object(a, e), e->feed->url, false, &v);
        if (str_is_null(v.title.value))
            v.title.value = view_title(a, &v);
        write_text(a, out, "title", v.title, lang);
    }
    out_time_write(out, "updated", out_entry_updated(e), e->at_us);
    if (e->kind == OUT_RECORD)
        write_persons(out, "author", v.authors, v.n_authors);
    write_own_links(out, e);
    if (e->kind == OUT_EMPTY)
        buf_puts(out, "<content/>\n");
    if (doc->merged)
        write_merged_source(a, out, e->feed);
    buf_puts(out, "</entry>\n");
}

static void write_entry(struct arena *a, struct buf *out, const struct out_doc *doc,
                        const struct out_entry *e, struct str lang)
{
    const struct value *obj = out_entry_object(a, e);
    struct out_view v;

    out_view_read(a, obj, e->feed->url, false, &v);
    buf_puts(out, "<entry>\n");
    xml_element(out, "id", out_entry_id(a, e));
    if (str_is_null(v.title.value))
        v.title.value = view_title(a, &v);
    write_text(a, out, "title", v.title, lang);
    out_time_write(out, "updated", out_entry_updated(e), e->at_us);
    if (e->published_at != TIME_UNKNOWN)
        write_date(out, "published", e->published_at);
    write_persons(out, "author", v.authors, v.n_authors);
    write_persons(out, "contributor", v.contributors, v.n_contributors);
    write_own_links(out, e);
    write_links(out, &v);
    write_tags(out, &v);
    write_body(a, out, &v, lang);
    write_text(a, out, "rights", v.rights, lang);
    if (doc->merged)
        write_merged_source(a, out, e->feed);
    else
        write_own_source(a, out, value_getz(obj, "source"), e->feed->url);
    out_ext_write(out, e->ext, EXT_ATOM_ENTRY);
    buf_puts(out, "</entry>\n");
}

static void write_head(struct arena *a, struct buf *out, const struct out_doc *doc,
                       const struct out_feed *feed, const struct out_view *v)
{
    struct view_text title = v->title;

    if (!str_is_null(doc->title) || str_is_null(title.value))
        title = (struct view_text){
            .value = !str_is_null(doc->title)
                         ? doc->title
                         : out_feed_name(a, STR_NULL, feed != NULL ? feed->url : doc->self_url),
            .lang = STR_NULL};
    xml_element(out, "id",
                !str_is_null(doc->id) ? doc->id
                : feed != NULL        ? feed_iri(a, feed)
                                      : feed_entry_iri(a, doc->self_url, STR("")));
    write_text(a, out, "title", title, v->lang);
    out_time_write(out, "updated", doc->updated_at, doc->updated_us);
    if (v->n_authors == 0)
        write_author_name(
            out, out_feed_name(a, view_plain(a, title), feed != NULL ? feed->url : doc->self_url));
    write_persons(out, "author", v->authors, v->n_authors);
    write_persons(out, "contributor", v->contributors, v->n_contributors);
    if (!str_is_null(doc->self_url))
        write_link_to(out, STR("self"), STR("application/atom+xml"),
                      iri_escape(a, doc->self_url, false));
    for (size_t i = 0; i < doc->n_links; i++)
        write_link_to(out, doc->links[i].rel, doc->links[i].type, doc->links[i].href);
    write_links(out, v);
    write_text(a, out, "subtitle", v->summary, v->lang);
    write_text(a, out, "rights", v->rights, v->lang);
    write_tags(out, v);
    write_generator(out, v);
    xml_element(out, "icon", v->icon);
    xml_element(out, "logo", v->image);
    out_history_write(out, doc);
    if (feed != NULL)
        out_ext_write(out, feed->ext, EXT_ATOM_HEAD);
}

void write_atom(struct buf *out, const struct out_doc *doc)
{
    const struct out_feed *feed = doc->merged || doc->n_feeds == 0 ? NULL : &doc->feeds[0];
    struct arena head = ARENA_INIT, ids = ARENA_INIT;
    struct map seen = MAP_INIT;
    struct out_view v;

    out_view_read(&head, feed == NULL ? NULL : feed->obj, feed == NULL ? doc->self_url : feed->url,
                  true, &v);
    buf_puts(out, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"" NS_ATOM "\"");
    xml_attr(out, "xml:lang", v.lang);
    buf_puts(out, ">\n");
    write_head(&head, out, doc, feed, &v);
    out_tombstones_write(out, doc);
    for (size_t i = 0; i < doc->n_entries && buf_ok(out); i++) {
        struct arena a = ARENA_INIT;
        const struct out_entry *e = &doc->entries[i];

        if (e->kind == OUT_EMPTY || e->kind == OUT_RECORD)
            write_bare_entry(&a, out, doc, e, v.lang);
        else if (e->kind == OUT_ENTRY && out_entry_is_first(&ids, &seen, doc, e))
            write_entry(&a, out, doc, e, v.lang);
        arena_release(&a);
    }
    buf_puts(out, "</feed>\n");
    map_release(&seen, NULL);
    arena_release(&ids);
    arena_release(&head);
}
