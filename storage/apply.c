/* storage/apply.c - the table of the functions that carry out operations. */
#include "base/assert.h"
#include "base/mem.h"
#include "storage/op.h"
#include "storage/tables.h"

void op_free(struct op *op)
{
    if (op == NULL)
        return;
    arena_release(&op->arena);
    mem_free(op);
}

typedef enum rc apply_fn(struct txn *t, struct op *op);

static apply_fn *const appliers[OP_COUNT_] = {
    [OP_ADD_FEED] = apply_add_feed,
    [OP_SUBSCRIBE] = apply_subscribe,
    [OP_UNSUBSCRIBE] = apply_unsubscribe,
    [OP_PUSH_OUTCOMES] = apply_push_outcomes,
    [OP_CHANGE_SUB] = apply_change_sub,
    [OP_FOLLOW_SUB] = apply_follow_sub,
    [OP_DEAD_RETRY] = apply_dead_retry,
    [OP_DEAD_DROP] = apply_dead_drop,
    [OP_POLL_OUTCOME] = apply_poll,
    [OP_STREAM_OUTCOME] = apply_stream,
    [OP_ARCHIVE_OUTCOME] = apply_archive,
    [OP_DELIVERY_OUTCOME] = apply_delivery,
    [OP_CONTENT_OUTCOME] = apply_content,
    [OP_LIST_OUTCOME] = apply_list,
    [OP_TOUCH] = apply_touch,
    [OP_PING] = apply_ping,
    [OP_TAKE_BACK] = apply_take_back,
    [OP_WISH] = apply_wish,
    [OP_CHANGE_FEED] = apply_change_feed,
    [OP_FORGET] = apply_forget,
    [OP_FORGET_FEED] = apply_forget_feed,
    [OP_RETAIN] = apply_retain,
    [OP_END_ENTRIES] = apply_end_entries,
    [OP_HOST_REST] = apply_host_rest,
    [OP_UPSTREAM_PUT] = apply_upstream_put,
    [OP_UPSTREAM_DROP] = apply_upstream_drop,
    [OP_HUB_REQUEST] = apply_hub_request,
    [OP_HUB_SETTLE] = apply_hub_settle,
    [OP_HUB_SWEEP] = apply_hub_sweep,
    [OP_TOKEN_ADD] = apply_token_add,
    [OP_TOKEN_USED] = apply_token_used,
    [OP_TOKEN_DROP] = apply_token_drop,
    [OP_VIEW_PUT] = apply_view_put,
    [OP_VIEW_DROP] = apply_view_drop,
};

bool op_deletes_feeds(const struct op *op)
{
    return op->kind == OP_FORGET || op->kind == OP_FORGET_FEED || op->kind == OP_RETAIN ||
           op->kind == OP_END_ENTRIES;
}

bool op_brings_news(const struct op *op)
{
    return op->kind >= OP_POLL_OUTCOME && op->kind <= OP_CONTENT_OUTCOME;
}

enum rc op_apply(struct txn *t, struct op *op)
{
    ASSERT(op->kind < OP_COUNT_);
    return appliers[op->kind](t, op);
}

bool op_compute(struct txn *t, struct op *op)
{
    struct txn_mark notes = txn_mark(t);
    struct rows_mark rows = rows_mark(&t->rows);
    unsigned generation = t->rows.generation;

    op->rc = op_apply(t, op);
    if (op->rc == RC_OK)
        return true;
    /* RC_GONE: how far retention has taken something */
    op->result = (struct store_result){.last_seq = op->rc == RC_GONE ? op->result.last_seq : 0};
    if (t->rows.generation != generation || op->rc == RC_IO)
        return false;
    txn_undo(t, notes);
    rows_undo(&t->rows, rows);
    return true;
}

/* A member of a row, by its kind in the lists of storage/tables.h. */
#define SETTLE(kind, column, member) SETTLE_##kind(row->member)
#define SETTLE_SEQ(member) (member) = txn_number((member), base->seq);
#define SETTLE_EVENT_TIME(member) (member) = txn_number((member), base->at_us);
#define SETTLE_VERSION(member) (member) = txn_number((member), base->version);
#define SETTLE_INT(member)
#define SETTLE_TIME(member)
#define SETTLE_TEXT(member)
#define SETTLE_EMPTY(member)

void op_settle(struct op *op, const struct txn_base *base)
{
    struct subscription *row = (struct subscription *)op->result.sub;

    op->result.last_seq = txn_number(op->result.last_seq, base->seq);
    if (row != NULL) {
        SUB_SAVED(SETTLE)
    }
}
