/* storage/sqlite/db_priv.h - what the files that make up a connection share: open.c, stmt.c,
 * migrations.c, transactions.c. */
#pragma once

#include "storage/engine.h"
#include "storage/sqlite/stmt.h"

#define BUSY_MS 5000
#define LOG_PAGES 3000 /* from so many on, pages of the write-ahead log are moved into the file */
#define DB_APPLICATION_ID 0x46656564 /* "Feed" */
#define N_SLOTS 256 /* a power of two, well above the number of statements in the sources */

struct sqlite_db {
    struct db db;
    sqlite3 *sq;
    int log_pages;   /* in the write-ahead log after the last commit */
    bool log_grew;   /* since db_log_grew() */
    int n_snapshots; /* so many calls of db_snapshot() have no db_snapshot_end() yet */
    struct sqlite_writer *writer; /* storage/sqlite/writer.c; NULL: this is not the storer's */
    size_t n_statements;
    struct stmt_slot {
        const char *sql;
        sqlite3_stmt *st;
    } slots[N_SLOTS]; /* prepared statements: open addressing by the text's address */
};

#define OWN(connection) ((struct sqlite_db *)(connection))

/* What readers may call (storage/sqlite/engine.c). */
extern const struct reads sqlite_reads;

/* Care of a file (storage/upkeep.h). */
extern const struct upkeep_calls sqlite_upkeep;

/* Open a connection as it is, with these flags of SQLite. RC_IO: it cannot be opened. */
enum rc db_open_file(const char *path, int flags, struct db **out, struct err *err) NODISCARD;

/* Set *err to the engine's words for what it just refused. Always RC_IO. */
enum rc db_fail(struct db *db, struct err *err);

/* Run statements that give no rows and are not worth keeping. */
enum rc db_script(struct db *db, const char *sql, struct err *err) NODISCARD;

/* The number that a statement gives which is not worth keeping. */
enum rc db_number(struct db *db, const char *sql, int64_t *out, struct err *err) NODISCARD;

/* Bring the schema up to date. RC_UNSUPPORTED: it is newer than this program. */
enum rc db_upgrade(struct db *db, struct err *err) NODISCARD;
