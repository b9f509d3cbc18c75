/* storage/apply_archive.c - stores the result of a request for a document of the feed's past. If
 * the request failed, the document is requested again later. */
#include "storage/apply_parts.h"
#include "storage/sqlite/archives.h"

#define RETRY_S 2 /* pause after the first failure; each further failure doubles it */
#define RETRY_S_MAX 86400
#define BROKEN_READS 3 /* how often a document is read that seems to be cut */

static int64_t retry_s(int failures)
{
    int64_t s = (int64_t)RETRY_S << (failures < 20 ? failures : 20);

    return s < RETRY_S_MAX ? s : RETRY_S_MAX;
}

static enum rc take_document(struct txn *t, struct op *op, struct feed_row *row,
                             const struct archive_row *self, bool *visible)
{
    const struct archive_outcome *o = &op->as.archive;
    struct arrived in = {.batch = &o->entries,
                         .by = ARRIVAL_ARCHIVE,
                         .at = o->checked_at,
                         .metadata = o->past.metadata};
    enum rc rc = apply_entries(t, op, row, &in, visible);

    if (rc == RC_OK && !o->past.whole && self->failures < BROKEN_READS - 1)
        rc = archives_failed(t->db, o->feed_id, o->url, o->checked_at + (RETRY_S << self->failures),
                             true, &op->err);
    else if (rc == RC_OK)
        rc = archives_read(t->db, o->feed_id, o->url, &op->err);
    if (rc == RC_OK)
        rc = apply_lead_on(t, &row->feed, &o->past, self->order, self->walk, &op->err);
    return rc;
}

enum rc apply_archive(struct txn *t, struct op *op)
{
    const struct archive_outcome *o = &op->as.archive;
    struct archive_row self;
    struct feed_row row;
    bool found, visible = false;
    enum rc rc = apply_load(t, op, o->feed_id, false, &row);

    op->result.id = o->feed_id;
    op->result.next_archive = STR_NULL;
    if (rc == RC_OK)
        rc = archives_find(t->db, o->feed_id, o->url, &self, &found, &op->err);
    rows_past_changed(&t->rows, o->feed_id);
    if (rc != RC_OK || !found) /* it need not be read any more */
        return rc;
    if (o->ok)
        rc = take_document(t, op, &row, &self, &visible);
    else
        rc = archives_failed(t->db, o->feed_id, o->url, o->checked_at + retry_s(self.failures),
                             false, &op->err);
    if (rc == RC_OK)
        rc = apply_look_ahead(t, op, &row.feed, o->past.n_deletions > 0, o->checked_at, &visible);
    if (rc == RC_OK)
        apply_save(t, op, &row, visible);
    return rc;
}
