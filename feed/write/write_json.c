/* feed/write/write_json.c - the object form as JSON. Stored entries are copied as text, without
 * parsing.
 *
 * Stored entries are complete (feed/identity/complete.h). In merged output each entry needs its
 * source. A scan of the top level of its text shows whether it has one. */
#include "feed/text/html.h"
#include "feed/text/json.h"
#include "feed/write/showing.h"
#include "feed/write/writer_priv.h"

/* Returns the offset after the string whose first quote is at i. */
static size_t string_end(struct str s, size_t i)
{
    for (i++; i < s.len; i++) {
        if (s.ptr[i] == '\\')
            i++;
        else if (s.ptr[i] == '"')
            return i + 1;
    }
    return s.len;
}

/* Returns true when the top level of a JSON object has a member `source`. *any: the object has at
 * least one member. */
static bool has_source(struct str json, bool *any)
{
    bool found = false;
    int depth = 0;
    bool key = false; /* the next string is a key */

    *any = false;
    for (size_t i = 0; i < json.len;) {
        char c = json.ptr[i];
        if (c == '"') {
            size_t end = string_end(json, i);
            if (depth == 1 && key) {
                struct str name = str_slice(json, i + 1, end - 1);
                found = found || str_eqz(name, "source");
                *any = true;
                key = false;
            }
            i = end;
            continue;
        }
        if (c == '{' || c == '[')
            key = ++depth == 1;
        else if (c == '}' || c == ']')
            depth--;
        else if (c == ',')
            key = depth == 1;
        i++;
    }
    return found;
}

static void put_member(struct buf *out, bool *comma, const char *name, struct str text)
{
    if (*comma)
        buf_putc(out, ',');
    *comma = true;
    json_write_text(out, str_from(name));
    buf_putc(out, ':');
    json_write_text(out, text);
}

/* The texts of sources, by the address of their feed. */
struct sources {
    struct arena arena;
    struct map texts;
};

/* Write the source of an entry in merged output: enough to show it and to ask for its feed. */
static void write_source(struct arena *a, struct buf *out, const struct out_feed *feed)
{
    struct out_parts v;
    bool comma = false;

    out_parts_read(a, feed->obj, STR(""), feed->url, true, &v);
    buf_putc(out, '{');
    put_member(out, &comma, "title", out_feed_name(a, part_plain(a, v.title), feed->url));
    if (!str_is_null(v.link))
        put_member(out, &comma, "link", v.link);
    put_member(out, &comma, "id", feed_iri(a, feed));
    put_member(out, &comma, "href", feed->url);
    buf_putc(out, '}');
}

/* The same, written once for each feed. */
static struct str source_of(struct sources *s, const struct out_feed *feed)
{
    const struct str key = str_of((const char *)&feed, sizeof feed);
    struct str *text = map_get(&s->texts, key);

    if (text == NULL) {
        AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

        text = ARENA_NEW(&s->arena, struct str);
        write_source(&s->arena, &out, feed);
        *text = str_dup(&s->arena, buf_view(&out));
        map_put(&s->texts, key, text);
    }
    return *text;
}

static void write_object(struct buf *out, struct value *obj, struct str fields)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    json_write(out, showing_members(&a, obj, fields, NULL));
}

static void write_entry(struct sources *sources, struct buf *out, const struct out_doc *doc,
                        const struct out_entry *e)
{
    struct buf own = BUF_INIT(BUF_ANY);
    struct str json = str_trim(e->json);
    bool any;

    if (json.len < 2 || json.ptr[0] != '{' || json.ptr[json.len - 1] != '}') {
        if (e->obj != NULL)
            write_object(&own, e->obj, doc->fields);
        json = own.len > 1 ? buf_view(&own) : STR("{}");
    }
    if (!doc->merged || !showing_has(doc->fields, STR("source")) || has_source(json, &any)) {
        buf_str(out, json);
    } else {
        buf_append(out, json.ptr, json.len - 1);
        buf_puts(out, any ? ",\"source\":" : "\"source\":");
        buf_str(out, source_of(sources, e->feed));
        buf_putc(out, '}');
    }
    buf_release(&own);
}

static void write_entries(struct buf *out, const struct out_doc *doc)
{
    struct sources sources = {.texts = MAP_INIT};
    struct arena ids = ARENA_INIT;
    struct map seen = MAP_INIT;
    bool comma = false;

    buf_putc(out, '[');
    for (size_t i = 0; i < doc->n_entries && buf_ok(out); i++) {
        if (out_entry_is_first(&ids, &seen, doc, &doc->entries[i])) {
            buf_puts(out, comma ? ",\n" : "\n");
            write_entry(&sources, out, doc, &doc->entries[i]);
            comma = true;
        }
    }
    buf_putc(out, ']');
    map_release(&seen, NULL);
    map_release(&sources.texts, NULL);
    arena_release(&sources.arena);
    arena_release(&ids);
}

/* Write the head: the dict of the single feed, or one made for the merged document. */
static void write_head(struct arena *a, struct buf *out, const struct out_doc *doc,
                       const struct out_feed *feed)
{
    char text[CLOCK_TEXT];
    bool comma = false;

    if (feed != NULL) {
        json_write(out, feed->obj != NULL ? feed->obj : value_dict(a));
        return;
    }
    clock_rfc3339(doc->updated_at, text);
    buf_putc(out, '{');
    put_member(out, &comma, "title", str_is_null(doc->title) ? STR("") : doc->title);
    put_member(out, &comma, "id", str_is_null(doc->id) ? doc->self_url : doc->id);
    put_member(out, &comma, "updated", str_from(text));
    buf_putc(out, '}');
}

void write_json_array(struct buf *out, const struct out_doc *doc)
{
    write_entries(out, doc);
    buf_putc(out, '\n');
}

void write_json(struct buf *out, const struct out_doc *doc)
{
    const struct out_feed *feed = doc->merged || doc->n_feeds == 0 ? NULL : &doc->feeds[0];
    const struct value *meta = feed == NULL ? NULL : feed->meta;
    struct arena a = ARENA_INIT;

    buf_puts(out, "{\"feed\":");
    write_head(&a, out, doc, feed);
    for (uint32_t i = 0; i < value_len(meta); i++) {
        struct str key = meta->members[i].key;
        if (str_eqz(key, "feed") || str_eqz(key, "entries") || str_eqz(key, "partial"))
            continue;
        buf_putc(out, ',');
        json_write_text(out, key);
        buf_putc(out, ':');
        json_write(out, meta->members[i].val);
    }
    if (doc->partial)
        buf_puts(out, ",\"partial\":true");
    buf_puts(out, ",\"entries\":");
    write_entries(out, doc);
    buf_puts(out, "}\n");
    arena_release(&a);
}
