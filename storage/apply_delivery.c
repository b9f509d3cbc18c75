/* storage/apply_delivery.c - stores the entries that an upstream hub has delivered, and that the
 * hub works. The head, validators and times of the feed stay those of the last poll. */
#include "base/clock.h"
#include "storage/apply_parts.h"

/* A hub does not deliver them once more, and the publisher's document may show them no longer when
 * the feed may bring more: say so, once a day. */
static void tell_loss(struct txn *t, struct op *op, int64_t feed_id)
{
    if (op->result.n_left_out == 0 || quotas_has_told(t->quotas, feed_id, clock_now_s()))
        return;
    op->result.tells_loss = true;
    apply_event(t, feed_id, FEED_EVENT_GAP, STR_NULL);
}

enum rc apply_delivery(struct txn *t, struct op *op)
{
    const struct delivery_outcome *o = &op->as.delivery;
    struct arrived in = {.batch = &o->entries,
                         .by = o->has_piece ? ARRIVAL_STREAM : ARRIVAL_DELIVERY,
                         .at = o->received_at,
                         .metadata = o->metadata};
    bool visible = false;
    struct feed_row row;
    struct held_upstream news = {.feed_id = o->feed_id, .delivered_at = o->received_at};
    enum rc rc = apply_load(t, op, o->feed_id, false, &row);

    if (rc == RC_OK && o->has_piece && apply_is_overtaken(&o->piece, &row.feed)) {
        op->result.is_overtaken = true;
        return RC_OK;
    }
    if (rc == RC_OK)
        rc = apply_entries(t, op, &row, &in, &visible);
    if (rc != RC_OK)
        return rc;
    if (o->identity.is_set) {
        row.feed.identity = o->identity.policy;
        rows_save_identity(&t->rows, &row);
    }
    rows_add_upstream(&t->rows, &news);
    txn_edited(t, row.feed.id);
    if (!visible && !o->has_piece && op->result.n_left_out == 0)
        return RC_OK;
    if (o->has_piece)
        apply_advance(&o->piece, &row.feed);
    tell_loss(t, op, row.feed.id);
    apply_quota(t, op, &row.feed);
    apply_save(t, op, &row, visible);
    return RC_OK;
}
