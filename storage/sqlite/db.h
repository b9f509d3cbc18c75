/* storage/sqlite/db.h - a connection: opening, migrations, transactions, the facts in `meta`.
 *
 * The storer has the only connection that writes; each reader thread has one that only reads. A
 * connection belongs to one thread at a time. Statements are prepared once per connection and kept.
 * Errors of the engine are RC_IO with its words; credentials are never part of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct db;
struct sqlite3;

/* Open the file for writing, and bring its schema up to date; an empty file becomes a database.
 * RC_UNSUPPORTED: it belongs to a newer Feedmill or to another program. */
enum rc db_open_writer(const char *path, struct db **out, struct err *err) NODISCARD;

/* Open it for reading only. A writer has opened it before. */
enum rc db_open_reader(const char *path, struct db **out, struct err *err) NODISCARD;

/* Read the whole file and look for damage (PRAGMA quick_check): seconds for each gigabyte.
 * RC_IO: damaged, and *err says where. A file that is not a database passes. */
enum rc db_check(const char *path, struct err *err) NODISCARD;

/* Close and set to NULL. NULL is allowed. */
void db_close(struct db **dbp);

/* Bring the file from its version to `target`, with one transaction for each step. RC_UNSUPPORTED:
 * the file is newer than `target`, or the list has no migration for its version. */
struct migration;
enum rc db_migrate(struct db *db, const struct migration *list, size_t n, int target,
                   struct err *err) NODISCARD;

/* Writing: one transaction at a time. db_rollback() never fails. */
enum rc db_begin(struct db *db, struct err *err) NODISCARD;
enum rc db_commit(struct db *db, struct err *err) NODISCARD;
void db_rollback(struct db *db);

/* False when the engine itself has given up the transaction (disk full). */
bool db_in_transaction(const struct db *db);

/* Reading: hold one snapshot over several statements. Inside a snapshot, another one is the same;
 * it ends with the outer one. */
enum rc db_snapshot(struct db *db, struct err *err) NODISCARD;
void db_snapshot_end(struct db *db);

/* Free the pages that are kept in memory. */
void db_shrink(struct db *db);

/* Move the write-ahead log into the file and empty it. Waits at most `wait_ms` for readers that
 * need older pages. False: readers still need them. This is not an error; the next call may
 * succeed. */
bool db_checkpoint(struct db *db, int wait_ms);

/* Move those pages that no reader needs. Waits for nobody. */
void db_move_pages(struct db *db);

/* Pages in the write-ahead log after the last commit. Beyond a few thousand, those that no reader
 * needs are moved into the file, but the log starts anew only at a moment without readers. */
int db_log_pages(const struct db *db);

/* Whether something was committed since the last call. */
bool db_log_grew(struct db *db);

/* The facts in `meta`. A missing number is 0, a missing text is null. */
enum rc db_meta_number(struct db *db, const char *name, int64_t *out, struct err *err) NODISCARD;
enum rc db_meta_text(struct db *db, const char *name, struct arena *a, struct str *out,
                     struct err *err) NODISCARD;
enum rc db_meta_set_number(struct db *db, const char *name, int64_t n, struct err *err) NODISCARD;

/* The engine's handle, for tests. */
struct sqlite3 *db_handle(struct db *db);
