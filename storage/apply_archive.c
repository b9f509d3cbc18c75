/* storage/apply_archive.c - stores the result of a request for a document of the feed's past. If
 * the request failed, the document is requested again later. */
#include "storage/apply_parts.h"
#include "storage/rows_past.h"

#define RETRY_S 2 /* pause after the first failure; each further failure doubles it */
#define RETRY_S_MAX 86400
#define BROKEN_READS 3 /* how often a document is read that seems to be cut */

static int64_t retry_s(int failures)
{
    int64_t s = (int64_t)RETRY_S << (failures < 20 ? failures : 20);

    return s < RETRY_S_MAX ? s : RETRY_S_MAX;
}

static enum rc take_document(struct txn *t, struct op *op, struct feed_row *row,
                             struct held_archive *self, bool *visible, bool *fills)
{
    const struct archive_outcome *o = &op->as.archive;
    struct arrived in = {.batch = &o->entries,
                         .by = ARRIVAL_ARCHIVE,
                         .at = o->checked_at,
                         .metadata = o->past.metadata};
    int64_t walk = self->row.walk > 0 ? self->row.walk : 0, order = self->row.order;
    bool was_cut = !o->past.whole && self->row.failures < BROKEN_READS - 1;
    enum rc rc = apply_entries(t, op, row, &in, visible);

    if (rc != RC_OK)
        return rc;
    if (was_cut)
        past_failed(&t->rows, self, o->checked_at + (RETRY_S << self->row.failures), true);
    else
        past_read(&t->rows, self);
    *fills = !was_cut && apply_fills_gap(&t->rows, &row->feed, self->row.walk, &o->past);
    apply_lead_on(t, &row->feed, &o->past, order, apply_gap_walk(&row->feed, walk));
    return RC_OK;
}

enum rc apply_archive(struct txn *t, struct op *op)
{
    const struct archive_outcome *o = &op->as.archive;
    struct held_archive *self;
    struct feed_row row;
    bool visible = false, fills = false;
    enum rc rc = apply_load(t, op, o->feed_id, false, &row);

    op->result.id = o->feed_id;
    op->result.next_archive = STR_NULL;
    if (rc != RC_OK)
        return rc;
    self = rows_archive(&t->rows, o->feed_id, o->url);
    if (!archive_is_open(self) || /* it need not be read any more */
        apply_is_of_another(o->secrets, &row.feed)) /* the feed is due, and its past is asked for after that */
        return RC_OK;
    if (o->ok)
        rc = take_document(t, op, &row, self, &visible, &fills);
    else
        past_failed(&t->rows, self, o->checked_at + retry_s(self->row.failures), false);
    if (rc != RC_OK)
        return rc;
    apply_look_ahead(t, op, &row.feed, o->past.n_deletions > 0, o->checked_at, &visible);
    if (fills)
        apply_close_gap(t, &row.feed, &o->past);
    apply_save(t, op, &row, visible);
    return RC_OK;
}
