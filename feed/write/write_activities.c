/* feed/write/write_activities.c - collections of ActivityStreams 1.0 (JSON), for the streams of
 * Smart Feeds.
 *
 * An item is the activity of posting an entry; the entry is in `object`. The item of a deleted
 * entry keeps its position, but has no content. */
#include "feed/text/iri.h"
#include "feed/text/json.h"
#include "feed/write/showing.h"
#include "feed/write/writer_priv.h"

static void put_text(struct arena *a, struct value *dict, const char *key, struct str text)
{
    if (!str_is_null(text))
        value_set_text(a, dict, str_from(key), text);
}

static void put_date(struct arena *a, struct value *dict, const char *key, int64_t at)
{
    char text[CLOCK_TEXT];

    if (at == TIME_UNKNOWN)
        return;
    clock_rfc3339(at, text);
    put_text(a, dict, key, str_dup(a, str_from(text)));
}

static struct value *object_of(struct arena *a, const char *type)
{
    struct value *o = value_dict(a);

    value_set_textz(a, o, "objectType", str_from(type));
    return o;
}

/* Returns who posted the entry: its first author, or else the feed. */
static struct value *actor_of(struct arena *a, const struct out_parts *v,
                              const struct out_feed *feed)
{
    struct value *actor;

    if (v != NULL && v->n_authors > 0) {
        actor = object_of(a, "person");
        put_text(a, actor, "displayName", v->authors[0].name);
        if (iri_is_http(v->authors[0].uri))
            put_text(a, actor, "url", iri_escape(a, v->authors[0].uri, true));
        return actor;
    }
    actor = object_of(a, "service");
    put_text(a, actor, "id", feed_iri(a, feed));
    put_text(a, actor, "displayName",
             out_feed_name(a, str_trim(value_get_textz(feed->obj, "title")), feed->url));
    return actor;
}

static void put_media(struct arena *a, struct value *object, const struct out_parts *v)
{
    struct value *one, *stream;

    for (size_t i = 0; i < v->n_links; i++) {
        const struct part_link *l = &v->links[i];

        if (!str_eqz(l->rel, "enclosure"))
            continue;
        one = object_of(a, "file");
        stream = value_dict(a);
        put_text(a, stream, "url", iri_escape(a, l->href, true));
        put_text(a, one, "url", iri_escape(a, l->href, true));
        put_text(a, one, "original", str_is_null(l->original) ? STR_NULL : iri_escape(a, l->original, true));
        put_text(a, one, "mimeType", l->type);
        put_text(a, one, "displayName", l->title);
        if (l->length > 0)
            value_setz(a, one, "fileSize", value_int(a, l->length));
        value_setz(a, one, "stream", stream);
        value_push(a, value_list_at(a, object, STR("attachments")), one);
    }
    if (iri_is_http(v->image)) {
        one = value_dict(a);
        put_text(a, one, "url", iri_escape(a, v->image, true));
        value_setz(a, object, "image", one);
    }
}

static struct value *whole_object(struct arena *a, const struct out_entry *e,
                                  const struct out_parts *v, struct str id)
{
    struct value *object = object_of(a, "article"), *tag;

    put_text(a, object, "id", id);
    if (iri_is_http(v->link))
        put_text(a, object, "url", iri_escape(a, v->link, true));
    put_text(a, object, "displayName", part_plain(a, v->title));
    put_text(a, object, "summary", part_html(a, v->summary));
    put_text(a, object, "content",
             part_html(a, str_is_null(v->content.value) ? v->summary : v->content));
    put_date(a, object, "published", e->published_at);
    put_date(a, object, "updated", e->updated_at);
    if (v->n_authors > 0)
        value_setz(a, object, "author", actor_of(a, v, e->feed));
    for (size_t i = 0; i < v->n_tags; i++) {
        tag = object_of(a, "tag");
        put_text(a, tag, "displayName",
                 str_is_null(v->tags[i].label) ? v->tags[i].term : v->tags[i].label);
        put_text(a, tag, "id", iri_is_http(v->tags[i].scheme) ? v->tags[i].scheme : STR_NULL);
        value_push(a, value_list_at(a, object, STR("tags")), tag);
    }
    put_media(a, object, v);
    return object;
}

static struct value *item_of(struct arena *a, const struct out_entry *e)
{
    struct value *item = value_dict(a), *object, *provider;
    struct str id = out_entry_iri(a, e); /* the item may have another id */
    bool deleted = e->kind == OUT_EMPTY;
    struct out_parts v;

    put_text(a, item, "id", out_entry_id(a, e));
    value_set_textz(a, item, "verb", STR("post"));
    put_date(a, item, "published", e->created_at);
    put_date(a, item, "updated", e->changed_at);
    if (deleted) {
        value_setz(a, item, "deleted", value_bool(a, true));
        object = object_of(a, "article");
        put_text(a, object, "id", id);
        value_setz(a, item, "actor", actor_of(a, NULL, e->feed));
    } else {
        out_parts_read(a, out_entry_object(a, e), STR(""), e->feed->url, false, &v);
        object = whole_object(a, e, &v, id);
        put_text(a, item, "title", part_plain(a, v.title));
        if (iri_is_http(v.link))
            put_text(a, item, "url", iri_escape(a, v.link, true));
        value_setz(a, item, "actor", actor_of(a, &v, e->feed));
    }
    value_setz(a, item, "object", object);
    provider = object_of(a, "service");
    put_text(a, provider, "id", feed_iri(a, e->feed));
    put_text(a, provider, "displayName",
             out_feed_name(a, str_trim(value_get_textz(e->feed->obj, "title")), e->feed->url));
    put_text(a, provider, "url", e->feed->url);
    value_setz(a, item, "provider", provider);
    return item;
}

void write_activities(struct buf *out, const struct out_doc *doc)
{
    const struct out_stream *s = doc->stream;
    struct arena a = ARENA_INIT;

    buf_printf(out, "{\"count\":%zu,", doc->n_entries);
    if (s->total >= 0)
        buf_printf(out, "\"totalItems\":%lld,", (long long)s->total);
    buf_puts(out, "\"url\":");
    json_write_text(out, doc->self_url);
    if (!str_is_null(s->prev_cursor)) {
        buf_puts(out, ",\"prev_cursor\":");
        json_write_text(out, s->prev_cursor);
    }
    buf_puts(out, ",\"last_cursor\":");
    json_write_text(out, s->last_cursor);
    if (!str_is_null(s->next)) {
        buf_puts(out, ",\"next\":");
        json_write_text(out, s->next);
    }
    buf_puts(out, ",\"items\":[");
    for (size_t i = 0; i < doc->n_entries && buf_ok(out); i++) {
        buf_puts(out, i > 0 ? ",\n" : "\n");
        json_write(out, showing_members(&a, item_of(&a, &doc->entries[i]), doc->fields,
                                        "id|deleted")); /* a mirror needs them */
        arena_release(&a);
        a = (struct arena)ARENA_INIT;
    }
    buf_puts(out, "]}\n");
    arena_release(&a);
}
