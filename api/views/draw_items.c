/* api/views/draw_items.c - see draw_items.h. */
#include "api/views/draw_items.h"

#include "api/views/drawing.h"
#include "model/media_types.h"

#define INDEX_MAX 10000 /* items that are counted to find the index of a page */

/* The bytes that an item takes, with its id as an attribute. */
static size_t size_of(struct item_text text)
{
    return text.xml.len + 6 * text.id.len + 32;
}

static struct item_text write_item(struct arena *a, const struct out_entry *e)
{
    AUTO(buf_release) struct buf xml = BUF_INIT(BUF_ANY);

    feed_write_item(&xml, e);
    return (struct item_text){.id = str_dup(a, str_is_null(e->id) ? out_entry_iri(a, e) : e->id),
                              .xml = str_dup(a, buf_view(&xml))};
}

/* Write the item without its content, with a link to the whole entry. If it is still too large,
 * its title and author go, too. */
static struct item_text write_small(struct arena *a, const struct out_entry *e, struct str link,
                                    size_t max_bytes)
{
    struct out_entry small = *e;
    struct out_link *whole = ARENA_NEW(a, struct out_link);
    struct item_text text;

    *whole = (struct out_link){STR("alternate"), STR_NULL, link};
    if (e->kind == OUT_ENTRY)
        small.kind = OUT_METADATA;
    small.links = whole;
    small.n_links = str_is_null(link) || link.len > max_bytes / 4 ? 0 : 1;
    text = write_item(a, &small);
    if (size_of(text) <= max_bytes)
        return text;
    small.obj = value_dict(a);
    small.json = small.ext = STR("");
    return write_item(a, &small);
}

static struct item_text write_bounded(struct arena *a, const struct out_entry *e,
                                      const struct revision *row, size_t max_bytes)
{
    struct item_text text = write_item(a, e);

    return size_of(text) <= max_bytes ? text : write_small(a, e, row->link, max_bytes);
}

/* Count the items before the first row; from both ends, because one of them may be near. */
static enum rc find_index(struct drawing *d, struct reader *r, int64_t total, int64_t *index,
                          struct err *err)
{
    const struct view *v = &d->spec->view;
    bool by_creation = order_is_by_creation(v->order), down = order_descends(v->order);
    int64_t at, n_before = INDEX_MAX, n_after = INDEX_MAX;
    enum rc rc;

    *index = -1;
    if (d->n_rows == 0)
        return RC_OK;
    at = by_creation ? d->rows[0].first_seq : d->rows[0].seq;
    rc = reader_count_between(r, v->feed_ids, v->n_feeds, by_creation, down ? at + 1 : 0,
                              down ? INT64_MAX : at - 1, INDEX_MAX, &n_before, err);
    if (rc == RC_OK && n_before == INDEX_MAX)
        rc = reader_count_between(r, v->feed_ids, v->n_feeds, by_creation, down ? 0 : at,
                                  down ? at : INT64_MAX, INDEX_MAX, &n_after, err);
    if (n_before < INDEX_MAX)
        *index = n_before;
    else if (n_after < INDEX_MAX)
        *index = total - n_after;
    return rc;
}

/* Write the items, up to the bound; from the last one back, if the last ones are wanted. */
static void write_items(struct drawing *d, size_t max_bytes, struct arena *a,
                        struct drawn_items *out)
{
    size_t *rows = ARENA_ARRAY(a, size_t, d->n_rows + 1), n = 0, bytes = 0, from;
    bool from_end = d->spec->is_last_page;

    for (size_t i = 0; i < d->n_rows; i++)
        if (drawing_feed(d, d->rows[i].feed_id) != d->n_feeds)
            rows[n++] = i; /* the row of entry n */
    out->items = ARENA_ARRAY(a, struct drawn_item, n + 1);
    for (; out->n < n; out->n++) {
        size_t k = from_end ? n - 1 - out->n : out->n;
        struct item_text text = write_bounded(a, &d->entries[k], &d->rows[rows[k]], max_bytes);

        if (out->n > 0 && bytes + size_of(text) > max_bytes)
            break;
        bytes += size_of(text);
        out->items[k] = (struct drawn_item){text, str_dup(a, drawing_cursor(d, rows[k]))};
    }
    from = from_end ? n - out->n : 0;
    out->items += from;
    if (out->index >= 0)
        out->index += (int64_t)from;
}

enum rc draw_items(const struct document_spec *spec, struct store *store, struct reader *r,
                   bool with_items, size_t max_bytes, struct arena *a, struct drawn_items *out,
                   struct err *err)
{
    struct drawing d = {.spec = spec,
                        .store = store,
                        .modified_at = TIME_UNKNOWN,
                        .position = spec->view.after_seq};
    enum rc rc;

    *out = (struct drawn_items){.index = -1};
    rc = draw_stream(&d, r, err);
    if (rc == RC_OK)
        out->total = d.doc.stream->total;
    if (rc == RC_OK && with_items && out->total >= 0)
        rc = find_index(&d, r, out->total, &out->index, err);
    if (rc == RC_OK && with_items)
        write_items(&d, max_bytes, a, out);
    arena_release(&d.arena);
    return rc;
}

enum rc draw_revisions(struct store *store, struct reader *r, const struct items_wanted *wanted,
                       struct arena *a, struct item_text *items, struct err *err)
{
    int64_t *ids = ARENA_ARRAY(a, int64_t, wanted->n_feeds + 1);
    struct document_spec spec = {
        .view = {
            .form = FORM_STREAM, .format = FORMAT_ATOM, .order = VIEW_MODIFIED, .feed_ids = ids}};
    struct drawing d = {.spec = &spec, .store = store, .n_rows = wanted->n};
    enum rc rc;

    if (wanted->n_feeds > 0)
        memcpy(ids, wanted->feed_ids, wanted->n_feeds * sizeof *ids);
    spec.view.n_feeds = view_ids_sort(ids, wanted->n_feeds);
    d.rows = ARENA_ARRAY(&d.arena, struct revision, wanted->n + 1);
    for (size_t i = 0; i < wanted->n; i++) {
        d.rows[i] = wanted->revisions[i];
        d.rows[i].gone = !revision_has_entry(&d.rows[i]); /* as it was then, not as it is now */
    }
    rc = reader_feeds(r, ids, spec.view.n_feeds, &d.arena, &d.feeds, &d.n_feeds, err);
    if (rc == RC_OK)
        rc = drawing_stream_items(&d, r, err);
    for (size_t i = 0, k = 0; i < wanted->n && rc == RC_OK; i++)
        if (drawing_feed(&d, d.rows[i].feed_id) == d.n_feeds)
            rc = err_set(err, RC_NOT_FOUND, "The feed was removed just now.");
        else
            items[i] = write_bounded(a, &d.entries[k++], &d.rows[i], wanted->max_bytes);
    arena_release(&d.arena);
    return rc;
}
