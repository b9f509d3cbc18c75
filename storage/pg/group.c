/* storage/pg/group.c - see group.h. */
#include "storage/pg/group.h"

#include "base/assert.h"
#include "base/log.h"
#include "base/stats.h"
#include "storage/rows_places.h"
#include "storage/rows_subs.h"

/* The rows of one transaction that are held in memory: a group that wants more is divided. A single
 * operation may want more. */
#define ROWS_MOST 8192

/* When another node has just made the same row, the group is carried out again so many times: then
 * that row is found. */
#define CONFLICTS_MOST 5
#define SHORT_MOST 20 /* tries of one operation for which the database has no memory, 2 s in all   \
                       */

/* Say what the operations will look at. Returns how many of them are taken. */
static size_t gather(struct wants *w, struct op **ops, size_t n)
{
    size_t taken = 0;

    while (taken < n && (taken == 0 || (w->entries.n + w->subs.n + w->n_names < ROWS_MOST &&
                                        !op_looks_up(ops[taken]))))
        op_wants(ops[taken++], w);
    return taken;
}

static void forget(struct txn *t, struct op **ops, size_t n)
{
    txn_reset(t);
    txn_count_here(t);
    for (size_t i = 0; i < n; i++) {
        ops[i]->rc = RC_OK;
        ops[i]->err = (struct err)ERR_INIT;
        ops[i]->result = (struct store_result){0};
    }
}

/* A request for a feed itself; NULL: it is another operation. */
static const struct feed_check *check_of(const struct op *op)
{
    return op->kind == OP_POLL_OUTCOME     ? &op->as.poll.check
           : op->kind == OP_STREAM_OUTCOME ? &op->as.stream.check
           : op->kind == OP_LIST_OUTCOME   ? &op->as.list.check
                                           : NULL;
}

/* Does it show that the feed is the same as another one? */
static bool is_merge(struct txn *t, const struct op *op)
{
    const struct feed_check *c = check_of(op);
    const struct held_feed *f = c == NULL ? NULL : rows_feed(&t->rows, c->feed_id);
    const struct feed *feed = f == NULL ? NULL : &f->row.feed;

    return f != NULL && !f->is_missing && c->url.len > 0 && !str_eq(c->url, feed->url) &&
           rows_place(&t->rows, c->url, feed->credential)->owner != 0;
}

/* Has a feed been found by its URL that was gone when it was to be locked? */
static bool has_lost(struct txn *t)
{
    const struct held_place *p;
    void *it = NULL;

    while ((p = shelf_next(&t->rows.shelves[ROW_PLACE], &it)) != NULL) {
        int64_t id = place_find(&t->rows, p->url, p->credential);
        const struct held_feed *f = id == 0 ? NULL : rows_feed(&t->rows, id);

        if (f != NULL && f->is_missing)
            return true;
    }
    return false;
}

/* Load what the operations look at. */
static enum rc load(struct pg_writer *w, struct txn *t, struct op **ops, size_t n, struct err *err)
{
    struct wants wants = {.feeds = NULL};
    bool wants_more = true;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n; i++)
        op_wants(ops[i], &wants);
    while (rc == RC_OK && wants_more) {
        rc = pg_writer_load(w, &wants, &t->rows, err);
        wants_reset(&wants);
        wants_more = false;
        for (size_t i = 0; i < n && rc == RC_OK; i++)
            wants_more |= op_wants_more(ops[i], &t->rows, &wants);
    }
    wants_release(&wants);
    if (rc == RC_OK && has_lost(t))
        rc = err_set(err, RC_AGAIN, "a feed was merged meanwhile");
    return rc;
}

/* Carry one out. RC_OK: it is done, or has failed without a trace. */
static enum rc compute(struct pg_writer *w, struct txn *t, struct op *op, struct err *err)
{
    if (op_compute(t, op) && op->rc != RC_AGAIN && pg_fault(pg_writer_link(w)) == PG_FAULT_NONE)
        return RC_OK;
    return err_set(err, op->rc, "%s", op->err.text);
}

/* Carry them out; *n becomes the number of those that were. Two feeds become one by statements, and
 * feeds are deleted by them, so rows must be written and forgotten, and numbers are drawn only
 * once: such an operation has a transaction of its own. */
static enum rc compute_all(struct pg_writer *w, struct txn *t, struct op **ops, size_t *n,
                           struct err *err)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < *n && rc == RC_OK; i++) {
        bool is_alone = op_deletes_feeds(ops[i]) || is_merge(t, ops[i]);

        if (is_alone)
            *n = i == 0 ? 1 : i;
        if (i < *n)
            rc = compute(w, t, ops[i], err);
    }
    return rc;
}

static void settle(struct txn *t, struct op **ops, size_t n, const struct txn_base *base)
{
    txn_settle(t, base);
    for (size_t i = 0; i < n; i++)
        op_settle(ops[i], base);
}

/* Carry out the operations in one transaction, or the first ones of them; *n becomes their number.
 */
static enum rc attempt(struct pg_writer *w, struct txn *t, struct op **ops, size_t *n,
                       struct err *err)
{
    struct txn_base base;
    enum rc rc;

    forget(t, ops, *n);
    rc = load(w, t, ops, *n, err);
    if (rc == RC_OK)
        rc = compute_all(w, t, ops, n, err);
    if (rc == RC_OK)
        rc = pg_writer_commit(w, t, &base, err);
    if (rc == RC_OK)
        settle(t, ops, *n, &base);
    return rc;
}

