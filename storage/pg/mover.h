/* storage/pg/mover.h - what copying and comparing have in common: both sides, the rows of a table
 * as cells, and what a log has beside its rows. For migrate.c, mover_rows.c and mover_facts.c; one
 * thread. */
#pragma once

#include <sqlite3.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "storage/pg/link.h"
#include "storage/pg/migrate.h"
#include "storage/pg/params.h"
#include "storage/pg/uri.h"
#include "storage/sqlite/db.h"
#include "storage/sqlite/file.h"

#define COLUMNS_MAX 96

struct moved_table {
    const char *name, *key;
};

struct column {
    const char *name;
    char letter; /* of storage/pg/kinds.def: i, s, b */
    bool is_body;
    bool is_octets; /* text that need not be UTF-8 */
};

struct cell {
    bool is_null;
    int64_t n;
    struct str s;
};

struct mover {
    struct arena arena; /* texts of statements live as long as the link */
    const char *path;
    struct db_file *file;
    struct db *db;
    sqlite3 *sq;
    struct pg_uri *uri;
    struct pg_link *link;
    struct pg_params params;
    migrate_fn *fn;
    void *ctx;
    const struct moved_table *table; /* the one that is moved */
    struct column columns[COLUMNS_MAX];
    size_t n_columns;
    int64_t n_rows;
    char digest[16]; /* of the rows so far */
    /* rows that go into PostgreSQL together */
    struct pg_param *arrays[COLUMNS_MAX];
    size_t n_waiting, n_bytes;
    const char *insert;
    /* the statement by which rows go into the file */
    sqlite3_stmt *into;
};

/* RC_IO, with what SQLite says. */
enum rc mover_fail_file(struct mover *m, struct err *err);

/* The first number that a query of the file finds; 0: it finds none. */
enum rc mover_file_number(struct mover *m, const char *sql, int64_t *out,
                          struct err *err) NODISCARD;

/* ---- rows: mover_rows.c ---------------------------------------------------------------------- */

/* All tables, each after those to which it refers. */
const struct moved_table *mover_tables(size_t *n);

/* Make it the one that is moved, with the columns that the file has. */
enum rc mover_take_table(struct mover *m, const struct moved_table *t, struct err *err) NODISCARD;

/* Call `fn` with each row of the table, in the order of the key. The cells are valid during the
 * call. Another rc than RC_OK ends it. */
typedef enum rc mover_row_fn(struct mover *m, const struct cell *cells, struct err *err);
enum rc mover_each_of_file(struct mover *m, mover_row_fn *fn, struct err *err) NODISCARD;
enum rc mover_each_of_pg(struct mover *m, mover_row_fn *fn, struct err *err) NODISCARD;

/* Copy all rows of the table. */
enum rc mover_table_into_pg(struct mover *m, struct err *err) NODISCARD;
enum rc mover_table_into_file(struct mover *m, struct err *err) NODISCARD;

/* ---- what a log has beside its rows: mover_facts.c ------------------------------------------- */

#define COUNTED 5 /* tables whose ids are never given out again */

struct facts {
    struct str log_id, secret;
    int64_t last_seq, last_at_us, version;
    int64_t ids[COUNTED]; /* the last one that was given out; 0: none */
};

enum rc facts_of_file(struct mover *m, struct facts *out, struct err *err) NODISCARD;
enum rc facts_of_pg(struct mover *m, struct facts *out, struct err *err) NODISCARD;

/* The rows must be there: the ids that come next follow from them, too. */
enum rc facts_into_pg(struct mover *m, const struct facts *f, struct err *err) NODISCARD;
enum rc facts_into_file(struct mover *m, const struct facts *f, struct err *err) NODISCARD;

bool facts_equal(const struct facts *x, const struct facts *y);
