/* storage/pg/columns.c - see columns.h. */
#include "storage/pg/columns.h"

#include "base/assert.h"
#include "base/clock.h"
#include "storage/pg/octets.h"
#include "storage/records.h"

static const struct {
    enum pg_kind kind;
    const char *type;
    const char
        *base; /* in the row `l`: what is added to a number that this transaction has drawn */
} kinds[] = {
    [PG_COLUMN_INT] = {PG_INT, "bigint", NULL},
    [PG_COLUMN_TIME] = {PG_INT, "bigint", NULL},
    [PG_COLUMN_TEXT] = {PG_TEXT, "text", NULL},
    [PG_COLUMN_EMPTY] = {PG_TEXT, "text", NULL},
    [PG_COLUMN_OCTETS] = {PG_TEXT, "text", NULL},
    [PG_COLUMN_DIGEST] = {PG_BYTES, "bytea", NULL},
    [PG_COLUMN_HASH] = {PG_BYTES, "bytea", NULL},
    [PG_COLUMN_SEQ] = {PG_INT, "bigint", "seq"},
    [PG_COLUMN_EVENT_TIME] = {PG_INT, "bigint", "at_us"},
    [PG_COLUMN_VERSION] = {PG_INT, "bigint", "version"},
    [PG_COLUMN_MARKS] = {PG_BYTES, "bytea", NULL},
};

#define DIGEST_LEN 16

/* ---- reading --------------------------------------------------------------------------------- */

static void set_int(const struct pg_column *c, char *at, int64_t n)
{
    int32_t narrow = (int32_t)n;

    switch (c->member) {
    case PG_INT64:
        memcpy(at, &n, sizeof n);
        break;
    case PG_INT32:
    case PG_UINT32:
        memcpy(at, &narrow, sizeof narrow);
        break;
    case PG_UINT8:
        *(uint8_t *)at = (uint8_t)n;
        break;
    case PG_TRUTH:
        *(bool *)at = n != 0;
        break;
    case PG_OTHER:
        ASSERT(c->member != PG_OTHER); /* the list names an integer */
    }
}

static void set_digest(char *at, struct str s)
{
    if (s.len == DIGEST_LEN)
        memcpy(at, s.ptr, DIGEST_LEN);
    else
        memset(at, 0, DIGEST_LEN);
}

static void get_value(const struct pg_answer *a, size_t row, int i, const struct pg_column *c,
                      struct arena *arena, void *to)
{
    AUTO(buf_release) struct buf octets = BUF_INIT(BUF_ANY);
    char *at = (char *)to + c->offset;
    struct str s;

    switch (c->kind) {
    case PG_COLUMN_TEXT:
    case PG_COLUMN_EMPTY:
        s = pg_get_bytes(a, row, i);
        s = s.len == 0 && c->kind == PG_COLUMN_EMPTY ? STR_NULL : str_dup(arena, s);
        memcpy(at, &s, sizeof s);
        break;
    case PG_COLUMN_OCTETS:
        s = str_dup(arena, pg_octets_of_text(pg_get_bytes(a, row, i), &octets));
        memcpy(at, &s, sizeof s);
        break;
    case PG_COLUMN_HASH:
        ((struct feed_row *)to)->feed.has_body_hash = !pg_is_null(a, row, i);
        set_digest(at, pg_get_bytes(a, row, i));
        break;
    case PG_COLUMN_DIGEST:
        set_digest(at, pg_get_bytes(a, row, i));
        break;
    case PG_COLUMN_MARKS:
        ((struct entry_row *)to)->has_marks =
            marks_unpack(pg_get_bytes(a, row, i), (struct entry_marks *)at);
        break;
    case PG_COLUMN_TIME:
        set_int(c, at, pg_get_time(a, row, i));
        break;
    case PG_COLUMN_INT:
    case PG_COLUMN_SEQ:
    case PG_COLUMN_EVENT_TIME:
    case PG_COLUMN_VERSION:
        set_int(c, at, pg_get_int(a, row, i));
        break;
    }
}

