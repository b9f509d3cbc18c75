/* model/value.c - the object form. A dict has a few dozen members at most, so a search goes through
 * all of them. */
#include "model/value.h"

#include "base/assert.h"

static struct value *new_value(struct arena *a, enum value_kind kind)
{
    struct value *v = arena_alloc(a, sizeof *v);

    memset(v, 0, sizeof *v);
    v->kind = kind;
    return v;
}

/* Scalars that occur very often are shared constants, so that they take no memory: null, the bools,
 * and the numbers in dates, of which the day of the year is the highest. */
#define INT_1(n)                                                                                   \
    {                                                                                              \
        .kind = VAL_INT, .i = (n)                                                                  \
    }
#define INT_4(n) INT_1(n), INT_1((n) + 1), INT_1((n) + 2), INT_1((n) + 3)
#define INT_16(n) INT_4(n), INT_4((n) + 4), INT_4((n) + 8), INT_4((n) + 12)
#define INT_64(n) INT_16(n), INT_16((n) + 16), INT_16((n) + 32), INT_16((n) + 48)
static const struct value ints[] = {INT_64(0),   INT_64(64),  INT_64(128),
                                    INT_64(192), INT_64(256), INT_64(320)};
static const struct value bools[] = {{.kind = VAL_BOOL, .b = false}, {.kind = VAL_BOOL, .b = true}};
static const struct value null = {.kind = VAL_NULL};

static struct value *shared(const struct value *v)
{
    return (struct value *)(uintptr_t)v;
}

struct value *value_null(struct arena *a UNUSED)
{
    return shared(&null);
}

struct value *value_bool(struct arena *a UNUSED, bool b)
{
    return shared(&bools[b]);
}

struct value *value_int(struct arena *a, int64_t i)
{
    struct value *v;

    if (i >= 0 && i < (int64_t)ARRAY_LEN(ints))
        return shared(&ints[i]);
    v = new_value(a, VAL_INT);
    v->i = i;
    return v;
}

struct value *value_real(struct arena *a, double d)
{
    struct value *v = new_value(a, VAL_REAL);

    v->d = d;
    return v;
}

struct value *value_text(struct arena *a, struct str s)
{
    struct value *v = new_value(a, VAL_TEXT);

    v->s = str_is_null(s) ? STR("") : s;
    return v;
}

struct value *value_list(struct arena *a)
{
    return new_value(a, VAL_LIST);
}

struct value *value_dict(struct arena *a)
{
    return new_value(a, VAL_DICT);
}

struct value *value_dict_for(struct arena *a, uint32_t n)
{
    struct value *v = value_dict(a);

    v->members = arena_alloc(a, n * sizeof *v->members);
    v->cap = n;
    return v;
}

struct value *value_list_for(struct arena *a, uint32_t n)
{
    struct value *v = value_list(a);

    v->items = arena_alloc(a, n * sizeof v->items[0]);
    v->cap = n;
    return v;
}

/* Most keys are literals, and equal literals have the same address, which is compared first. */
static inline bool is_same_key(struct str x, struct str y)
{
    return x.len == y.len && (x.ptr == y.ptr || str_eq(x, y));
}

static struct value_member *member(const struct value *dict, struct str key)
{
    if (dict == NULL || dict->kind != VAL_DICT)
        return NULL;
    for (uint32_t i = 0; i < dict->len; i++)
        if (is_same_key(dict->members[i].key, key))
            return &dict->members[i];
    return NULL;
}

struct value *value_get(const struct value *dict, struct str key)
{
    struct value_member *m = member(dict, key);

    return m == NULL ? NULL : m->val;
}

struct str value_get_text(const struct value *dict, struct str key)
{
    struct value *v = value_get(dict, key);

    return v == NULL || v->kind != VAL_TEXT ? STR_NULL : v->s;
}

int64_t value_get_int(const struct value *dict, struct str key, int64_t otherwise)
{
    struct value *v = value_get(dict, key);

    return v == NULL || v->kind != VAL_INT ? otherwise : v->i;
}

