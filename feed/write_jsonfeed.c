/* feed/write_jsonfeed.c - JSON Feed 1.1 (jsonfeed.org). */
#include "feed/html.h"
#include "feed/iri.h"
#include "feed/json.h"
#include "feed/writer_priv.h"

static void put_text(struct arena *a, struct value *dict, const char *key, struct str text)
{
    if (!str_is_null(text))
        value_set_text(a, dict, str_from(key), text);
}

static void put_url(struct arena *a, struct value *dict, const char *key, struct str href)
{
    if (iri_is_http(href))
        put_text(a, dict, key, iri_escape(a, href, true));
}

static void put_date(struct arena *a, struct value *dict, const char *key, int64_t at)
{
    char text[CLOCK_TEXT];

    clock_rfc3339(at, text);
    put_text(a, dict, key, str_dup(a, str_from(text)));
}

static void put_authors(struct arena *a, struct value *dict, const struct out_view *v)
{
    if (v->n_authors == 0)
        return;
    for (size_t i = 0; i < v->n_authors; i++) {
        const struct view_person *p = &v->authors[i];
        struct value *author = value_dict(a);
        put_text(a, author, "name", p->name);
        if (!str_is_null(p->uri))
            put_text(a, author, "url", iri_escape(a, p->uri, true));
        else if (!str_is_null(p->email))
            put_text(a, author, "url", str_concat(a, STR("mailto:"), p->email));
        value_push(a, value_list_at(a, dict, STR("authors")), author);
    }
}

static void put_attachments(struct arena *a, struct value *dict, const struct out_view *v)
{
    for (size_t i = 0; i < v->n_links; i++) {
        const struct view_link *l = &v->links[i];
        struct value *at;
        if (!str_eqz(l->rel, "enclosure"))
            continue;
        at = value_dict(a);
        put_text(a, at, "url", iri_escape(a, l->href, true));
        put_text(a, at, "mime_type",
                 str_is_null(l->type) ? STR("application/octet-stream") : l->type);
        put_text(a, at, "title", l->title);
        if (l->length > 0)
            value_setz(a, at, "size_in_bytes", value_int(a, l->length));
        value_push(a, value_list_at(a, dict, STR("attachments")), at);
    }
}

/* external_url: a page elsewhere that the entry is about. */
static void put_external(struct arena *a, struct value *dict, const struct out_view *v)
{
    for (size_t i = 0; i < v->n_links; i++) {
        if (!str_eqz(v->links[i].rel, "related"))
            continue;
        put_url(a, dict, "external_url", v->links[i].href);
        return;
    }
}

/* Exactly one of content_html and content_text; summary only beside a content. */
static void put_body(struct arena *a, struct value *dict, const struct out_view *v)
{
    const struct view_text *body = &v->content;

    if (str_is_null(body->value))
        body = &v->summary;
    if (str_is_null(body->value))
        put_text(a, dict, "content_text", view_title(a, v));
    else
        put_text(a, dict, body->html ? "content_html" : "content_text", body->value);
    if (body == &v->content)
        put_text(a, dict, "summary", view_plain(a, v->summary));
}

static struct value *item_of(struct arena *a, const struct out_doc *doc, const struct out_entry *e)
{
    struct value *item = value_dict(a), *origin;
    struct out_view v;

    out_view_read(a, out_entry_object(a, e), e->feed->url, false, &v);
    put_text(a, item, "id", feed_entry_iri(a, e->feed->url, e->uid));
    put_url(a, item, "url", v.link);
    put_external(a, item, &v);
    put_text(a, item, "title", view_plain(a, v.title));
    put_body(a, item, &v);
    put_url(a, item, "image", v.image);
    put_date(a, item, "date_published",
             e->published_at != TIME_UNKNOWN ? e->published_at : out_entry_updated(e));
    if (e->updated_at != TIME_UNKNOWN)
        put_date(a, item, "date_modified", e->updated_at);
    put_authors(a, item, &v);
    for (size_t i = 0; i < v.n_tags; i++)
        value_push(a, value_list_at(a, item, STR("tags")), value_text(a, v.tags[i].term));
    put_text(a, item, "language", v.lang);
    put_attachments(a, item, &v);
    if (doc->merged) {
        out_view_read(a, e->feed->obj, e->feed->url, true, &v);
        origin = value_dict(a);
        put_text(a, origin, "title", out_feed_name(a, view_plain(a, v.title), e->feed->url));
        put_url(a, origin, "home_page_url", v.link);
        put_url(a, origin, "feed_url", e->feed->url);
        value_setz(a, item, "_source", origin);
    }
    return item;
}

static struct value *head_of(struct arena *a, const struct out_doc *doc,
                             const struct out_feed *feed)
{
    struct value *head = value_dict(a), *hub;
    struct str url = feed != NULL ? feed->url : doc->self_url;
    struct out_view v;

    out_view_read(a, feed == NULL ? NULL : feed->obj, url, true, &v);
    value_set_textz(a, head, "version", STR("https://jsonfeed.org/version/1.1"));
    put_text(a, head, "title",
             !str_is_null(doc->title) ? doc->title : out_feed_name(a, view_plain(a, v.title), url));
    put_url(a, head, "home_page_url", v.link);
    put_url(a, head, "feed_url", doc->self_url);
    put_text(a, head, "description", view_plain(a, v.summary));
    if (!str_eq(doc->next_url, doc->self_url))
        put_url(a, head, "next_url", doc->next_url);
    put_url(a, head, "icon", v.image);
    put_url(a, head, "favicon", v.icon);
    put_authors(a, head, &v);
    put_text(a, head, "language", v.lang);
    for (size_t i = 0; i < doc->n_links; i++) {
        if (!str_eqz(doc->links[i].rel, "hub"))
            continue;
        hub = value_dict(a);
        value_set_textz(a, hub, "type", STR("WebSub"));
        value_set_textz(a, hub, "url", doc->links[i].href);
        value_push(a, value_list_at(a, head, STR("hubs")), hub);
    }
    return head;
}

void write_jsonfeed(struct buf *out, const struct out_doc *doc)
{
    const struct out_feed *feed = doc->merged || doc->n_feeds == 0 ? NULL : &doc->feeds[0];
    struct arena head = ARENA_INIT, ids = ARENA_INIT;
    struct map seen = MAP_INIT;
    bool comma = false;

    json_write(out, head_of(&head, doc, feed));
    if (out->len > 0 && buf_ok(out))
        out->len--; /* the items go inside the closing brace */
    buf_puts(out, ",\"items\":[");
    for (size_t i = 0; i < doc->n_entries && buf_ok(out); i++) {
        struct arena a = ARENA_INIT;
        if (out_entry_is_first(&ids, &seen, doc, &doc->entries[i])) {
            buf_puts(out, comma ? ",\n" : "\n");
            json_write(out, item_of(&a, doc, &doc->entries[i]));
            comma = true;
        }
        arena_release(&a);
    }
    buf_puts(out, "]}\n");
    map_release(&seen, NULL);
    arena_release(&ids);
    arena_release(&head);
}