/* The answer to the commit was lost: look whether it was done. */
static enum rc look(struct pg_writer *w, struct txn *t, struct op **ops, size_t n, bool *is_done,
                    struct err *err)
{
    struct txn_base base;
    enum rc rc = pg_writer_was_committed(w, t, is_done, &base, err);

    if (rc == RC_OK && *is_done)
        settle(t, ops, n, &base);
    return rc;
}

/* The database refuses what the operation would store. */
static void fail(struct txn *t, struct op *op, const struct err *why)
{
    stats_lasts(STAT_store_failing_seconds, true);
    txn_reset(t);
    op->rc = why->rc == RC_UNAVAILABLE || why->rc == RC_AGAIN ? why->rc : RC_IO;
    op->err = *why;
    op->result = (struct store_result){0};
    log_error("storage", "commit_failed", "operations=1 error=%s", log_quote(str_from(why->text)));
}

/* What becomes of the operations after an attempt. */
enum next {
    DONE,    /* they are stored, or the one that there is has failed */
    AGAIN,   /* carry them out again */
    UNKNOWN, /* find out whether they are stored */
    ALONE,   /* carry out each alone */
    STOPPED
};

static enum next after_fault(enum pg_fault fault, size_t n)
{
    switch (fault) {
    case PG_FAULT_STOPPED:
        return STOPPED;
    case PG_FAULT_LOST:
    case PG_FAULT_RETRY:
        return AGAIN;
    case PG_FAULT_UNSURE:
    case PG_FAULT_UNREPLICATED:
        return UNKNOWN;
    default:
        return n > 1 ? ALONE : DONE;
    }
}

/* The connection was lost: wait for another. */
static enum next reconnect(struct pg_writer *w, enum next next)
{
    struct pg_link *l = pg_writer_link(w);
    struct err err = ERR_INIT;

    while (!pg_is_connected(l)) {
        if (pg_reconnect(l, &err) != RC_OK)
            log_warn("storage", "database_away", "error=%s", log_quote(str_from(err.text)));
        if (pg_fault(l) == PG_FAULT_STOPPED)
            return STOPPED;
    }
    return next;
}

/* So often has a group met the same trouble. */
struct troubles {
    int n_conflicts, n_short;
};

/* What next? `rc`: of the last attempt or look. */
static enum next decide(struct pg_writer *w, enum rc rc, size_t n, struct troubles *so_far)
{
    enum pg_fault fault = pg_fault(pg_writer_link(w));

    if (rc == RC_OK)
        return DONE;
    if (rc == RC_AGAIN && fault == PG_FAULT_NONE)
        return AGAIN; /* what was read without a lock has changed meanwhile */
    if (fault == PG_FAULT_UNIQUE && ++so_far->n_conflicts <= CONFLICTS_MOST)
        return AGAIN;
    if (fault == PG_FAULT_SHORT && n == 1 && ++so_far->n_short < SHORT_MOST)
        return AGAIN;
    return after_fault(fault, n);
}

/* Carry out the operations in one transaction, or the first ones of them, however often it takes.
 * *n becomes their number. */
static enum next run(struct pg_writer *w, struct txn *t, struct op **ops, size_t *n,
                     struct err *err)
{
    enum next next = AGAIN;
    bool is_done = false;
    struct troubles troubles = {0, 0};

    while (next == AGAIN || next == UNKNOWN) {
        bool is_look = next == UNKNOWN;
        struct err why = ERR_INIT;
        enum rc rc = is_look ? look(w, t, ops, *n, &is_done, &why) : attempt(w, t, ops, n, &why);

        if (rc == RC_OK && is_look && !is_done) {
            next = AGAIN;
            continue;
        }
        next = decide(w, rc, *n, &troubles);
        if (rc == RC_OK || pg_fault(pg_writer_link(w)) == PG_FAULT_FULL)
            stats_lasts(STAT_store_full_seconds, rc != RC_OK);
        if (rc != RC_OK) {
            pg_writer_rollback(w);
            *err = why;
        }
        if (next == AGAIN && is_look)
            next = UNKNOWN;
        if (next == AGAIN || next == UNKNOWN)
            next = reconnect(w, next);
        else if (rc != RC_OK && next == DONE)
            fail(t, ops[0], &why);
    }
    return next;
}

enum rc pg_group_run(struct pg_writer *w, struct txn *t, struct op **ops, size_t n,
                     pg_group_done_fn *done, void *ctx, struct err *err)
{
    struct wants wants = {.feeds = NULL};
    size_t n_alone = 0; /* so many are carried out alone */
    enum next next = DONE;

    while (n > 0 && next != STOPPED) {
        size_t taken = n_alone > 0 ? 1 : gather(&wants, ops, n);
        struct err why = ERR_INIT;

        next = run(w, t, ops, &taken, &why);
        wants_reset(&wants);
        if (next == ALONE) {
            log_warn("storage", "commit_failed", "operations=%zu error=%s effect=one_by_one", taken,
                     log_quote(str_from(why.text)));
            n_alone = taken;
            continue;
        }
        if (next == STOPPED)
            break;
        done(ctx, t, ops, taken);
        ops += taken;
        n -= taken;
        n_alone -= n_alone > 0;
    }
    txn_reset(t);
    wants_release(&wants);
    return next == STOPPED ? err_set(err, RC_CLOSED, "stopped while the database was asked")
                           : RC_OK;
}
