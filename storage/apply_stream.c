/* storage/apply_stream.c - stores the result of a request for a piece of a Smart Feed.
 *
 * The entries and the new cursor are stored in one transaction, so a crash does not lose or repeat
 * entries. They are stored only if the feed's cursor is still the one at which the piece begins, so
 * that two pieces cannot overlap.
 */
#include "storage/apply_parts.h"

bool apply_is_overtaken(const struct doc_piece *piece, const struct feed *feed)
{
    return !str_eq(piece->from, feed->cursor); /* null and empty are equal */
}

/* A cursor that is refused twice in a row proves that the end of this stream cannot be
 * reached. */
void apply_advance(const struct doc_piece *piece, struct feed *feed)
{
    bool is_new = str_is_null(feed->cursor);
    unsigned first = is_new ? CURSOR_FIRST : feed->cursor_state & CURSOR_FIRST;
    unsigned again = feed->cursor_state & CURSOR_AGAIN;

    if (piece->is_refused)
        feed->cursor_state =
            (feed->cursor_state & CURSOR_REFUSED ? 0 : first | CURSOR_AGAIN) | CURSOR_REFUSED;
    else
        feed->cursor_state = piece->more ? first | again : 0;
    feed->cursor = piece->cursor;
    if (str_is_null(feed->cursor))
        feed->cursor_state = 0;
    else
        feed->has_body_hash = false; /* the next request is for another piece, with another body */
}

/* The server has dropped what followed our cursor (HTTP 410), and some of that may not have been
 * read. A server that refuses each cursor says nothing by it. */
static bool is_gap(const struct stream_outcome *o, const struct checked *c)
{
    return o->piece.is_lost && !c->merged && (c->row.feed.cursor_state & CURSOR_REFUSED) == 0;
}

static void note_gap(struct txn *t, struct checked *c)
{
    apply_event(t, c->row.feed.id, FEED_EVENT_GAP, STR_NULL);
    if (c->row.feed.gap_since == TIME_UNKNOWN)
        c->row.feed.gap_since = c->at;
}

enum rc apply_stream(struct txn *t, struct op *op)
{
    const struct stream_outcome *o = &op->as.stream;
    struct checked c;
    enum rc rc = apply_check(t, op, &o->check, o->has_document, &c);
    struct feed *feed = &c.row.feed;
    struct arrived in = {.batch = &o->entries, .by = ARRIVAL_STREAM};
    bool has_gap = false;

    if (rc != RC_OK || c.is_void)
        return rc;
    in.at = c.at;
    in.merged = c.merged;
    op->result.is_overtaken = o->has_document && apply_is_overtaken(&o->piece, feed);
    if (o->has_document && !op->result.is_overtaken) {
        if ((has_gap = is_gap(o, &c)))
            note_gap(t, &c);
        rc = apply_document(t, op, &o->head, &o->identity, &in, &c);
        apply_advance(&o->piece, feed);
    }
    if (o->check.raw_html != feed->raw_html && !str_is_null(feed->cursor))
        feed->cursor = STR(""); /* the stream is read again, with the other setting */
    else if (op->result.is_overtaken || (o->has_document && o->piece.more))
        op->result.next_cursor = str_dup(&op->arena, feed->cursor);
    if (o->has_document) { /* a piece is never the complete feed */
        c.visible |= feed->complete;
        feed->complete = false;
    }
    if (rc != RC_OK)
        return rc;
    apply_past(t, op, &c.row, NULL, c.at, &c.visible);
    apply_note_fetch(op, &o->check, has_gap, &c);
    apply_save(t, op, &c.row, c.visible);
    return RC_OK;
}
