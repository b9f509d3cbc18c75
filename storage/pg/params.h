/* storage/pg/params.h - the parameters of one statement, in PostgreSQL's binary form.
 *
 * A statement that writes or looks up many rows has one array a column and reads them by
 * unnest($1, $2, ...). The memory is kept from one statement to the next: pg_params_reset() forgets
 * the values only. PostgreSQL cannot keep U+0000 in text; a text that has it is remembered, and the
 * statement fails before it is sent. One thread.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

#define PG_PARAMS_MAX 96 /* of one statement; the widest table has fewer columns */

enum pg_kind {
#define KIND(name, letter, oid, array_oid) PG_##name,
#include "storage/pg/kinds.def"
#undef KIND
};

struct pg_param {
    enum pg_kind kind;
    bool is_array, is_null;
    bool has_null;    /* array: some of its elements is NULL */
    size_t n;         /* array: its elements */
    struct buf bytes; /* array: with the header, which is filled in at last */
};

struct pg_params {
    int n;
    bool has_nul; /* a text has U+0000 */
    struct pg_param at[PG_PARAMS_MAX];
};

/* Forget all values, keep the memory; free the memory. A struct that is all zeros is empty. */
void pg_params_reset(struct pg_params *p);
void pg_params_release(struct pg_params *p);

/* Append one parameter. A time of TIME_UNKNOWN and a null text are NULL. */
void pg_put_int(struct pg_params *p, int64_t n);
void pg_put_time(struct pg_params *p, int64_t at);
void pg_put_text(struct pg_params *p, struct str s);
void pg_put_bytes(struct pg_params *p, struct str s);
void pg_put_real(struct pg_params *p, double d);
void pg_put_bool(struct pg_params *p, bool b);

/* Append an empty array. It belongs to *p; add its elements before the statement is queued. */
struct pg_param *pg_put_array(struct pg_params *p, enum pg_kind kind);
void pg_add_int(struct pg_param *array, int64_t n);
void pg_add_time(struct pg_param *array, int64_t at);
void pg_add_text(struct pg_params *p, struct pg_param *array, struct str s);
void pg_add_bytes(struct pg_param *array, struct str s);
void pg_add_real(struct pg_param *array, double d);
void pg_add_bool(struct pg_param *array, bool b);
void pg_add_null(struct pg_param *array);

/* An array of all these numbers. */
void pg_put_ints(struct pg_params *p, const int64_t *n, size_t len);

/* The number of the parameter's type, and its bytes: null for NULL. */
unsigned pg_param_type(const struct pg_param *param);
struct str pg_param_bytes(struct pg_param *param);

/* True: nothing has passed a limit on the way. */
bool pg_params_fit(const struct pg_params *p);
