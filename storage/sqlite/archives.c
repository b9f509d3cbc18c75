/* storage/sqlite/archives.c - statements of the table archives, and of tombstones. */
#include "storage/sqlite/archives.h"

#include "base/clock.h"
#include "storage/sqlite/fields.h"
#include "storage/tables.h"

static void read_archive(sqlite3_stmt *st, int64_t feed_id, struct arena *a,
                         struct archive_row *row)
{
    int i = 0;

    *row = (struct archive_row){.feed_id = feed_id};
    ARCHIVE(FIELD_READ)
}

_Static_assert(ARCHIVE_READ == 1, "number used in the next statements");
#define ARCHIVES "SELECT " ARCHIVE(FIELD_SELECT) "feed_id FROM archives"
#define OF_STATE ARCHIVES " INDEXED BY archives_place WHERE feed_id = ?1 AND state"

/* There is one term for the states below ARCHIVE_READ and one for those above: for a list of states
 * SQLite would build a table of them each time. */
enum rc archives_each_open(struct db *db, int64_t feed_id, struct arena *a, archives_each_fn *fn,
                           void *ctx, struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err, OF_STATE " < 1 UNION ALL " OF_STATE " > 1", "i", feed_id);
    struct archive_row row;
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        read_archive(st, feed_id, a, &row);
        fn(ctx, &row);
    }
    return got < 0 ? RC_IO : RC_OK;
}

enum rc archives_find(struct db *db, int64_t feed_id, struct str url, struct arena *a,
                      struct archive_row *out, bool *found, struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err, ARCHIVES " WHERE feed_id = ?1 AND url = ?2", "is", feed_id, url);
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    if (got < 0)
        return RC_IO;
    *found = got > 0;
    if (got > 0) {
        read_archive(st, feed_id, a, out);
        stmt_end(st);
    }
    return RC_OK;
}

enum rc archives_count(struct db *db, int64_t feed_id, int64_t *n, int64_t *last_read,
                       struct err *err)
{
    enum rc rc = stmt_number(
        db, stmt_start(db, err, "SELECT count(*) FROM archives WHERE feed_id = ?1", "i", feed_id),
        n, err);

    return rc != RC_OK
               ? rc
               : stmt_number(db,
                             stmt_start(db, err,
                                        "SELECT place FROM archives INDEXED BY archives_place"
                                        " WHERE feed_id = ?1 AND state = 1"
                                        " ORDER BY place DESC LIMIT 1",
                                        "i", feed_id),
                             last_read, err);
}

enum rc archives_put(struct db *db, const struct archive_row *row, struct err *err)
{
    return stmt_run(db, err,
                    "INSERT OR REPLACE INTO archives (" ARCHIVE(
                        FIELD_SELECT) "feed_id) VALUES (" ARCHIVE(FIELD_VALUE) "?)",
                    ARCHIVE(FIELD_LETTER) "i", ARCHIVE(FIELD_BIND) row->feed_id);
}

enum rc archives_drop(struct db *db, int64_t feed_id, struct str url, struct err *err)
{
    return stmt_run(db, err, "DELETE FROM archives WHERE feed_id = ?1 AND url = ?2", "is", feed_id,
                    url);
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
                    "INSERT OR REPLACE INTO graves (feed_id, uid, when_us) VALUES (?1, ?2, ?3)",
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
