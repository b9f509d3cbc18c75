/* api/draw.c - what all documents have in common, and which of them a view asks for. See draw.h. */
#include "api/draw.h"

#include "api/drawing.h"
#include "api/feedset.h"
#include "feed/json.h"

struct str drawing_access_key(void *ctx, int64_t feed_id)
{
    const struct drawing *d = ctx;

    for (size_t i = 0; i < d->n_records; i++)
        if (d->records[i].id == feed_id)
            return d->records[i].access_key;
    return STR_NULL;
}

/* The stored head: {"feed": {...}, facts...} -> the dict of the head and the facts beside it. */
void draw_feed(struct arena *a, const struct feed_record *rec, struct out_feed *out)
{
    struct value *head = NULL;

    if (rec->head.len == 0 || json_read(a, rec->head, &head, NULL) != RC_OK)
        head = value_dict(a);
    out->obj = value_getz(head, "feed");
    if (out->obj == NULL || out->obj->kind != VAL_DICT)
        out->obj = value_dict(a);
    value_del(head, STR("feed"));
    if (value_getz(head, "href") == NULL)
        value_set_textz(a, head, "href", rec->url);
    out->meta = head;
    out->url = rec->url;
    out->id_url = rec->id_url;
    out->ext = rec->ext;
    out->updated_at = rec->last_change_at;
}

