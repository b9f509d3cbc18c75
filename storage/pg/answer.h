/* storage/pg/answer.h - the rows that a statement gave, in PostgreSQL's binary form.
 *
 * pg_run() has compared the types of the columns with what the statement was said to give, and has
 * checked every array, so reading cannot fail. NULL reads as 0, TIME_UNKNOWN, null or false. Bytes
 * are borrowed until the next statement is queued on the connection; with an arena they are copied.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct pg_answer {
    size_t n;          /* rows */
    int64_t n_changed; /* rows that the statement wrote */
    void *result;      /* of libpq */
};

bool pg_is_null(const struct pg_answer *a, size_t row, int column);
int64_t pg_get_int(const struct pg_answer *a, size_t row, int column);
int64_t pg_get_time(const struct pg_answer *a, size_t row, int column);
double pg_get_real(const struct pg_answer *a, size_t row, int column);
bool pg_get_bool(const struct pg_answer *a, size_t row, int column);
struct str pg_get_bytes(const struct pg_answer *a, size_t row, int column);
struct str pg_get_str(const struct pg_answer *a, size_t row, int column, struct arena *arena);

/* Arrays of one dimension, in the arena; *n elements. Elements that are NULL read as above. */
int64_t *pg_get_ints(const struct pg_answer *a, size_t row, int column, struct arena *arena,
                     size_t *n);
double *pg_get_reals(const struct pg_answer *a, size_t row, int column, struct arena *arena,
                     size_t *n);
bool *pg_get_bools(const struct pg_answer *a, size_t row, int column, struct arena *arena,
                   size_t *n);
struct str *pg_get_strs(const struct pg_answer *a, size_t row, int column, struct arena *arena,
                        size_t *n);

/* Do the columns have these types (letters of storage/pg/kinds.def)? Are all arrays whole? For
 * pg_run(). RC_INTERNAL: no. */
enum rc pg_answer_check(const struct pg_answer *a, const char *columns, struct err *err) NODISCARD;
