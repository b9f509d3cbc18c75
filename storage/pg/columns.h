/* storage/pg/columns.h - rows of tables as C structs, by the lists of storage/tables.h.
 *
 * A list X(KIND, column, member) becomes an array of struct pg_column by PG_COLUMN. By it the
 * values of many rows become the arrays of a statement, and a row of an answer becomes a struct.
 * The words of statements come from the same list, so a column is named there alone.
 *
 *     #define PG_ROW struct entry_row
 *     static const struct pg_column saved[] = {ENTRY_SAVED(PG_COLUMN)};
 *     #undef PG_ROW
 *     static const char sql[] = "SELECT " ENTRY_SAVED(PG_WORD) "id FROM entries WHERE seq = $1";
 *
 *     pg_queue(l, sql, &p, ENTRY_SAVED(PG_LETTER) "i", &answer);
 *     ...
 *     at = pg_get_columns(&answer, 0, 0, PG_COLUMNS(saved), arena, &row);
 *     row.id = pg_get_int(&answer, 0, at);
 */
#pragma once

#include "storage/pg/answer.h"
#include "storage/pg/params.h"
#include "storage/tables.h"

/* The kinds of storage/tables.h, and MARKS: the marks of a struct entry_row, NULL when it has none.
 */
enum pg_column_kind {
    PG_COLUMN_INT,
    PG_COLUMN_TIME,
    PG_COLUMN_TEXT,
    PG_COLUMN_EMPTY,
    PG_COLUMN_OCTETS,
    PG_COLUMN_DIGEST,
    PG_COLUMN_HASH,
    PG_COLUMN_SEQ,
    PG_COLUMN_EVENT_TIME,
    PG_COLUMN_VERSION,
    PG_COLUMN_MARKS
};

enum pg_member { PG_INT64, PG_INT32, PG_UINT32, PG_UINT8, PG_TRUTH, PG_OTHER };

struct pg_column {
    const char *name;
    enum pg_column_kind kind;
    enum pg_member member; /* what integer the member is */
    size_t offset;         /* of the member in the struct */
};

#define PG_COLUMN(kind, column, place)                                                             \
    {#column, PG_COLUMN_##kind,                                                                    \
     _Generic(((PG_ROW *)NULL)->place, bool                                                        \
              : PG_TRUTH, uint8_t                                                                  \
              : PG_UINT8, int                                                                      \
              : PG_INT32, unsigned                                                                 \
              : PG_UINT32, int64_t                                                                 \
              : PG_INT64, default                                                                  \
              : PG_OTHER),                                                                         \
     offsetof(PG_ROW, place)},
#define PG_COLUMNS(array) (array), ARRAY_LEN(array)

/* "a, b, ": put something after the last one. A letter is the alias of the table. */
#define PG_WORD(kind, column, member) #column ", "
#define PG_WORD_A(kind, column, member) "a." #column ", "
#define PG_WORD_B(kind, column, member) "b." #column ", "
#define PG_WORD_C(kind, column, member) "c." #column ", "
#define PG_WORD_E(kind, column, member) "e." #column ", "
#define PG_WORD_F(kind, column, member) "f." #column ", "
#define PG_WORD_R(kind, column, member) "r." #column ", "
#define PG_WORD_U(kind, column, member) "u." #column ", "

/* The types of these columns in an answer (storage/pg/kinds.def). */
#define PG_LETTER(kind, column, member) PG_LETTER_##kind
#define PG_LETTER_INT "i"
#define PG_LETTER_TIME "i"
#define PG_LETTER_TEXT "s"
#define PG_LETTER_EMPTY "s"
#define PG_LETTER_OCTETS "s"
#define PG_LETTER_DIGEST "b"
#define PG_LETTER_HASH "b"
#define PG_LETTER_SEQ "i"
#define PG_LETTER_EVENT_TIME "i"
#define PG_LETTER_VERSION "i"
#define PG_LETTER_MARKS "b"

/* Read the columns from `first` on into the struct at `to`. Strings are copied into the arena.
 * Returns the column after the last. */
int pg_get_columns(const struct pg_answer *a, size_t row, int first,
                   const struct pg_column *columns, size_t n, struct arena *arena, void *to);

/* Append an array for each column, with its value in each of the rows. */
void pg_put_columns(struct pg_params *p, const struct pg_column *columns, size_t n_columns,
                    const void *const *rows, size_t n);

/* ---- statements that are made once, when the program starts ---------------------------------- */

/* "a, b" */
void pg_sql_names(struct buf *sql, const struct pg_column *columns, size_t n);

/* "$3::bigint[], $4::text[]"; `first`: the number of the first parameter. */
void pg_sql_arrays(struct buf *sql, int first, const struct pg_column *columns, size_t n);

/* "t.a, t.b", or with `assign` "a = t.a, b = t.b". Numbers from NUMBERS_HERE on become numbers of
 * the log by what is added to them: the columns seq, at_us and version of a row `l`, which is
 * PG_SQL_LOG in the FROM clause. */
void pg_sql_values(struct buf *sql, const struct pg_column *columns, size_t n, bool assign);

/* The row `l`, after the row of the log was updated. $1 to $3: the last seq, event time and version
 * that this transaction has drawn, as it counts them. */
#define PG_SQL_LOG                                                                                 \
    "(SELECT last_seq - $1 AS seq, last_at_us - $2 AS at_us, version - $3 AS version FROM log "    \
    "WHERE one) l"
