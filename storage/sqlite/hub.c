/* storage/sqlite/hub.c - statements of the tables hub_leases and hub_intents. */
#include "storage/sqlite/hub.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "storage/hub_feeds.h"
#include "storage/sqlite/fields.h"
#include "storage/tables.h"

/* ---- intents --------------------------------------------------------------------------------- */

enum rc hub_intent_insert(struct db *db, struct hub_intent *in, struct err *err)
{
    AUTO(buf_release) struct buf feeds = BUF_INIT(BUF_ANY);
    enum rc rc;

    hub_feeds_write(&feeds, in);
    rc = stmt_run(db, err,
                  "INSERT INTO hub_intents (id, mode, topic, callback, credential, secret,"
                  " verify_token, reason, legacy, renews, waits, lease_s, feeds, protocol,"
                  " procedure, at_caller, owner, by_admin, filter, asks)"
                  " VALUES (nullif(?16, 0), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,"
                  " ?14, ?15, ?17, ?18, ?19, ?20)",
                  "ieessssiiiieisiiiiss", (int64_t)in->mode, in->topic, in->callback, in->credential,
                  in->secret, in->verify_token, in->reason, (int64_t)in->legacy,
                  (int64_t)in->renews, (int64_t)in->waits, in->lease_s, buf_view(&feeds),
                  (int64_t)in->protocol, in->procedure, (int64_t)in->at_caller, in->id, in->owner,
                  (int64_t)in->by_admin, in->filter, in->asks);
    if (rc == RC_OK)
        in->id = stmt_rowid(db);
    return rc;
}

static void read_intent(sqlite3_stmt *st, struct arena *a, struct hub_intent *row)
{
    int i = 0;

    *row = (struct hub_intent){.id = 0};
    HUB_INTENT(FIELD_READ)
    hub_feeds_read(a, col_str(st, i, a), row);
}

enum rc hub_intents_after(struct db *db, int64_t id, size_t max, struct arena *a,
                          struct hub_intent **out, size_t *n_out, struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err,
                   "SELECT " HUB_INTENT(
                       FIELD_SELECT) "feeds FROM hub_intents WHERE id > ?1 ORDER BY id LIMIT ?2",
                   "ii", id, (int64_t)max);
    int got = -1;

    *out = ARENA_ARRAY(a, struct hub_intent, max + 1);
    *n_out = 0;
    while (st != NULL && (got = stmt_next(db, st, err)) > 0)
        read_intent(st, a, &(*out)[(*n_out)++]);
    return got < 0 ? RC_IO : RC_OK;
}

enum rc hub_intent_delete(struct db *db, int64_t id, struct err *err)
{
    return stmt_run(db, err, "DELETE FROM hub_intents WHERE id = ?1", "i", id);
}

/* Read one number. TIME_UNKNOWN: it is NULL; 0: there is no row. */
static enum rc one_number(struct db *db, sqlite3_stmt *st, int64_t *out, struct err *err)
{
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    *out = 0;
    if (got > 0) {
        *out = col_time(st, 0);
        stmt_end(st);
    }
    return got < 0 ? RC_IO : RC_OK;
}

enum rc hub_intent_count(struct db *db, int64_t *n, struct err *err)
{
    return one_number(db, stmt_start(db, err, "SELECT count(*) FROM hub_intents", ""), n, err);
}

/* ---- leases ---------------------------------------------------------------------------------- */

enum rc hub_lease_load(struct db *db, int64_t sub_id, struct arena *a, struct hub_lease *row,
                       struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err, "SELECT " HUB_LEASE(FIELD_SELECT) "1 FROM hub_leases WHERE sub_id = ?1",
                   "i", sub_id);
    int got = st == NULL ? -1 : stmt_next(db, st, err);
    int i = 0;

    if (got < 0)
        return RC_IO;
    if (got == 0)
        return err_set(err, RC_NOT_FOUND, "subscription %" PRId64 " has no lease", sub_id);
    *row = (struct hub_lease){.sub_id = sub_id};
    HUB_LEASE(FIELD_READ)
    stmt_end(st);
    return RC_OK;
}

enum rc hub_lease_find(struct db *db, enum hub_protocol protocol, struct str callback,
                       struct str topic, int64_t *sub_id, struct err *err)
{
    return one_number(db,
                      stmt_start(db, err,
                                 "SELECT sub_id FROM hub_leases WHERE callback = ?1 AND topic = ?2"
                                 " AND protocol = ?3",
                                 "eei", callback, topic, (int64_t)protocol),
                      sub_id, err);
}

static enum rc collect(struct db *db, sqlite3_stmt *st, int64_t max, struct arena *a, int64_t **out,
                       size_t *n_out, struct err *err)
{
    int got = -1;

    *out = ARENA_ARRAY(a, int64_t, (size_t)max + 1);
    *n_out = 0;
    while (st != NULL && (got = stmt_next(db, st, err)) > 0)
        (*out)[(*n_out)++] = col_int(st, 0);
    return got < 0 ? RC_IO : RC_OK;
}

enum rc hub_leases_ended(struct db *db, int64_t now, int64_t max, struct arena *a, int64_t **out,
                         size_t *n_out, struct err *err)
{
    return collect(db,
                   stmt_start(db, err,
                              "SELECT sub_id FROM hub_leases WHERE ends_at <= ?1"
                              " ORDER BY ends_at LIMIT ?2",
                              "ii", now, max),
                   max, a, out, n_out, err);
}

enum rc hub_leases_to_renew(struct db *db, int64_t now, int64_t max, struct arena *a, int64_t **out,
                            size_t *n_out, struct err *err)
{
    return collect(db,
                   stmt_start(db, err,
                              "SELECT sub_id FROM hub_leases WHERE renew_at <= ?1"
                              " ORDER BY renew_at LIMIT ?2",
                              "ii", now, max),
                   max, a, out, n_out, err);
}

enum rc hub_next_due(struct db *db, int64_t now, int64_t *at, struct err *err)
{
    return one_number(db,
                      stmt_start(db, err,
                                 "SELECT min(at) FROM (SELECT min(ends_at) AS at FROM hub_leases"
                                 " WHERE ends_at > ?1 UNION ALL SELECT min(renew_at)"
                                 " FROM hub_leases WHERE renew_at > ?1)",
                                 "i", now),
                      at, err);
}
