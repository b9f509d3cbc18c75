/* storage/pg/answer.c - reads values out of libpq's results. */
#include "storage/pg/answer.h"

#include <endian.h>
#include <libpq-fe.h>

#include "base/clock.h"

#define HEADER                                                                                     \
    20 /* of an array with elements: dimensions, has NULLs, type, elements, first index */

static const struct {
    char letter;
    Oid oid, array_oid;
    uint32_t len; /* 0: any */
} kinds[] = {
#define KIND(name, letter, oid, array_oid)                                                         \
    {letter, oid, array_oid, (oid) == 16 ? 1 : (oid) == 20 || (oid) == 701 ? 8 : 0},
#include "storage/pg/kinds.def"
#undef KIND
};

static uint32_t get32(const char *p)
{
    uint32_t n;

    memcpy(&n, p, sizeof n);
    return be32toh(n);
}

static uint64_t get64(const char *p)
{
    uint64_t n;

    memcpy(&n, p, sizeof n);
    return be64toh(n);
}

bool pg_is_null(const struct pg_answer *a, size_t row, int column)
{
    return PQgetisnull(a->result, (int)row, column) == 1;
}

struct str pg_get_bytes(const struct pg_answer *a, size_t row, int column)
{
    if (pg_is_null(a, row, column))
        return STR_NULL;
    return str_of(PQgetvalue(a->result, (int)row, column),
                  (size_t)PQgetlength(a->result, (int)row, column));
}

struct str pg_get_str(const struct pg_answer *a, size_t row, int column, struct arena *arena)
{
    return str_dup(arena, pg_get_bytes(a, row, column));
}

static int64_t int_of(struct str s)
{
    return s.len == 8 ? (int64_t)get64(s.ptr) : 0;
}

static double real_of(struct str s)
{
    uint64_t bits = s.len == 8 ? get64(s.ptr) : 0;
    double d;

    memcpy(&d, &bits, sizeof d);
    return d;
}

static bool bool_of(struct str s)
{
    return s.len == 1 && s.ptr[0] != 0;
}

int64_t pg_get_int(const struct pg_answer *a, size_t row, int column)
{
    return int_of(pg_get_bytes(a, row, column));
}

int64_t pg_get_time(const struct pg_answer *a, size_t row, int column)
{
    return pg_is_null(a, row, column) ? TIME_UNKNOWN : pg_get_int(a, row, column);
}

double pg_get_real(const struct pg_answer *a, size_t row, int column)
{
    return real_of(pg_get_bytes(a, row, column));
}

bool pg_get_bool(const struct pg_answer *a, size_t row, int column)
{
    return bool_of(pg_get_bytes(a, row, column));
}

/* The elements of an array: their number, and what comes after the header. */
static size_t elements(struct str *array)
{
    size_t n = array->len >= HEADER ? get32(array->ptr + 12) : 0;

    *array = str_slice(*array, HEADER, array->len);
    return n;
}

/* The next element; null: it is NULL. */
static struct str next_element(struct str *rest)
{
    uint32_t len = get32(rest->ptr);
    struct str element = STR_NULL;

    *rest = str_slice(*rest, 4, rest->len);
    if (len == UINT32_MAX)
        return element;
    element = str_slice(*rest, 0, len);
    *rest = str_slice(*rest, len, rest->len);
    return element;
}

int64_t *pg_get_ints(const struct pg_answer *a, size_t row, int column, struct arena *arena,
                     size_t *n)
{
    struct str rest = pg_get_bytes(a, row, column);
    size_t len = elements(&rest);
    int64_t *out = ARENA_ARRAY(arena, int64_t, len);

    for (size_t i = 0; i < len; i++)
        out[i] = int_of(next_element(&rest));
    *n = len;
    return out;
}

double *pg_get_reals(const struct pg_answer *a, size_t row, int column, struct arena *arena,
                     size_t *n)
{
    struct str rest = pg_get_bytes(a, row, column);
    size_t len = elements(&rest);
    double *out = ARENA_ARRAY(arena, double, len);

    for (size_t i = 0; i < len; i++)
        out[i] = real_of(next_element(&rest));
    *n = len;
    return out;
}

bool *pg_get_bools(const struct pg_answer *a, size_t row, int column, struct arena *arena,
                   size_t *n)
{
    struct str rest = pg_get_bytes(a, row, column);
    size_t len = elements(&rest);
    bool *out = ARENA_ARRAY(arena, bool, len);

    for (size_t i = 0; i < len; i++)
        out[i] = bool_of(next_element(&rest));
    *n = len;
    return out;
}

struct str *pg_get_strs(const struct pg_answer *a, size_t row, int column, struct arena *arena,
                        size_t *n)
{
    struct str rest = pg_get_bytes(a, row, column);
    size_t len = elements(&rest);
    struct str *out = ARENA_ARRAY(arena, struct str, len);

    for (size_t i = 0; i < len; i++)
        out[i] = str_dup(arena, next_element(&rest));
    *n = len;
    return out;
}

/* Every element is where the array says, and as long as its type. */
static bool is_whole(struct str array, uint32_t element_len)
{
    size_t n, at = HEADER;

    if (array.len < 12)
        return false;
    if (get32(array.ptr) == 0)
        return array.len == 12;
    if (get32(array.ptr) != 1 || array.len < HEADER)
        return false;
    for (n = get32(array.ptr + 12); n > 0 && array.len - at >= 4; n--) {
        uint32_t len = get32(array.ptr + at);

        at += 4;
        if (len == UINT32_MAX)
            continue;
        if (len > array.len - at || (element_len != 0 && len != element_len))
            return false;
        at += len;
    }
    return n == 0 && at == array.len;
}

static bool arrays_are_whole(const struct pg_answer *a, int column, uint32_t element_len)
{
    for (size_t row = 0; row < a->n; row++)
        if (!pg_is_null(a, row, column) && !is_whole(pg_get_bytes(a, row, column), element_len))
            return false;
    return true;
}

static bool is_as_said(const struct pg_answer *a, int column, char letter)
{
    Oid oid = PQftype(a->result, column);

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (letter == kinds[i].letter)
            return oid == kinds[i].oid;
        if (letter == kinds[i].letter - 'a' + 'A')
            return oid == kinds[i].array_oid && arrays_are_whole(a, column, kinds[i].len);
    }
    return false;
}

enum rc pg_answer_check(const struct pg_answer *a, const char *columns, struct err *err)
{
    int n = PQnfields(a->result);

    if ((size_t)n != strlen(columns))
        return err_set(err, RC_INTERNAL, "a statement gives %d columns, not %zu", n,
                       strlen(columns));
    for (int i = 0; i < n; i++)
        if (!is_as_said(a, i, columns[i]))
            return err_set(err, RC_INTERNAL, "column \"%s\" of a statement has the type %u",
                           PQfname(a->result, i), PQftype(a->result, i));
    return RC_OK;
}