/* Make room for one more element of `size` bytes in an array of `len` elements. */
static void *room(struct arena *a, void *items, uint32_t len, uint32_t *cap, size_t size)
{
    uint32_t n = *cap == 0 ? 2 : *cap * 2;
    void *p;

    if (len < *cap)
        return items;
    p = arena_alloc(a, n * size);
    if (len > 0)
        memcpy(p, items, len * size);
    *cap = n;
    return p;
}

void value_set(struct arena *a, struct value *dict, struct str key, struct value *val)
{
    struct value_member *m;

    ASSERT(dict->kind == VAL_DICT && val != NULL);
    m = member(dict, key);
    if (m != NULL) {
        m->val = val;
        return;
    }
    dict->members = room(a, dict->members, dict->len, &dict->cap, sizeof *m);
    dict->members[dict->len++] = (struct value_member){key, val};
}

void value_set_text(struct arena *a, struct value *dict, struct str key, struct str text)
{
    value_set(a, dict, key, value_text(a, text));
}

bool value_del(struct value *dict, struct str key)
{
    struct value_member *m = member(dict, key);
    size_t at;

    if (m == NULL)
        return false;
    at = (size_t)(m - dict->members);
    memmove(m, m + 1, (dict->len - at - 1) * sizeof *m);
    dict->len--;
    return true;
}

void value_push(struct arena *a, struct value *list, struct value *val)
{
    ASSERT(list->kind == VAL_LIST && val != NULL);
    list->items = room(a, list->items, list->len, &list->cap, sizeof list->items[0]);
    list->items[list->len++] = val;
}

struct value *value_list_at(struct arena *a, struct value *dict, struct str key)
{
    struct value *v = value_get(dict, key);

    if (v == NULL || v->kind != VAL_LIST) {
        v = value_list(a);
        value_set(a, dict, key, v);
    }
    return v;
}

bool value_equal(const struct value *x, const struct value *y)
{
    if (x == y)
        return true;
    if (x == NULL || y == NULL || x->kind != y->kind)
        return false;
    switch (x->kind) {
    case VAL_NULL:
        return true;
    case VAL_BOOL:
        return x->b == y->b;
    case VAL_INT:
        return x->i == y->i;
    case VAL_REAL:
        return !(x->d < y->d) && !(x->d > y->d);
    case VAL_TEXT:
        return str_eq(x->s, y->s);
    case VAL_LIST:
        if (x->len != y->len)
            return false;
        for (uint32_t i = 0; i < x->len; i++)
            if (!value_equal(x->items[i], y->items[i]))
                return false;
        return true;
    case VAL_DICT:
        if (x->len != y->len)
            return false;
        for (uint32_t i = 0; i < x->len; i++) {
            struct value_member m = x->members[i], n = y->members[i];
            const struct value *v = is_same_key(m.key, n.key) ? n.val : value_get(y, m.key);

            if (!value_equal(m.val, v))
                return false;
        }
        return true;
    }
    return false;
}

struct value *value_copy(struct arena *a, const struct value *v)
{
    struct value *c;

    switch (v->kind) {
    case VAL_NULL:
        return value_null(a);
    case VAL_BOOL:
        return value_bool(a, v->b);
    case VAL_INT:
        return value_int(a, v->i);
    case VAL_REAL:
        return value_real(a, v->d);
    case VAL_TEXT:
        return value_text(a, str_dup(a, v->s));
    case VAL_LIST:
        c = value_list_for(a, v->len);
        for (uint32_t i = 0; i < v->len; i++)
            value_push(a, c, value_copy(a, v->items[i]));
        return c;
    case VAL_DICT:
        c = value_dict_for(a, v->len);
        for (uint32_t i = 0; i < v->len; i++)
            value_set(a, c, str_dup(a, v->members[i].key), value_copy(a, v->members[i].val));
        return c;
    }
    return value_null(a);
}
