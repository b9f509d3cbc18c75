/* storage/apply_push.c - what became of deliveries: positions, failures, the delivery log, dead
 * letters. */
#include <inttypes.h>

#include "base/clock.h"
#include "storage/apply_parts.h"
#include "storage/rows_subs.h"
#include "storage/wants.h"

/* Deliveries after a refusal are small, up to the end of what was refused. */
static void set_part(const struct push_outcome *o, struct subscription *sub)
{
    if (o->part_max != 0)
        sub->part_max = o->part_max;
    if (o->part_until > sub->part_until)
        sub->part_until = o->part_until;
    if (sub->position >= sub->part_until)
        sub->part_max = sub->part_until = 0;
}

/* Somebody has set the position since. Has another node called the endpoint after that? Its next try has
 * the id of the last one only if the chain stays (HOOK-02). */
static bool is_overtaken(const struct push_outcome *o, const struct subscription *now)
{
    return now->chain.seq != o->from.chain_seq ||
           (now->n_failures != 0 && now->n_failures != o->from.n_failures);
}

bool push_is_stale(const struct push_outcome *o, const struct subscription *now)
{
    if (!o->from.is_known)
        return false;
    if (now->generation != o->generation)
        return is_overtaken(o, now);
    if (now->position != o->from.position)
        return true;
    return o->failed && o->n_entries == 0 && now->n_failures != o->from.n_failures &&
           str_eq(o->endpoint, now->endpoint);
}

/* Position and chain, as far as nobody has set them since. */
static void move(const struct push_outcome *o, struct subscription *sub)
{
    if (o->chain.seq != 0) /* it was delivered, wherever the position is now */
        sub->chain = o->chain;
    if (sub->generation != o->generation)
        return;
    if (o->position != 0)
        sub->position = o->position;
    sub->refused_seq = o->refused_seq;
    sub->n_refusals = o->n_refusals;
    set_part(o, sub);
}

/* State and failures of the endpoint. */
static void judge(const struct push_outcome *o, struct subscription *sub)
{
    if (sub->state != SUB_PAUSED)
        sub->state = o->state;
    sub->next_try_at = o->next_try_at;
    if (!o->failed || o->n_entries > 0) {
        sub->n_failures = 0;
        sub->failing_since = TIME_UNKNOWN;
    }
    if (o->failed) {
        sub->n_failures++;
        if (sub->failing_since == TIME_UNKNOWN)
            sub->failing_since = clock_now_s();
    }
    sub->last_error = o->error;
}

/* What becomes of dead letters. After a replay, what was delivered may have some. (wants.c says the
 * same of the outcome alone, so that they are loaded.) */
static enum rc keep_dead(struct txn *t, const struct push_outcome *o, struct held_sub *sub,
                         struct err *err)
{
    bool is_again = o->generation > 0 && o->chain.seq != 0;
    enum rc rc;

    if (o->dead.id == 0 && !o->is_dead && !is_again)
        return RC_OK;
    rc = txn_hold_sub(t, &(struct want_sub){o->sub_id, .with_dead = true}, &sub, err);
    if (rc != RC_OK)
        return rc;
    if (o->dead.id == 0 && o->is_dead)
        rows_dead_add(&t->rows, sub, &o->dead);
    else if (o->dead.id == 0)
        rows_dead_delivered(&t->rows, sub, o->note.first.seq, o->chain.seq);
    else if (o->is_dead)
        rows_dead_refused(&t->rows, sub, &o->dead);
    else if (!o->failed)
        rows_dead_drop(&t->rows, sub, o->dead.id);
    return RC_OK;
}

/* The endpoint was called, whatever it means now, so the log of deliveries has it. */
static void note_stale(struct txn *t, const struct push_outcome *o, struct held_sub *sub)
{
    if (!o->has_note)
        return;
    rows_change(&t->rows, ROW_SUB, sub, SUB_WRITES_PROGRESS);
    rows_add_note(&t->rows, sub, &o->note);
}

static enum rc apply_outcome(struct txn *t, const struct push_outcome *o, struct op *op,
                             enum push_fate *fate)
{
    struct held_sub *sub;
    enum sub_state before;
    enum rc rc = txn_hold_sub(t, &(struct want_sub){.id = o->sub_id}, &sub, &op->err);

    *fate = rc == RC_OK && !sub->held.exists ? PUSH_GONE : PUSH_WRITTEN;
    if (rc != RC_OK || *fate == PUSH_GONE)
        return rc;
    if (push_is_stale(o, &sub->row)) {
        *fate = PUSH_STALE;
        note_stale(t, o, sub);
        return RC_OK;
    }
    if (o->ended)
        return apply_sub_end(t, o->sub_id, STR_NULL, &op->arena, &op->err);
    rows_change(&t->rows, ROW_SUB, sub, SUB_WRITES_PROGRESS);
    before = sub->row.state;
    move(o, &sub->row);
    sub->row.n_delivered += o->n_entries;
    sub->row.n_faults += o->fault;
    if (str_is_null(o->endpoint) || str_eq(o->endpoint, sub->row.endpoint))
        judge(o, &sub->row);
    if (sub->row.state != before)
        txn_sub(t, sub->row.id);
    if (o->has_note)
        rows_add_note(&t->rows, sub, &o->note);
    return keep_dead(t, o, sub, &op->err);
}

enum rc apply_push_outcomes(struct txn *t, struct op *op)
{
    enum push_fate *fates = ARENA_ARRAY(&op->arena, enum push_fate, op->as.push.n + 1);
    enum rc rc = RC_OK;

    for (size_t i = 0; i < op->as.push.n && rc == RC_OK; i++)
        rc = apply_outcome(t, &op->as.push.outcomes[i], op, &fates[i]);
    op->result.fates = fates;
    return rc;
}

/* ---- dead letters ---------------------------------------------------------------------------- */

typedef size_t dead_fn(struct rows *r, struct held_sub *sub, int64_t id);

static enum rc change_dead(struct txn *t, struct op *op, dead_fn *fn)
{
    int64_t sub_id = op->as.dead.sub_id, id = op->as.dead.id;
    struct held_sub *sub;
    enum rc rc = txn_hold_sub(t, &(struct want_sub){sub_id, .with_dead = true}, &sub, &op->err);

    if (rc != RC_OK)
        return rc;
    if (sub->held.exists && fn(&t->rows, sub, id) == 0 && id != 0)
        return err_set(&op->err, RC_NOT_FOUND,
                       "subscription %" PRId64 " has no dead letter %" PRId64, sub_id, id);
    txn_sub(t, sub_id);
    return apply_show_sub(t, op, sub_id);
}

enum rc apply_dead_retry(struct txn *t, struct op *op)
{
    return change_dead(t, op, rows_dead_want);
}

enum rc apply_dead_drop(struct txn *t, struct op *op)
{
    return change_dead(t, op, rows_dead_drop);
}
