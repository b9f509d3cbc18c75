/* storage/apply_past.c - the documents in which a publisher keeps what its feed does not show any
 * more: what is to be read of them, and what was found there.
 *
 * Each is read once, newest first, as documents lead to one another; what is left unread stands in
 * the table `archives`, so that a catch-up goes on where it was cut. A harvest (Atom-PMH) reads
 * them again, for such documents may change, but not beyond what is older than the harvest before
 * it.
 */
#include "base/clock.h"
#include "storage/op.h"
#include "storage/sqlite/archives.h"

#define RETRY_S 2 /* after the first failure; doubled by each that follows */
#define RETRY_MOST_S 86400
#define BROKEN_READS 3 /* of a document that is not whole: it may have been cut on its way */

static int64_t earlier(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* All that is to be known lies before the document's end: it shows what the last harvest knew. */
static bool is_enough(const struct feed_record *r, const struct doc_past *past)
{
    return past->records && r->harvest_at != TIME_UNKNOWN && past->oldest != TIME_UNKNOWN &&
           past->oldest < r->harvest_at;
}

/* What the document leads to. `place`: its own. */
static enum rc lead_on(struct txn *t, const struct feed_record *r, const struct doc_past *past,
                       int64_t place, int64_t walk, struct err *err)
{
    int64_t n = 0;
    enum rc rc = past->n_graves > 0 ? graves_count(t->db, r->id, &n, err) : RC_OK;

    for (size_t i = 0; i < past->n_graves && n < GRAVES_MAX && rc == RC_OK; i++, n++)
        rc = graves_put(t->db, r->id, past->graves[i].uid, past->graves[i].when_us, err);
    if (rc != RC_OK || is_enough(r, past))
        return rc;
    if (!str_is_null(past->older))
        return archives_want(t->db, r->id, past->older, walk, err);
    return past->whole ? archives_forget(t->db, r->id, place, err) : RC_OK;
}

/* What is left, and which of it is next. */
static enum rc look_ahead(struct txn *t, struct op *op, struct feed_record *r, int64_t now,
                          bool *visible)
{
    bool before = r->partial;
    enum rc rc = archives_pending(t->db, r->id, &r->partial, &op->err);

    r->partial |= (r->cursor_state & CURSOR_FIRST) != 0;
    *visible |= r->partial != before;
    if (rc != RC_OK)
        return rc;
    if (r->partial)
        return archives_next(t->db, r->id, now, &op->arena, &op->result.next_archive, &op->err);
    r->harvest_at = r->harvest_to;
    return before || op->as.outcome.past.n_graves > 0 ? graves_clear(t->db, r->id, &op->err)
                                                      : RC_OK;
}

enum rc apply_past(struct txn *t, struct op *op, struct feed_row *row, int64_t received,
                   bool *visible)
{
    const struct fetch_outcome *o = &op->as.outcome;
    struct feed_record *r = &row->rec;
    int64_t walk = 0;
    enum rc rc = RC_OK;

    op->result.next_archive = STR_NULL;
    if (o->has_document) {
        *visible |= r->complete != o->complete;
        r->complete = o->complete;
        if (o->past.records && !r->partial && o->past.newest != TIME_UNKNOWN) {
            /* a date ahead of time would hide what comes until then */
            r->harvest_to = earlier(o->past.newest, received);
            if (r->harvest_at != TIME_UNKNOWN) {
                walk = clock_now_us();
                if (r->harvest_to < r->harvest_at)
                    r->harvest_to = r->harvest_at;
            }
        }
        rc = lead_on(t, r, &o->past, INT64_MAX, walk, &op->err);
    }
    return rc == RC_OK ? look_ahead(t, op, r, received, visible) : rc;
}

enum rc apply_archive(struct txn *t, struct op *op)
{
    const struct fetch_outcome *o = &op->as.outcome;
    struct archive_row self;
    struct feed_row row;
    bool found, visible = false;
    int64_t wait_s;
    enum rc rc = feeds_load(t->db, o->feed_id, false, &op->arena, &row, &op->err);

    op->result.id = o->feed_id;
    op->result.next_archive = STR_NULL;
    if (rc == RC_OK)
        rc = archives_find(t->db, o->feed_id, o->archive, &self, &found, &op->err);
    if (rc != RC_OK || !found) /* not wanted any more */
        return rc;
    if (o->ok) {
        rc = apply_changes(t, op, &row, o->checked_at, false, &visible);
        if (rc == RC_OK && !o->past.whole && self.failures < BROKEN_READS - 1)
            rc = archives_failed(t->db, o->feed_id, o->archive,
                                 o->checked_at + (RETRY_S << self.failures), true, &op->err);
        else if (rc == RC_OK)
            rc = archives_read(t->db, o->feed_id, o->archive, &op->err);
        if (rc == RC_OK)
            rc = lead_on(t, &row.rec, &o->past, self.place, self.walk, &op->err);
    } else {
        wait_s = earlier((int64_t)RETRY_S << earlier(self.failures, 20), RETRY_MOST_S);
        rc =
            archives_failed(t->db, o->feed_id, o->archive, o->checked_at + wait_s, false, &op->err);
    }
    if (rc == RC_OK)
        rc = look_ahead(t, op, &row.rec, o->checked_at, &visible);
    if (rc != RC_OK)
        return rc;
    if (visible)
        row.rec.version = txn_next_version(t);
    txn_feed(t, row.rec.id);
    return feeds_save(t->db, &row, &op->err);
}
