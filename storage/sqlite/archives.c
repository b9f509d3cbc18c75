/* storage/sqlite/archives.c - statements of the table archives, and of tombstones. */
#include "storage/sqlite/archives.h"

#include "base/clock.h"
#include "storage/sqlite/stmt.h"

/* The state of a row (see schema.sql), as parts of the statements below. */
#define UNREAD "0"
#define READ "1"
#define TOO_MANY "2" /* noted, but never requested */
#define CUT "3"      /* it was read without its end, and is read once more */

enum rc archives_want(struct db *db, int64_t feed_id, struct str url, int64_t walk, struct err *err)
{
    return stmt_run(db, err,
                    "INSERT INTO archives (feed_id, url, state, place, walk)"
                    " SELECT ?1, ?2, iif(n < ?4, " UNREAD ", " TOO_MANY "), last + 1, ?3 FROM"
                    " (SELECT count(*) AS n, coalesce(max(place), 0) AS last FROM archives"
                    " WHERE feed_id = ?1)"
                    " WHERE n <= ?4 OR EXISTS"
                    " (SELECT 1 FROM archives WHERE feed_id = ?1 AND url = ?2)"
                    " ON CONFLICT (feed_id, url) DO UPDATE SET state = " UNREAD
                    ", place = excluded.place,"
                    " walk = excluded.walk, try_at = 0, failures = 0"
                    " WHERE archives.state = " READ " AND ?3 <> 0 AND archives.walk <> ?3",
                    "isii", feed_id, url, walk, (int64_t)ARCHIVES_MAX);
}

enum rc archives_find(struct db *db, int64_t feed_id, struct str url, struct archive_row *out,
                      bool *found, struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err,
                   "SELECT place, walk, failures FROM archives WHERE feed_id = ?1 AND url = ?2"
                   " AND state IN (" UNREAD ", " CUT ")",
                   "is", feed_id, url);
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    if (got < 0)
        return RC_IO;
    *found = got > 0;
    if (got > 0) {
        *out = (struct archive_row){col_int(st, 0), col_int(st, 1), (int)col_int(st, 2)};
        stmt_end(st);
    }
    return RC_OK;
}

enum rc archives_read(struct db *db, int64_t feed_id, struct str url, struct err *err)
{
    return stmt_run(db, err, "UPDATE archives SET state = " READ " WHERE feed_id = ?1 AND url = ?2",
                    "is", feed_id, url);
}

enum rc archives_failed(struct db *db, int64_t feed_id, struct str url, int64_t try_at,
                        bool was_cut, struct err *err)
{
    return stmt_run(db, err,
                    "UPDATE archives SET try_at = ?3, failures = failures + 1,"
                    " state = iif(?4, " CUT ", state) WHERE feed_id = ?1 AND url = ?2",
                    "isii", feed_id, url, try_at, (int64_t)was_cut);
}

enum rc archives_next(struct db *db, int64_t feed_id, int64_t now, struct arena *a, struct str *url,
                      struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err,
                   "SELECT url FROM archives INDEXED BY archives_place"
                   " WHERE feed_id = ?1 AND state IN (" UNREAD ", " CUT ") AND try_at <= ?2"
                   " ORDER BY place DESC LIMIT 1",
                   "ii", feed_id, now);

    return stmt_text(db, st, a, url, err);
}

enum rc archives_pending(struct db *db, int64_t feed_id, bool *out, struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err,
                   "SELECT 1 FROM archives INDEXED BY archives_place"
                   " WHERE feed_id = ?1 AND state IN (" UNREAD ", " TOO_MANY ", " CUT ") LIMIT 1",
                   "i", feed_id);

    return stmt_any(db, st, out, err);
}

enum rc archives_forget(struct db *db, int64_t feed_id, int64_t order, struct err *err)
{
    return stmt_run(db, err,
                    "DELETE FROM archives WHERE feed_id = ?1 AND place < ?2"
                    " AND (state IN (" UNREAD ", " TOO_MANY ") OR (state = " CUT " AND ?3))",
                    "iii", feed_id, order, (int64_t)(order == INT64_MAX));
}

enum rc archives_move(struct db *db, int64_t from, int64_t to, struct err *err)
{
    enum rc rc = stmt_run(db, err,
                          "INSERT OR IGNORE INTO archives"
                          " (feed_id, url, state, place, walk, try_at, failures)"
                          " SELECT ?2, url, state, place, walk, try_at, failures FROM archives"
                          " WHERE feed_id = ?1",
                          "ii", from, to);

    if (rc == RC_OK)
        rc = stmt_run(db, err,
                      "INSERT OR IGNORE INTO graves (feed_id, uid, when_us)"
                      " SELECT ?2, uid, when_us FROM graves WHERE feed_id = ?1",
                      "ii", from, to);
    return rc;
}

enum rc tombstones_put(struct db *db, int64_t feed_id, struct str uid, int64_t when_us,
                       struct err *err)
{
    return stmt_run(db, err,
                    "INSERT INTO graves (feed_id, uid, when_us) VALUES (?1, ?2, ?3)"
                    " ON CONFLICT (feed_id, uid) DO UPDATE SET when_us = excluded.when_us"
                    " WHERE excluded.when_us > graves.when_us",
                    "iei", feed_id, uid, when_us);
}

enum rc tombstones_count(struct db *db, int64_t feed_id, int64_t *n, struct err *err)
{
    return stmt_number(
        db, stmt_start(db, err, "SELECT count(*) FROM graves WHERE feed_id = ?1", "i", feed_id), n,
        err);
}

enum rc tombstones_find(struct db *db, int64_t feed_id, struct str uid, int64_t *when_us,
                        struct err *err)
{
    sqlite3_stmt *st = stmt_start(
        db, err, "SELECT when_us FROM graves WHERE feed_id = ?1 AND uid = ?2", "ie", feed_id, uid);

    return stmt_time(db, st, when_us, err);
}

enum rc tombstones_clear(struct db *db, int64_t feed_id, struct err *err)
{
    return stmt_run(db, err, "DELETE FROM graves WHERE feed_id = ?1", "i", feed_id);
}
