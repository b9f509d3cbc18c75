/* storage/pg/params.c - binary form: numbers are big-endian, an array has a header and then each
 * element with its length. (src/backend/utils/adt/arrayfuncs.c, array_recv) */
#include "storage/pg/params.h"

#include <endian.h>

#include "base/assert.h"
#include "base/clock.h"

#define PARAM_MAX ((size_t)512 * 1024 * 1024) /* the server takes no message of 1 GiB */
#define HEADER 20                             /* of an array with elements; an empty one has 12 */

static const struct {
    unsigned oid, array_oid;
} types[] = {
#define KIND(name, letter, oid, array_oid) {oid, array_oid},
#include "storage/pg/kinds.def"
#undef KIND
};

void pg_params_reset(struct pg_params *p)
{
    for (int i = 0; i < p->n; i++)
        buf_reset(&p->at[i].bytes);
    p->n = 0;
    p->has_nul = false;
}

void pg_params_release(struct pg_params *p)
{
    for (int i = 0; i < PG_PARAMS_MAX; i++)
        buf_release(&p->at[i].bytes);
    p->n = 0;
    p->has_nul = false;
}

static struct pg_param *append(struct pg_params *p, enum pg_kind kind)
{
    struct pg_param *param = &p->at[p->n];

    ASSERT(p->n < PG_PARAMS_MAX);
    p->n++;
    *param = (struct pg_param){.kind = kind, .bytes = param->bytes};
    param->bytes.max = PARAM_MAX;
    return param;
}

static void put32(struct buf *b, uint32_t n)
{
    uint32_t big = htobe32(n);

    buf_append(b, &big, sizeof big);
}

static void put64(struct buf *b, uint64_t n)
{
    uint64_t big = htobe64(n);

    buf_append(b, &big, sizeof big);
}

static void put_real(struct buf *b, double d)
{
    uint64_t bits;

    memcpy(&bits, &d, sizeof bits);
    put64(b, bits);
}

static bool has_nul(struct str s)
{
    return s.len > 0 && memchr(s.ptr, 0, s.len) != NULL;
}

void pg_put_int(struct pg_params *p, int64_t n)
{
    put64(&append(p, PG_INT)->bytes, (uint64_t)n);
}

void pg_put_time(struct pg_params *p, int64_t at)
{
    pg_put_int(p, at);
    p->at[p->n - 1].is_null = at == TIME_UNKNOWN;
}

void pg_put_text(struct pg_params *p, struct str s)
{
    struct pg_param *param = append(p, PG_TEXT);

    param->is_null = str_is_null(s);
    p->has_nul |= has_nul(s);
    buf_str(&param->bytes, s);
}

void pg_put_bytes(struct pg_params *p, struct str s)
{
    struct pg_param *param = append(p, PG_BYTES);

    param->is_null = str_is_null(s);
    buf_str(&param->bytes, s);
}

void pg_put_real(struct pg_params *p, double d)
{
    put_real(&append(p, PG_REAL)->bytes, d);
}

void pg_put_bool(struct pg_params *p, bool b)
{
    buf_putc(&append(p, PG_BOOL)->bytes, b ? 1 : 0);
}

struct pg_param *pg_put_array(struct pg_params *p, enum pg_kind kind)
{
    static const char empty[HEADER];
    struct pg_param *array = append(p, kind);

    array->is_array = true;
    buf_append(&array->bytes, empty, sizeof empty);
    return array;
}

static void add(struct pg_param *array, uint32_t len)
{
    array->n++;
    put32(&array->bytes, len);
}

void pg_add_int(struct pg_param *array, int64_t n)
{
    add(array, 8);
    put64(&array->bytes, (uint64_t)n);
}

void pg_add_null(struct pg_param *array)
{
    array->has_null = true;
    add(array, UINT32_MAX);
}

void pg_add_time(struct pg_param *array, int64_t at)
{
    if (at == TIME_UNKNOWN)
        pg_add_null(array);
    else
        pg_add_int(array, at);
}

void pg_add_bytes(struct pg_param *array, struct str s)
{
    if (str_is_null(s)) {
        pg_add_null(array);
        return;
    }
    if (s.len > PARAM_MAX) {
        array->bytes.overflow = true;
        return;
    }
    add(array, (uint32_t)s.len);
    buf_str(&array->bytes, s);
}

void pg_add_text(struct pg_params *p, struct pg_param *array, struct str s)
{
    p->has_nul |= has_nul(s);
    pg_add_bytes(array, s);
}

void pg_add_real(struct pg_param *array, double d)
{
    add(array, 8);
    put_real(&array->bytes, d);
}

void pg_add_bool(struct pg_param *array, bool b)
{
    add(array, 1);
    buf_putc(&array->bytes, b ? 1 : 0);
}

void pg_put_ints(struct pg_params *p, const int64_t *n, size_t len)
{
    struct pg_param *array = pg_put_array(p, PG_INT);

    for (size_t i = 0; i < len; i++)
        pg_add_int(array, n[i]);
}

unsigned pg_param_type(const struct pg_param *param)
{
    return param->is_array ? types[param->kind].array_oid : types[param->kind].oid;
}

static void fill_header(struct pg_param *array)
{
    uint32_t header[HEADER / 4] = {htobe32(array->n > 0), htobe32(array->has_null),
                                   htobe32(types[array->kind].oid), htobe32((uint32_t)array->n),
                                   htobe32(1)}; /* the first index */

    memcpy(array->bytes.ptr, header, HEADER);
}

struct str pg_param_bytes(struct pg_param *param)
{
    if (param->is_null)
        return STR_NULL;
    if (!param->is_array)
        return buf_view(&param->bytes);
    fill_header(param);
    return param->n == 0 ? str_of(param->bytes.ptr, 12) : buf_view(&param->bytes);
}

bool pg_params_fit(const struct pg_params *p)
{
    for (int i = 0; i < p->n; i++)
        if (!buf_ok(&p->at[i].bytes))
            return false;
    return true;
}
