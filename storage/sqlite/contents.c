/* storage/sqlite/contents.c - statements of the table contents. */
#include "storage/sqlite/contents.h"

#include "base/clock.h"
#include "storage/sqlite/stmt.h"

#define COLUMNS "entry_id, feed_id, state, form, n_gone, gone_at, try_at, failures"

_Static_assert(CONTENT_OPEN == 0, "number used in the statements below");

enum rc contents_put(struct db *db, int64_t entry_id, const struct content_row *row,
                     struct err *err)
{
    return stmt_run(db, err,
                    "INSERT OR REPLACE INTO contents (" COLUMNS ")"
                    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                    "iiiiitii", entry_id, row->feed_id, (int64_t)row->state, (int64_t)row->form,
                    (int64_t)row->n_gone, row->gone_at, row->try_at, (int64_t)row->failures);
}

/* Read the row of a statement that gives at most one row. `st` may be NULL. */
static enum rc read_one(struct db *db, sqlite3_stmt *st, struct content_row *out, struct err *err)
{
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    if (got < 0)
        return RC_IO;
    *out = (struct content_row){.entry_id = 0, .gone_at = TIME_UNKNOWN};
    if (got == 0)
        return RC_OK;
    *out = (struct content_row){.entry_id = col_int(st, 0),
                                .feed_id = col_int(st, 1),
                                .state = (enum content_state)col_int(st, 2),
                                .form = (int)col_int(st, 3),
                                .n_gone = (int)col_int(st, 4),
                                .gone_at = col_time(st, 5),
                                .try_at = col_int(st, 6),
                                .failures = (int)col_int(st, 7)};
    stmt_end(st);
    return RC_OK;
}

enum rc contents_find(struct db *db, int64_t entry_id, struct content_row *out, struct err *err)
{
    return read_one(
        db,
        stmt_start(db, err, "SELECT " COLUMNS " FROM contents WHERE entry_id = ?1", "i", entry_id),
        out, err);
}

enum rc contents_drop(struct db *db, int64_t entry_id, struct err *err)
{
    return stmt_run(db, err, "DELETE FROM contents WHERE entry_id = ?1", "i", entry_id);
}

enum rc contents_next(struct db *db, int64_t feed_id, int64_t now, struct content_row *out,
                      struct err *err)
{
    return read_one(db,
                    stmt_start(db, err,
                               "SELECT " COLUMNS " FROM contents INDEXED BY contents_open"
                               " WHERE state = 0 AND feed_id = ?1 AND try_at <= ?2"
                               " ORDER BY try_at, entry_id DESC LIMIT 1",
                               "ii", feed_id, now),
                    out, err);
}

enum rc contents_due(struct db *db, int64_t feed_id, int64_t *at, struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err,
                                  "SELECT try_at FROM contents INDEXED BY contents_open"
                                  " WHERE state = 0 AND feed_id = ?1 ORDER BY try_at LIMIT 1",
                                  "i", feed_id);

    return stmt_time(db, st, at, err);
}

enum rc contents_move(struct db *db, int64_t from, int64_t to, struct err *err)
{
    return stmt_run(db, err,
                    "UPDATE contents SET feed_id = ?2 WHERE entry_id IN"
                    " (SELECT id FROM entries WHERE feed_id = ?1)",
                    "ii", from, to);
}

enum rc contents_each_feed(struct db *db, contents_each_fn *fn, void *ctx, struct err *err)
{
    sqlite3_stmt *st = stmt_start(
        db, err, "SELECT DISTINCT feed_id FROM contents INDEXED BY contents_open WHERE state = 0",
        "");
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0)
        fn(ctx, col_int(st, 0));
    return got < 0 ? RC_IO : RC_OK;
}
