/* storage/sqlite/upstreams.c - statements of the table upstreams. */
#include "storage/sqlite/upstreams.h"

#include <string.h>

#include "storage/sqlite/fields.h"
#include "storage/tables.h"

enum rc upstreams_take_current(struct db *db, int64_t feed_id, struct str token, struct err *err)
{
    return stmt_run(db, err,
                    "UPDATE upstreams SET is_current = 0"
                    " WHERE feed_id = ?1 AND is_current = 1 AND token <> ?2",
                    "is", feed_id, token);
}

enum rc upstreams_put(struct db *db, const struct upstream *u, struct err *err)
{
    return stmt_run(
        db, err,
        "INSERT INTO upstreams (token, base_url, secret, hub, topic, feed_id, is_current,"
        " from_page, for_subs, state, lease_end_at, next_at, ended_at, n_errors, error, protocol,"
        " procedure)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"
        " ON CONFLICT (token) DO UPDATE SET base_url = excluded.base_url,"
        " secret = excluded.secret, hub = excluded.hub, topic = excluded.topic,"
        " feed_id = excluded.feed_id, is_current = excluded.is_current,"
        " from_page = excluded.from_page, for_subs = excluded.for_subs, state = excluded.state,"
        " lease_end_at = excluded.lease_end_at, next_at = excluded.next_at,"
        " ended_at = excluded.ended_at, n_errors = excluded.n_errors, error = excluded.error,"
        " protocol = excluded.protocol, procedure = excluded.procedure",
        "seeeeiiiiitttisis", u->token, u->base_url, u->secret, u->hub, u->topic, u->feed_id,
        (int64_t)u->is_current, (int64_t)u->from_page, (int64_t)u->for_subs, (int64_t)u->state,
        u->lease_end_at, u->next_at, u->ended_at, (int64_t)u->n_errors, u->error,
        (int64_t)u->protocol, u->procedure);
}

enum rc upstreams_set_trust(struct db *db, const struct upstream *u, struct err *err)
{
    return stmt_run(db, err, "UPDATE upstreams SET trust = ?2, delivered_at = ?3 WHERE token = ?1",
                    "sit", u->token, (int64_t)u->trust, u->delivered_at);
}

enum rc upstreams_load(struct db *db, struct str token, struct arena *a, struct upstream *row,
                       bool *found, struct err *err)
{
    sqlite3_stmt *st = stmt_start(
        db, err, "SELECT " UPSTREAM(FIELD_SELECT) "1 FROM upstreams WHERE token = ?1", "s", token);
    int got = st == NULL ? -1 : stmt_next(db, st, err), i = 0;

    if (got < 0)
        return RC_IO;
    *found = got > 0;
    if (!*found)
        return RC_OK;
    UPSTREAM(FIELD_READ)
    stmt_end(st);
    return RC_OK;
}

enum rc upstreams_of(struct db *db, const struct str *tokens, size_t n_tokens, struct arena *a,
                     struct upstream **out, size_t *n_out, struct err *err)
{
    struct upstream *list = ARENA_ARRAY(a, struct upstream, n_tokens + 1);
    enum rc rc = RC_OK;
    bool found;
    size_t n = 0;

    for (size_t i = 0; i < n_tokens && rc == RC_OK; i++) {
        list[n] = (struct upstream){.token = STR_NULL};
        rc = upstreams_load(db, tokens[i], a, &list[n], &found, err);
        n += rc == RC_OK && found;
    }
    *out = list;
    *n_out = n;
    return rc;
}

enum rc upstreams_drop(struct db *db, struct str token, struct err *err)
{
    return stmt_run(db, err, "DELETE FROM upstreams WHERE token = ?1", "s", token);
}

enum rc upstreams_delivered(struct db *db, int64_t feed_id, int64_t now, struct err *err)
{
    return stmt_run(db, err,
                    "UPDATE upstreams SET trust = ?3, delivered_at = ?2"
                    " WHERE feed_id = ?1 AND is_current = 1",
                    "iii", feed_id, now, (int64_t)TRUST_FULL);
}

enum rc upstreams_announced(struct db *db, int64_t feed_id, int64_t now, struct err *err)
{
    return stmt_run(db, err,
                    "UPDATE upstreams SET delivered_at = ?2 WHERE feed_id = ?1 AND is_current = 1",
                    "ii", feed_id, now);
}

enum rc upstreams_trust(struct db *db, int64_t feed_id, int was, int trust, struct err *err)
{
    return stmt_run(db, err,
                    "UPDATE upstreams SET trust = ?3"
                    " WHERE feed_id = ?1 AND is_current = 1 AND trust = ?2",
                    "iii", feed_id, (int64_t)was, (int64_t)trust);
}

enum rc upstreams_all(struct db *db, struct arena *a, struct upstream **out, size_t *n_out,
                      struct err *err)
{
    sqlite3_stmt *st = stmt_start(
        db, err, "SELECT " UPSTREAM(FIELD_SELECT) "1 FROM upstreams ORDER BY is_current, token",
        "");
    struct upstream *list = NULL, *grown, *row;
    size_t n = 0, cap = 0;
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        int i = 0;

        if (n == cap) {
            cap = cap == 0 ? 64 : cap * 2;
            grown = ARENA_ARRAY(a, struct upstream, cap);
            if (n > 0)
                memcpy(grown, list, n * sizeof *list);
            list = grown;
        }
        row = &list[n++];
        *row = (struct upstream){.token = STR_NULL};
        UPSTREAM(FIELD_READ)
    }
    *out = list;
    *n_out = n;
    return got < 0 ? RC_IO : RC_OK;
}