int pg_get_columns(const struct pg_answer *a, size_t row, int first,
                   const struct pg_column *columns, size_t n, struct arena *arena, void *to)
{
    for (size_t i = 0; i < n; i++)
        get_value(a, row, first + (int)i, &columns[i], arena, to);
    return first + (int)n;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int64_t int_of(const struct pg_column *c, const char *at)
{
    int64_t wide = 0;
    int32_t narrow;
    uint32_t natural;

    switch (c->member) {
    case PG_INT64:
        memcpy(&wide, at, sizeof wide);
        return wide;
    case PG_INT32:
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    case PG_UINT32:
        memcpy(&natural, at, sizeof natural);
        return natural;
    case PG_UINT8:
        return *(const uint8_t *)at;
    case PG_TRUTH:
        return *(const bool *)at;
    case PG_OTHER:
        ASSERT(c->member != PG_OTHER); /* the list names an integer */
    }
    return wide;
}

static void add_value(struct pg_params *p, struct pg_param *array, const struct pg_column *c,
                      const void *row)
{
    AUTO(buf_release) struct buf octets = BUF_INIT(BUF_ANY);
    const char *at = (const char *)row + c->offset;
    unsigned char packed[MARKS_BYTES];
    struct str s;

    switch (c->kind) {
    case PG_COLUMN_TEXT:
    case PG_COLUMN_EMPTY:
        memcpy(&s, at, sizeof s);
        pg_add_text(p, array, str_is_null(s) && c->kind == PG_COLUMN_EMPTY ? STR("") : s);
        break;
    case PG_COLUMN_OCTETS:
        memcpy(&s, at, sizeof s);
        pg_add_text(p, array, pg_text_of_octets(s, &octets));
        break;
    case PG_COLUMN_HASH:
        if (!((const struct feed_row *)row)->feed.has_body_hash)
            pg_add_null(array);
        else
            pg_add_bytes(array, str_of(at, DIGEST_LEN));
        break;
    case PG_COLUMN_DIGEST:
        pg_add_bytes(array, str_of(at, DIGEST_LEN));
        break;
    case PG_COLUMN_MARKS:
        marks_pack((const struct entry_marks *)at, packed);
        if (((const struct entry_row *)row)->has_marks)
            pg_add_bytes(array, str_of((const char *)packed, sizeof packed));
        else
            pg_add_null(array);
        break;
    case PG_COLUMN_TIME:
        pg_add_time(array, int_of(c, at));
        break;
    case PG_COLUMN_INT:
    case PG_COLUMN_SEQ:
    case PG_COLUMN_EVENT_TIME:
    case PG_COLUMN_VERSION:
        pg_add_int(array, int_of(c, at));
        break;
    }
}

void pg_put_columns(struct pg_params *p, const struct pg_column *columns, size_t n_columns,
                    const void *const *rows, size_t n)
{
    for (size_t i = 0; i < n_columns; i++) {
        struct pg_param *array = pg_put_array(p, kinds[columns[i].kind].kind);

        for (size_t row = 0; row < n; row++)
            add_value(p, array, &columns[i], rows[row]);
    }
}

/* ---- statements ------------------------------------------------------------------------------ */

void pg_sql_names(struct buf *sql, const struct pg_column *columns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_printf(sql, "%s%s", i == 0 ? "" : ", ", columns[i].name);
}

void pg_sql_arrays(struct buf *sql, int first, const struct pg_column *columns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_printf(sql, "%s$%d::%s[]", i == 0 ? "" : ", ", first + (int)i,
                   kinds[columns[i].kind].type);
}

_Static_assert(NUMBERS_HERE == 4611686018427387904, "number used in the statement below");

void pg_sql_values(struct buf *sql, const struct pg_column *columns, size_t n, bool assign)
{
    for (size_t i = 0; i < n; i++) {
        const char *name = columns[i].name, *base = kinds[columns[i].kind].base;

        buf_puts(sql, i == 0 ? "" : ", ");
        if (assign)
            buf_printf(sql, "%s = ", name);
        if (base == NULL)
            buf_printf(sql, "t.%s", name);
        else
            buf_printf(sql, "CASE WHEN t.%s < 4611686018427387904 THEN t.%s ELSE t.%s + l.%s END",
                       name, name, name, base);
    }
}
