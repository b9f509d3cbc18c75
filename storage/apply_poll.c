/* storage/apply_poll.c - stores the result of a request for the feed's own document. */
#include <string.h>

#include "storage/apply_parts.h"
#include "storage/rows_past.h"

/* The feed was a stream before, and is not any more. */
static void leave_stream(struct feed *feed)
{
    feed->cursor = STR_NULL;
    feed->cursor_state = 0;
}

/* The document has deletions, or is complete and leaves entries out. These were not compared with
 * this row, so the feed must be read whole next time. */
static void read_anew(struct checked *c)
{
    c->reads_anew = true;
    c->row.feed.etag = c->row.feed.last_modified = STR_NULL;
    c->row.feed.has_body_hash = false;
}

static enum rc take_document(struct txn *t, struct op *op, struct checked *c)
{
    const struct poll_outcome *o = &op->as.poll;
    struct arrived in = {.batch = &o->entries,
                         .by = ARRIVAL_POLL,
                         .at = c->at,
                         .metadata = o->past.metadata,
                         .complete = o->complete,
                         .merged = c->merged};
    enum rc rc;

    if (o->is_gap && !c->merged) {
        apply_event(t, c->row.feed.id, FEED_EVENT_GAP, STR_NULL);
        if (c->row.feed.gap_since == TIME_UNKNOWN)
            c->row.feed.gap_since = c->at;
    }
    rc = apply_document(t, op, &o->head, &o->identity, &in, c);

    if (c->merged && (o->complete || o->has_tombstones))
        read_anew(c);
    if (o->has_body_hash && !c->reads_anew) {
        c->row.feed.has_body_hash = true;
        memcpy(c->row.feed.body_hash, o->body_hash, sizeof o->body_hash);
    }
    if (!c->merged && !str_is_null(o->shown))
        c->row.feed.shown = o->shown;
    if (!str_is_null(o->left_cursor))
        leave_stream(&c->row.feed);
    return rc;
}

enum rc apply_poll(struct txn *t, struct op *op)
{
    const struct poll_outcome *o = &op->as.poll;
    struct checked c;
    enum rc rc = apply_check(t, op, &o->check, o->has_document, &c);
    struct feed *feed = &c.row.feed;

    if (rc != RC_OK || c.is_void)
        return rc;
    op->result.is_overtaken = !str_is_null(o->left_cursor) && !str_eq(o->left_cursor, feed->cursor);
    if (op->result.is_overtaken)
        op->result.next_cursor = str_dup(&op->arena, feed->cursor);
    else if (o->has_document)
        rc = take_document(t, op, &c);
    if (o->has_document) {
        c.visible |= feed->complete != o->complete;
        feed->complete = o->complete;
    }
    if (rc != RC_OK)
        return rc;
    if (o->has_document && o->is_gap && !c.merged && !o->past.metadata && !str_is_null(o->past.older))
        past_want_again(&t->rows, feed->id, o->past.older, apply_gap_walk(feed, 0));
    apply_past(t, op, &c.row, o->has_document ? &o->past : NULL, c.at, &c.visible);
    apply_quota(t, op, feed);
    apply_note_fetch(op, &o->check, o->is_gap, &c);
    apply_save(t, op, &c.row, c.visible);
    return RC_OK;
}
