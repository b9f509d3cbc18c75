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
#include "storage/rows_past.h"

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

void apply_lead_on(struct txn *t, const struct feed *feed, const struct doc_past *past,
                   int64_t order, int64_t walk)
{
    int64_t n = rows_past(&t->rows, feed->id)->n_graves;

    for (size_t i = 0; i < past->n_deletions && n < TOMBSTONES_MAX; i++, n++)
        past_bury(&t->rows, feed->id, past->deletions[i].uid, past->deletions[i].when_us);
    if (is_enough(feed, past))
        return;
    if (!str_is_null(past->older))
        past_want(&t->rows, feed->id, past->older, walk);
    else if (past->whole)
        past_forget(&t->rows, feed->id, order);
}

void apply_look_ahead(struct txn *t, struct op *op, struct feed *feed, bool has_deletions,
                      int64_t at, bool *visible)
{
    bool before = feed->partial, pending = past_is_pending(&t->rows, feed->id, STR_NULL);
    const struct held_archive *next = past_next(&t->rows, feed->id, at);

    op->result.next_archive = next == NULL ? STR_NULL : str_dup(&op->arena, next->row.url);
    feed->partial = pending || (feed->cursor_state & CURSOR_FIRST) != 0;
    *visible |= feed->partial != before;
    if (feed->partial)
        return;
    feed->harvest_at = feed->harvest_to;
    if (before || has_deletions)
        past_drop_graves(&t->rows, feed->id);
}

/* The documents that were wanted since the gap began have the time of it as their walk, below 0; those
 * of a harvest have the time at which it began. */
int64_t apply_gap_walk(const struct feed *feed, int64_t walk)
{
    return walk > 0 || feed->gap_since == TIME_UNKNOWN ? walk : -feed->gap_since * 1000000;
}

static bool is_since_gap(const struct feed *feed, int64_t walk)
{
    return walk > 0 ? walk >= feed->gap_since * 1000000 : walk == apply_gap_walk(feed, 0);
}

/* The chain reaches back at an entry that was known before the gap or is older than all, or at a document
 * that was read before the gap. All newer documents of it were read before this one, unless one of them
 * failed; but then it is pending. */
bool apply_fills_gap(struct rows *r, const struct feed *feed, int64_t walk,
                     const struct doc_past *past)
{
    if (feed->gap_since == TIME_UNKNOWN || !is_since_gap(feed, walk))
        return false;
    return past->reaches_back || is_enough(feed, past) ||
           (!str_is_null(past->older) && past_was_read(r, feed->id, past->older, walk));
}

void apply_close_gap(struct txn *t, struct feed *feed, const struct doc_past *past)
{
    if (past_is_pending(&t->rows, feed->id, past->older))
        return;
    feed->gap_since = TIME_UNKNOWN;
    if (feed->next_reason == REASON_GAP) /* the period is a whole one again */
        apply_reschedule(t, feed);
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

void apply_past(struct txn *t, struct op *op, struct feed_row *row, const struct doc_past *past,
                int64_t at, bool *visible)
{
    if (past != NULL)
        apply_lead_on(t, &row->feed, past, INT64_MAX, 
                      apply_gap_walk(&row->feed, begin_walk(&row->feed, past, at)));
    apply_look_ahead(t, op, &row->feed, past != NULL && past->n_deletions > 0, at, visible);
}
