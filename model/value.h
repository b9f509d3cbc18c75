/* model/value.h - the liberal object form: a tree of null, bool, int, real, text, list and dict.
 *
 * A feed or an entry is a dict shaped as the Universal Feed Parser shapes it (docs/parsing.md).
 * Parsers make it, JSON and XML-RPC print it, writers read it. It lives in one arena with its
 * strings, and is used by one thread at a time. Text is valid UTF-8. Dict keys are unique and keep
 * the order in which they were first set.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

enum value_kind { VAL_NULL, VAL_BOOL, VAL_INT, VAL_REAL, VAL_TEXT, VAL_LIST, VAL_DICT };

struct value;
struct value_member {
    struct str key;
    struct value *val;
};

struct value { /* 24 bytes: a feed has many */
    enum value_kind kind;
    uint32_t cap; /* of items or members */
    union {
        bool b;
        int64_t i;
        double d;
        struct str s;
        struct {
            union {
                struct value **items;         /* VAL_LIST */
                struct value_member *members; /* VAL_DICT */
            };
            uint32_t len; /* of them; value_len() asks the kind first */
        };
    };
};

/* New values in the arena. Text is borrowed: it must live as long as the arena. If it does not,
 * copy it with str_dup() first. Null, bools and small integers are shared, so a scalar must never
 * be changed: replace it by another value. */
struct value *value_null(struct arena *a);
struct value *value_bool(struct arena *a, bool b);
struct value *value_int(struct arena *a, int64_t i);
struct value *value_real(struct arena *a, double d);
struct value *value_text(struct arena *a, struct str s);
struct value *value_list(struct arena *a);
struct value *value_dict(struct arena *a);

/* Make room in a dict or list for `n` members or items. */
struct value *value_dict_for(struct arena *a, uint32_t n);
struct value *value_list_for(struct arena *a, uint32_t n);

/* The value of `key`. NULL: the key is absent, or `dict` is NULL or not a dict. */
struct value *value_get(const struct value *dict, struct str key);
#define value_getz(dict, literal) value_get((dict), STR(literal))

/* The text of `key`. STR_NULL: the key is absent, or its value is not a text. */
struct str value_get_text(const struct value *dict, struct str key);
#define value_get_textz(dict, literal) value_get_text((dict), STR(literal))

/* The whole number of `key`, or `otherwise`. */
int64_t value_get_int(const struct value *dict, struct str key, int64_t otherwise);

/* Set `key`, replacing the value in place when it is there. The key is borrowed, like text. */
void value_set(struct arena *a, struct value *dict, struct str key, struct value *val);
void value_set_text(struct arena *a, struct value *dict, struct str key, struct str text);
#define value_setz(a, dict, literal, val) value_set((a), (dict), STR(literal), (val))
#define value_set_textz(a, dict, literal, text) value_set_text((a), (dict), STR(literal), (text))

/* Remove `key`; false when it was not there. */
bool value_del(struct value *dict, struct str key);

/* Append to a list. */
void value_push(struct arena *a, struct value *list, struct value *val);

/* Element `i` of a list. NULL: the list has no such element, or `list` is NULL or not a list. */
static inline struct value *value_at(const struct value *list, size_t i)
{
    return list == NULL || list->kind != VAL_LIST || i >= list->len ? NULL : list->items[i];
}

/* The number of elements or members. 0 for NULL, and for values that are neither a list nor a dict.
 */
static inline size_t value_len(const struct value *v)
{
    return v == NULL || (v->kind != VAL_LIST && v->kind != VAL_DICT) ? 0 : v->len;
}

/* The list at `key`, made and set when it is absent. */
struct value *value_list_at(struct arena *a, struct value *dict, struct str key);

/* Do both values have the same kinds and contents? The order of members does not matter. */
bool value_equal(const struct value *x, const struct value *y);

/* A copy that lives in `a` alone. */
struct value *value_copy(struct arena *a, const struct value *v);
