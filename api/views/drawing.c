/* api/views/drawing.c - see drawing.h. */
#include "api/views/drawing.h"

#include "api/views/mirrored.h"
#include "feed/text/json.h"
#include "feed/write/showing.h"

struct str drawing_access_key(void *ctx, int64_t feed_id)
{
    struct drawing *d = ctx;

    return store_access_key(d->store, feed_id, &d->arena);
}

/* Split the stored head, {"feed": {...}, facts...}, into the dict of the head and the facts. */
void drawing_head(struct arena *a, const struct feed *feed, struct out_feed *out)
{
    struct value *head = NULL;

    if (feed->head.len == 0 || json_read(a, feed->head, &head, NULL) != RC_OK)
        head = value_dict(a);
    out->obj = value_getz(head, "feed");
    if (out->obj == NULL || out->obj->kind != VAL_DICT)
        out->obj = value_dict(a);
    value_del(head, STR("feed"));
    if (value_getz(head, "href") == NULL)
        value_set_textz(a, head, "href", feed->url);
    out->meta = head;
    out->url = feed->url;
    out->id_url = feed->id_url;
    out->ext = feed->ext;
    out->updated_at = feed->last_change_at;
}

size_t drawing_feed(const struct drawing *d, int64_t feed_id)
{
    size_t lo = 0, hi = d->n_feeds;

    while (lo < hi) { /* the ids of a view are sorted */
        size_t mid = (lo + hi) / 2;

        if (d->feeds[mid].id < feed_id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < d->n_feeds && d->feeds[lo].id == feed_id ? lo : d->n_feeds;
}

static void show_less(struct drawing *d, struct out_entry *e)
{
    const struct view *view = &d->spec->view;

    e->obj = showing_entry(&d->arena, view, e->obj);
    e->ext = showing_ext(&d->arena, view, e->ext);
    e->json = STR(""); /* which has all */
}

enum rc drawing_entries(struct drawing *d, struct reader *r, struct err *err)
{
    enum feed_format format = d->spec->view.format;
    const struct view *view = &d->spec->view;
    bool copies = format_has(format, FORMAT_IS_STORED) && view_shows_all(view);
    struct str log_id = store_log_id(d->store);
    size_t n = 0;
    enum rc rc = mirrored_rows(r, &d->arena, view->mirror, d->rows, d->n_rows, err);

    if (rc != RC_OK)
        return rc;
    d->heads = ARENA_ARRAY(&d->arena, struct out_feed, d->n_feeds + 1);
    d->entries = ARENA_ARRAY(&d->arena, struct out_entry, d->n_rows + 1);
    for (size_t i = 0; i < d->n_feeds; i++)
        drawing_head(&d->arena, &d->feeds[i], &d->heads[i]);
    for (size_t i = 0; i < d->n_rows; i++) {
        const struct revision *row = &d->rows[i];
        size_t feed = drawing_feed(d, row->feed_id);
        struct out_entry *e = &d->entries[n];

        if (feed == d->n_feeds)
            continue;
        form_entry(d->spec->view.form, &d->arena, row, &d->heads[feed], log_id, e);
        if (!copies && row->doc.len > 0 && json_read(&d->arena, row->doc, &e->obj, NULL) != RC_OK)
            e->obj = value_dict(&d->arena);
        if (!view_shows_all(view))
            show_less(d, e);
        n++;
    }
    d->doc.merged = d->spec->merged;
    d->doc.fields = view->fields;
    d->doc.feeds = d->heads;
    d->doc.n_feeds = d->n_feeds;
    d->doc.entries = d->entries;
    d->doc.n_entries = n;
    return RC_OK;
}

enum rc drawing_tell_twins_apart(struct drawing *d, struct reader *r, struct err *err)
{
    const struct view *view = &d->spec->view;
    bool *elders = ARENA_ARRAY(&d->arena, bool, d->n_rows + 1);
    enum rc rc;

    if (view->n_feeds < 2)
        return RC_OK;
    rc = reader_elders(r, view->feed_ids, view->n_feeds, d->rows, d->n_rows, elders, err);
    for (size_t i = 0, k = 0; i < d->n_rows && rc == RC_OK; i++) {
        size_t feed = drawing_feed(d, d->rows[i].feed_id);
        struct out_entry *e;
        struct out_link *about;

        if (feed == d->n_feeds)
            continue;
        e = &d->entries[k++];
        if (!elders[i])
            continue;
        e->id = form_item_id(&d->arena, &d->rows[i], &d->feeds[feed], true);
        if (e->kind == OUT_EMPTY)
            continue; /* it has nothing besides its id */
        about = ARENA_NEW(&d->arena, struct out_link);
        *about = (struct out_link){STR("related"), STR_NULL, out_entry_iri(&d->arena, e)};
        e->links = about;
        e->n_links = 1;
    }
    return rc;
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
    struct view v = drawing_view(d, order, d->spec->view.after_seq, INT64_MAX, d->spec->new_max);
    int64_t end = store_last_seq(d->store); /* before the rows */
    enum rc rc = reader_rows(r, &v, &d->arena, &d->rows, &d->n_rows, err);

    d->position = d->spec->view.after_seq;
    if (rc == RC_OK && d->n_rows > 0)
        d->position = d->rows[d->n_rows - 1].seq;
    else if (rc == RC_OK && v.filter != NULL && end > d->position)
        d->position = end; /* what does not match need not be looked at again */
    d->n_new = d->n_rows;
    d->news_at_us = d->n_rows > 0 ? d->rows[0].at_us : 0;
    d->is_last = d->n_rows < d->spec->new_max;
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
    drawing_add_link_to(d, rel, d->spec->view.format, href);
}

void drawing_add_link_to(struct drawing *d, const char *rel, enum feed_format format,
                         struct str href)
{
    struct out_link *links = ARENA_ARRAY(&d->arena, struct out_link, d->doc.n_links + 1);

    if (d->doc.n_links > 0)
        memcpy(links, d->doc.links, d->doc.n_links * sizeof *links);
    links[d->doc.n_links++] = (struct out_link){str_from(rel), format_bare_type(format), href};
    d->doc.links = links;
}
