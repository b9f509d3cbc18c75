/* storage/sqlite/stmt.h - running statements, for the files of this folder only.
 *
 * A statement's text is a constant beside the function that runs it; its address is the key under
 * which it is kept prepared. Values are bound by a string of kinds, one letter a parameter:
 *   i  int64_t           t  int64_t, TIME_UNKNOWN is NULL
 *   s  struct str, null is NULL       e  struct str, null is ''
 *   h  const unsigned char *, 16 bytes, NULL is NULL
 *   b  struct str as bytes, null is NULL
 * Bound bytes must live until the statement has ended.
 */
#pragma once

#include <sqlite3.h>

#include "storage/sqlite/db.h"

/* Prepare (once) and bind. NULL: *err is set. */
sqlite3_stmt *stmt_start(struct db *db, struct err *err, const char *sql, const char *kinds, ...);

/* The next row: 1; the end: 0; RC_IO and *err set: -1. After 0 and -1 the statement has ended. */
int stmt_next(struct db *db, sqlite3_stmt *st, struct err *err);

/* End a statement before its last row was read. */
void stmt_end(sqlite3_stmt *st);

/* Start, run and end a statement that gives no rows. */
enum rc stmt_run(struct db *db, struct err *err, const char *sql, const char *kinds, ...) NODISCARD;

/* The number in the statement's first row; 0: it gives no row. `st` is from stmt_start(), and may
 * be NULL. */
enum rc stmt_number(struct db *db, sqlite3_stmt *st, int64_t *out, struct err *err) NODISCARD;

/* The same for a time (TIME_UNKNOWN: no row) and for a text in the arena (null: no row). stmt_any()
 * tells whether the statement gives a row. */
enum rc stmt_time(struct db *db, sqlite3_stmt *st, int64_t *out, struct err *err) NODISCARD;
enum rc stmt_text(struct db *db, sqlite3_stmt *st, struct arena *a, struct str *out,
                  struct err *err) NODISCARD;
enum rc stmt_any(struct db *db, sqlite3_stmt *st, bool *out, struct err *err) NODISCARD;

/* Rows changed by the last statement; rowid made by the last insert. */
int64_t stmt_changes(struct db *db);
int64_t stmt_rowid(struct db *db);

/* Columns. Text is copied into the arena; NULL is null. */
struct str col_str(sqlite3_stmt *st, int i, struct arena *a);
struct str col_bytes(sqlite3_stmt *st, int i); /* borrowed until the next row */
int64_t col_time(sqlite3_stmt *st, int i);
void col_hash(sqlite3_stmt *st, int i, unsigned char out[16]);

static inline int64_t col_int(sqlite3_stmt *st, int i)
{
    return sqlite3_column_int64(st, i);
}