size_t drawing_feed(const struct drawing *d, int64_t feed_id)
{
    size_t lo = 0, hi = d->n_records;

    while (lo < hi) { /* the ids of a view are sorted */
        size_t mid = (lo + hi) / 2;

        if (d->records[mid].id < feed_id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < d->n_records && d->records[lo].id == feed_id ? lo : d->n_records;
}

void drawing_entries(struct drawing *d)
{
    enum feed_format format = d->spec->view.format;
    bool copies = format == FORMAT_JSON || format == FORMAT_JSON_OBJ;
    struct str log_id = store_log_id(d->store);
    size_t n = 0;

    d->feeds = ARENA_ARRAY(&d->arena, struct out_feed, d->n_records + 1);
    d->entries = ARENA_ARRAY(&d->arena, struct out_entry, d->n_rows + 1);
    for (size_t i = 0; i < d->n_records; i++)
        draw_feed(&d->arena, &d->records[i], &d->feeds[i]);
    for (size_t i = 0; i < d->n_rows; i++) {
        const struct revision *row = &d->rows[i];
        size_t feed = drawing_feed(d, row->feed_id);
        struct out_entry *e = &d->entries[n];

        if (feed == d->n_records)
            continue;
        form_entry(d->spec->view.form, &d->arena, row, &d->feeds[feed], log_id, e);
        if (!copies && row->doc.len > 0 && json_read(&d->arena, row->doc, &e->obj, NULL) != RC_OK)
            e->obj = value_dict(&d->arena);
        n++;
    }
    d->doc.merged = d->spec->merged;
    d->doc.feeds = d->feeds;
    d->doc.n_feeds = d->n_records;
    d->doc.entries = d->entries;
    d->doc.n_entries = n;
}

void drawing_reverse(struct revision *rows, size_t n)
{
    for (size_t i = 0; i + 1 < n - i; i++) {
        struct revision swap = rows[i];

        rows[i] = rows[n - 1 - i];
        rows[n - 1 - i] = swap;
    }
}

enum rc drawing_read_news(struct drawing *d, struct reader *r, enum view_order order,
                          struct err *err)
{
    struct view v = drawing_view(d, order, d->spec->view.after_seq, INT64_MAX, d->spec->max_new);
    enum rc rc = reader_rows(r, &v, &d->arena, &d->rows, &d->n_rows, err);

    d->position = d->spec->view.after_seq;
    if (rc == RC_OK && d->n_rows > 0)
        d->position = d->rows[d->n_rows - 1].seq;
    d->n_new = d->n_rows;
    d->is_last = d->n_rows < d->spec->max_new;
    return rc;
}

struct view drawing_view(const struct drawing *d, enum view_order order, int64_t after,
                         int64_t before, size_t len)
{
    struct view v = d->spec->view;

    v.order = order;
    v.after_seq = after;
    v.before_seq = before;
    v.len = len;
    v.skip = 0;
    v.with_deleted = true;
    return v;
}

void drawing_add_link(struct drawing *d, const char *rel, struct str href)
{
    struct str media = str_from(feed_format_media_type(d->spec->view.format));
    struct out_link *links = ARENA_ARRAY(&d->arena, struct out_link, d->doc.n_links + 1);

    if (d->doc.n_links > 0)
        memcpy(links, d->doc.links, d->doc.n_links * sizeof *links);
    links[d->doc.n_links++] = (struct out_link){str_from(rel), str_split(&media, ';'), href};
    d->doc.links = links;
}

/* Where the document says who delivers it, behind its other links. */
static void add_hub(struct drawing *d)
{
    struct out_link *links;

    if (str_is_null(d->spec->hub))
        return;
    links = ARENA_ARRAY(&d->arena, struct out_link, d->doc.n_links + 1);
    links[0] = (struct out_link){STR("hub"), STR_NULL, d->spec->hub};
    if (d->doc.n_links > 0)
        memcpy(links + 1, d->doc.links, d->doc.n_links * sizeof *links);
    d->doc.links = links;
    d->doc.n_links++;
}

/* JSON-P: a call with the document as its argument; one that is no JSON as one JSON string (D31).
 * The comment keeps the first bytes from being the caller's. */
static void wrap(struct buf *out, struct buf *doc, const struct render_spec *spec)
{
    buf_puts(out, "/**/");
    buf_str(out, spec->callback);
    buf_putc(out, '(');
    if (spec->view.format == FORMAT_ACTIVITIES)
        buf_str(out, str_trim(buf_view(doc)));
    else
        json_write_text(out, buf_view(doc));
    buf_puts(out, ");\n");
}

/* The feeds of the set that changed in the second of the document's date: more than one gave it
 * several states, unless they were only fetched for the first time then, for before that a set is
 * not served. */
static enum rc find_other_feeds(struct drawing *d, struct reader *r, bool *doubtful,
                                struct err *err)
{
    int64_t id;
    struct view v = drawing_view(d, VIEW_LOG_DESC, 0, INT64_MAX, 1);
    size_t n_now = 0;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < d->n_records; i++)
        n_now += d->records[i].version / 1000000 >= d->modified_at;
    *doubtful = n_now > FEEDSET_MAX; /* not worth so many queries */
    if (n_now < 2)
        return RC_OK;
    v.feed_ids = &id;
    v.n_feeds = 1;
    for (size_t i = 0; i < d->n_records && rc == RC_OK && !*doubtful; i++) {
        struct revision *newest;
        size_t n = 0;

        id = d->records[i].id;
        if (d->records[i].version / 1000000 < d->modified_at)
            continue;
        rc = reader_rows(r, &v, &d->arena, &newest, &n, err);
        *doubtful =
            rc == RC_OK && (n == 0 || !newest->initial || newest->at_us / 1000000 < d->modified_at);
    }
    return rc;
}

/* Was there another state within the second that Last-Modified names (RFC 9110 section 8.8.2.2)? */
static enum rc find_doubt(struct drawing *d, struct reader *r, bool *doubtful, struct err *err)
{
    int64_t *ids = ARENA_ARRAY(&d->arena, int64_t, d->n_records + 1);
    struct view v = drawing_view(d, VIEW_LOG_DESC, 0, INT64_MAX, 1);
    struct revision *newest, *other;
    size_t n = 0, n_other = 0;
    enum rc rc;

    v.feed_ids = ids;
    v.n_feeds = 0;
    for (size_t i = 0; i < d->n_records; i++) /* stored within a minute after it was fetched */
        if (d->records[i].last_change_at + 60 >= d->modified_at)
            ids[v.n_feeds++] = d->records[i].id;
    if (v.n_feeds == 0)
        return find_other_feeds(d, r, doubtful, err);
    rc = reader_rows(r, &v, &d->arena, &newest, &n, err);
    if (rc == RC_OK && n > 0) {
        v.before_seq = newest->batch;
        rc = reader_rows(r, &v, &d->arena, &other, &n_other, err);
    }
    *doubtful = rc == RC_OK && n_other > 0 && other->at_us / 1000000 >= d->modified_at &&
                !(newest->initial && other->initial && newest->feed_id != other->feed_id);
    return rc != RC_OK || *doubtful ? rc : find_other_feeds(d, r, doubtful, err);
}

enum rc draw_document(const struct render_spec *spec, const struct api_cfg *cfg,
                      struct store *store, struct reader *r, struct buf *out, struct drawn *drawn,
                      struct err *err)
{
    struct drawing d = {.spec = spec,
                        .cfg = cfg,
                        .store = store,
                        .modified_at = TIME_UNKNOWN,
                        .position = spec->view.after_seq};
    enum rc rc = spec->view.form == FORM_NEWEST   ? draw_newest(&d, r, err)
                 : spec->view.form == FORM_STREAM ? draw_stream(&d, r, err)
                                                  : draw_pages(&d, r, err);

    if (rc == RC_OK)
        add_hub(&d);
    if (rc == RC_OK && spec->is_delivery && d.n_new == 0) {
        /* nobody will see it */
    } else if (rc == RC_OK && !str_is_null(spec->callback)) {
        AUTO(buf_release) struct buf bare = BUF_INIT(DRAW_MAX);

        feed_write(&bare, spec->view.format, &d.doc);
        wrap(out, &bare, spec);
    } else if (rc == RC_OK) {
        feed_write(out, spec->view.format, &d.doc);
    }
    if (rc == RC_OK) {
        if (!buf_ok(out))
            rc = err_set(err, RC_LIMIT, "The document would pass %zu bytes; ask for fewer entries.",
                         DRAW_MAX);
    }
    drawn->is_doubtful = false;
    if (rc == RC_OK && !spec->is_delivery && !spec->is_settled && d.modified_at != TIME_UNKNOWN)
        rc = find_doubt(&d, r, &drawn->is_doubtful, err);
    drawn->modified_at = d.modified_at;
    drawn->is_empty = d.doc.n_entries == 0;
    drawn->n_new = d.n_new;
    drawn->position = d.position;
    drawn->is_last = d.is_last;
    drawn->is_private = false;
    for (size_t i = 0; i < d.n_records; i++)
        drawn->is_private = drawn->is_private || !str_is_null(d.records[i].access_key);
    arena_release(&d.arena);
    return rc;
}
