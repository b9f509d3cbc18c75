/* storage/sqlite/transactions.c - transactions, the write-ahead log, and the facts in `meta`. */
#include "storage/sqlite/db_priv.h"

enum rc db_begin(struct db *db, struct err *err)
{
    return stmt_run(db, err, "BEGIN IMMEDIATE", "");
}

enum rc db_commit(struct db *db, struct err *err)
{
    return stmt_run(db, err, "COMMIT", "");
}

void db_rollback(struct db *db)
{
    if (db_in_transaction(db))
        sqlite3_exec(OWN(db)->sq, "ROLLBACK", NULL, NULL, NULL);
}

bool db_in_transaction(const struct db *db)
{
    return sqlite3_get_autocommit(OWN(db)->sq) == 0;
}

enum rc db_snapshot(struct db *db, struct err *err)
{
    enum rc rc = OWN(db)->n_snapshots > 0 ? RC_OK : stmt_run(db, err, "BEGIN", "");

    OWN(db)->n_snapshots += rc == RC_OK;
    return rc;
}

void db_snapshot_end(struct db *db)
{
    if (--OWN(db)->n_snapshots == 0 && stmt_run(db, NULL, "COMMIT", "") != RC_OK)
        db_rollback(db);
}

void db_shrink(struct db *db)
{
    sqlite3_db_release_memory(OWN(db)->sq);
}

bool db_checkpoint(struct db *db, int wait_ms)
{
    int got;

    sqlite3_busy_timeout(OWN(db)->sq, wait_ms);
    got = sqlite3_wal_checkpoint_v2(OWN(db)->sq, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    sqlite3_busy_timeout(OWN(db)->sq, BUSY_MS);
    return got == SQLITE_OK;
}

void db_move_pages(struct db *db)
{
    sqlite3_wal_checkpoint_v2(OWN(db)->sq, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

int db_log_pages(const struct db *db)
{
    return OWN(db)->log_pages;
}

bool db_log_grew(struct db *db)
{
    bool grew = OWN(db)->log_grew;

    OWN(db)->log_grew = false;
    return grew;
}

/* ---- meta ------------------------------------------------------------------------------------ */

static const char meta_get[] = "SELECT value FROM meta WHERE name = ?1";

enum rc db_meta_number(struct db *db, const char *name, int64_t *out, struct err *err)
{
    return stmt_number(db, stmt_start(db, err, meta_get, "s", str_from(name)), out, err);
}

enum rc db_meta_text(struct db *db, const char *name, struct arena *a, struct str *out,
                     struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err, meta_get, "s", str_from(name));

    return stmt_text(db, st, a, out, err);
}

enum rc db_meta_set_number(struct db *db, const char *name, int64_t n, struct err *err)
{
    return stmt_run(db, err,
                    "INSERT INTO meta (name, value) VALUES (?1, ?2)"
                    " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                    "si", str_from(name), n);
}
