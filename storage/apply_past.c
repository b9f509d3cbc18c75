/* storage/apply_past.c - finds out which documents of a feed's past must still be read. A publisher
 * keeps there the entries that the feed does not show any more.
 *
 * Each document leads to an older one. Each is read once, newest first. Those that were not read
 * are in the table `archives`, so that a catch-up can go on where it was interrupted. A harvest
 * (Atom-PMH) reads documents again, because they may change; but it does not read those that are
 * older than the last harvest.
 */
#include "base/clock.h"
#include "storage/apply_parts.h"
#include "storage/sqlite/archives.h"

static int64_t earlier(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* Does the document reach back to the last harvest, so that no older one need be read? */
static bool is_enough(const struct feed *feed, const struct doc_past *past)
{
    return past->metadata && feed->harvest_at != TIME_UNKNOWN && past->oldest != TIME_UNKNOWN &&
           past->oldest < feed->harvest_at;
}

/* Is it known that no document of the feed's past is to be read? */
static bool has_no_past(const struct held_feed *f)
{
    return f != NULL && f->is_past_known && !f->has_past;
}

enum rc apply_lead_on(struct txn *t, const struct feed *feed, const struct doc_past *past,
                      int64_t order, int64_t walk, struct err *err)
{
    int64_t n = 0;
    const struct held_feed *f = rows_feed(&t->rows, feed->id);
    enum rc rc = past->n_deletions > 0 ? tombstones_count(t->db, feed->id, &n, err) : RC_OK;

    for (size_t i = 0; i < past->n_deletions && n < TOMBSTONES_MAX && rc == RC_OK; i++, n++)
        rc = tombstones_put(t->db, feed->id, past->deletions[i].uid, past->deletions[i].when_us,
                            err);
    if (rc != RC_OK || is_enough(feed, past))
        return rc;
    if (str_is_null(past->older) && (!past->whole || has_no_past(f)))
        return RC_OK;
    rows_past_changed(&t->rows, feed->id);
    if (!str_is_null(past->older))
        return archives_want(t->db, feed->id, past->older, walk, err);
    return archives_forget(t->db, feed->id, order, err);
}

enum rc apply_look_ahead(struct txn *t, struct op *op, struct feed *feed, bool has_deletions,
                         int64_t at, bool *visible)
{
    bool before = feed->partial, pending = false;
    enum rc rc = RC_OK;

    if (!has_no_past(rows_feed(&t->rows, feed->id)))
        rc = archives_pending(t->db, feed->id, &pending, &op->err);
    op->result.next_archive = STR_NULL;
    feed->partial = pending || (feed->cursor_state & CURSOR_FIRST) != 0;
    *visible |= feed->partial != before;
    if (rc == RC_OK && pending)
        rc = archives_next(t->db, feed->id, at, &op->arena, &op->result.next_archive, &op->err);
    if (rc != RC_OK || feed->partial)
        return rc;
    feed->harvest_at = feed->harvest_to;
    return before || has_deletions ? tombstones_clear(t->db, feed->id, &op->err) : RC_OK;
}

/* The number of the walk through the past. In a new walk, documents are read again. A harvest whose
 * document was read to its end begins a new walk. 0: documents are not read again. */
static int64_t begin_walk(struct feed *feed, const struct doc_past *past, int64_t at)
{
    if (!past->metadata || feed->partial || past->newest == TIME_UNKNOWN)
        return 0;
    feed->harvest_to =
        earlier(past->newest, at); /* a date in the future would hide entries before it */
    if (feed->harvest_at == TIME_UNKNOWN)
        return 0;
    if (feed->harvest_to < feed->harvest_at)
        feed->harvest_to = feed->harvest_at;
    return clock_now_us();
}

enum rc apply_past(struct txn *t, struct op *op, struct feed_row *row, const struct doc_past *past,
                   int64_t at, bool *visible)
{
    enum rc rc = RC_OK;

    if (past != NULL)
        rc = apply_lead_on(t, &row->feed, past, INT64_MAX, begin_walk(&row->feed, past, at),
                           &op->err);
    return rc == RC_OK ? apply_look_ahead(t, op, &row->feed, past != NULL && past->n_deletions > 0,
                                          at, visible)
                       : rc;
}
