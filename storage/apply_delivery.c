/* storage/apply_delivery.c - stores the entries that an upstream hub has delivered, and that the
 * hub works. The head, validators and times of the feed stay those of the last poll. */
#include "storage/apply_parts.h"
#include "storage/sqlite/upstreams.h"

enum rc apply_delivery(struct txn *t, struct op *op)
{
    const struct delivery_outcome *o = &op->as.delivery;
    struct arrived in = {.batch = &o->entries,
                         .by = o->has_piece ? ARRIVAL_STREAM : ARRIVAL_DELIVERY,
                         .at = o->received_at,
                         .metadata = o->metadata};
    bool visible = false;
    struct feed_row row;
    enum rc rc = apply_load(t, op, o->feed_id, &o->loaded, false, &row);

    if (rc == RC_OK && o->has_piece && apply_is_overtaken(&o->piece, &row.feed)) {
        op->result.is_overtaken = true;
        return RC_OK;
    }
    if (rc == RC_OK)
        rc = apply_entries(t, op, &row, &in, &visible);
    if (rc == RC_OK && o->identity.is_set)
        rc = feeds_save_identity(t->db, row.feed.id, &o->identity.policy, &op->err);
    if (rc == RC_OK)
        rc = upstreams_delivered(t->db, row.feed.id, o->received_at, &op->err);
    if (rc == RC_OK)
        txn_edited(t, row.feed.id);
    if (rc != RC_OK || (!visible && !o->has_piece))
        return rc;
    if (o->has_piece)
        apply_advance(&o->piece, &row.feed);
    return apply_save(t, op, &row, visible);
}
