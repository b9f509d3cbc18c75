/* storage/sqlite/held_hub.c - see held_hub.h. */
#include "storage/sqlite/held_hub.h"

#include "base/clock.h"
#include "storage/rows_subs.h"
#include "storage/sqlite/fields.h"
#include "storage/sqlite/hub.h"
#include "storage/sqlite/subscriptions.h"
#include "storage/tables.h"

/* ---- reading --------------------------------------------------------------------------------- */

static enum rc load_intent(struct db *db, struct rows *r, int64_t id, struct err *err)
{
    struct hub_intent *found;
    struct held_intent *in;
    size_t n;
    enum rc rc;

    if (rows_intent(r, id) != NULL)
        return RC_OK;
    rc = hub_intents_after(db, id - 1, 1, &r->arena, &found, &n, err);
    if (rc != RC_OK)
        return rc;
    in = rows_add_intent(r, id);
    in->held.exists = in->held.is_stored = n > 0 && found->id == id;
    if (in->held.exists)
        in->row = *found;
    return RC_OK;
}

enum rc held_lease_load(struct db *db, struct rows *r, int64_t sub_id, struct err *err)
{
    struct arena *a = &r->arena;
    struct held_lease *lease;
    struct hub_lease *row;
    sqlite3_stmt *st;
    int got, i = 0;

    if (rows_lease(r, sub_id) != NULL)
        return RC_OK;
    st = stmt_start(db, err,
                    "SELECT " HUB_LEASE(FIELD_SELECT) "callback FROM hub_leases WHERE sub_id = ?1",
                    "i", sub_id);
    got = st == NULL ? -1 : stmt_next(db, st, err);
    if (got < 0)
        return RC_IO;
    lease = rows_add_lease(r, sub_id);
    lease->held.exists = lease->held.is_stored = got > 0;
    if (got == 0)
        return RC_OK;
    row = &lease->row;
    HUB_LEASE(FIELD_READ)
    lease->callback = col_str(st, i, a);
    stmt_end(st);
    return RC_OK;
}

static enum rc load_name(struct db *db, struct rows *r, const struct want_hub_name *w,
                         struct err *err)
{
    int64_t sub_id;
    enum rc rc;

    if (rows_hub_name(r, w->protocol, w->callback, w->topic) != NULL)
        return RC_OK;
    rc = hub_lease_find(db, w->protocol, w->callback, w->topic, &sub_id, err);
    if (rc == RC_OK)
        rows_add_hub_name(r, w->protocol, w->callback, w->topic)->sub_id = sub_id;
    return rc;
}

static enum rc load_due(struct db *db, struct rows *r, struct err *err)
{
    struct hub_due *due = ARENA_NEW(&r->arena, struct hub_due);
    enum rc rc;

    due->now = clock_now_s();
    rc = hub_leases_ended(db, due->now, HUB_SWEEP_MAX, &r->arena, &due->ended, &due->n_ended, err);
    if (rc == RC_OK)
        rc = hub_leases_to_renew(db, due->now, HUB_SWEEP_MAX, &r->arena, &due->to_renew,
                                 &due->n_to_renew, err);
    if (rc == RC_OK)
        rc = hub_next_due(db, due->now, &due->next_at, err);
    if (due->n_ended == HUB_SWEEP_MAX || due->n_to_renew == HUB_SWEEP_MAX)
        due->next_at = due->now; /* there may be more */
    r->hub_due = due;
    return rc;
}

static enum rc load_websubs(struct db *db, struct rows *r, int64_t feed_id, struct err *err)
{
    struct held_websubs *of;
    int64_t *ids;
    size_t n;
    enum rc rc;

    if (rows_websubs(r, feed_id) != NULL)
        return RC_OK;
    rc = subs_of_feed_by_sink(db, feed_id, STR(HUB_SINK), &r->arena, &ids, &n, err);
    if (rc != RC_OK)
        return rc;
    of = rows_add_websubs(r, feed_id);
    of->sub_ids = ids;
    of->n = n;
    return RC_OK;
}

enum rc held_hub_load(struct db *db, struct rows *r, const struct wants *w, struct err *err)
{
    enum rc rc = RC_OK;

    if (w->counts_intents)
        rc = hub_intent_count(db, &r->n_intents, err);
    for (size_t i = 0; i < w->n_intents && rc == RC_OK; i++)
        rc = load_intent(db, r, w->intents[i], err);
    for (size_t i = 0; i < w->n_hub_names && rc == RC_OK; i++)
        rc = load_name(db, r, &w->hub_names[i], err);
    for (size_t i = 0; i < w->n_websubs && rc == RC_OK; i++)
        rc = load_websubs(db, r, w->websubs[i], err);
    return rc == RC_OK && w->hub_due ? load_due(db, r, err) : rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* One that was made and settled in this transaction is stored for a moment, so that its id is not
 * given to another one. */
enum rc held_intent_write(struct db *db, struct held *held, struct err *err)
{
    struct held_intent *in = (struct held_intent *)held;
    enum rc rc = held->is_stored ? RC_OK : hub_intent_insert(db, &in->row, err);

    return rc == RC_OK && !held->exists ? hub_intent_delete(db, in->row.id, err) : rc;
}

/* The lease of a subscription that has ended went with it. */
enum rc held_lease_write(struct db *db, struct held *held, struct err *err)
{
    const struct held_lease *lease = (struct held_lease *)held;
    const struct hub_lease *row = &lease->row;

    if (!held->exists)
        return RC_OK;
    return stmt_run(db, err,
                    "INSERT OR REPLACE INTO hub_leases (" HUB_LEASE(
                        FIELD_SELECT) "callback) VALUES (" HUB_LEASE(FIELD_VALUE) "?)",
                    HUB_LEASE(FIELD_LETTER) "e", HUB_LEASE(FIELD_BIND) lease->callback);
}
