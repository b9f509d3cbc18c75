/* storage/sqlite/db.h - one connection: opening, migrations, transactions, facts of the database.
 *
 * The storer has the only writing connection, each reader thread a read-only one; a connection
 * belongs to one thread at a time. Statements are prepared once per connection and kept. Errors of
 * the engine are RC_IO with its words; credentials are never part of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct db;
struct sqlite3;

/* Open the file for writing, making it (mode 0600) when it is missing, and bring its schema up to
 * date. RC_UNSUPPORTED: of a newer Feedmill, or not ours. */
enum rc db_open_writer(const char *path, struct db **out, struct err *err) NODISCARD;

/* Open it for reading only; a writer has opened it before. */
enum rc db_open_reader(const char *path, struct db **out, struct err *err) NODISCARD;

/* Close and set to NULL. NULL is allowed. */
void db_close(struct db **dbp);

/* What brings a file of schema version `from` to version `to`. */
struct migration {
    int from, to;
    const char *sql;
};

/* Walk the file from its version to `target`, each step in a transaction. RC_UNSUPPORTED when the
 * file is newer than `target`, or no row leads on. */
enum rc db_migrate(struct db *db, const struct migration *list, size_t n, int target,
                   struct err *err) NODISCARD;

/* Writing: one transaction at a time, savepoints inside it. db_rollback() never fails. */
enum rc db_begin(struct db *db, struct err *err) NODISCARD;
enum rc db_commit(struct db *db, struct err *err) NODISCARD;
void db_rollback(struct db *db);
enum rc db_savepoint(struct db *db, struct err *err) NODISCARD;
enum rc db_release(struct db *db, struct err *err) NODISCARD;
enum rc db_undo(struct db *db, struct err *err) NODISCARD;

/* False when the engine itself has given up the transaction (disk full). */
bool db_in_transaction(const struct db *db);

/* Reading: hold one snapshot over several statements. */
enum rc db_snapshot(struct db *db, struct err *err) NODISCARD;
void db_snapshot_end(struct db *db);

/* Move the write-ahead log into the file and empty it, waiting at most `wait_ms` for readers of
 * what is older. False when they are in the way; that is no error, the next call may succeed. */
bool db_checkpoint(struct db *db, int wait_ms);

/* Pages in the write-ahead log after the last commit. Beyond a few thousand each commit moves what
 * no reader needs, but the log starts anew only in a moment when there is none. */
int db_log_pages(const struct db *db);

/* The facts in `meta`. A missing number is 0, a missing text is null. */
enum rc db_meta_number(struct db *db, const char *name, int64_t *out, struct err *err) NODISCARD;
enum rc db_meta_text(struct db *db, const char *name, struct arena *a, struct str *out,
                     struct err *err) NODISCARD;
enum rc db_meta_set_number(struct db *db, const char *name, int64_t n, struct err *err) NODISCARD;

/* The engine's handle, for tests. */
struct sqlite3 *db_handle(struct db *db);
