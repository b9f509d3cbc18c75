/* base/str.h - a borrowed slice of bytes: look, do not own.
 *
 * Not NUL-terminated. `ptr` may be NULL only when `len` is 0: that is "absent" (str_is_null);
 * a present empty string has a pointer. Pure functions, any thread.
 */
#pragma once

#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/compiler.h"

struct str {
    const char *ptr;
    size_t len;
};

/* For printf: printf("%.*s", STR_ARG(s)). */
#define STR_ARG(s) (int)(s).len, ((s).ptr ? (s).ptr : "")
#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})
#define STR_NULL ((struct str){NULL, 0})

static inline struct str str_from(const char *z)
{
    return z == NULL ? STR_NULL : (struct str){z, strlen(z)};
}

static inline struct str str_of(const char *p, size_t len)
{
    return (struct str){p, len};
}

static inline bool str_is_null(struct str s)
{
    return s.ptr == NULL;
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len &&
           (b.len == 0 || (a.ptr[0] == b.ptr[0] && memcmp(a.ptr, b.ptr, b.len) == 0));
}

static inline bool str_eqz(struct str a, const char *z)
{
    return str_eq(a, str_from(z));
}

/* ASCII letters compare equal in either case. */
bool str_ieq(struct str a, struct str b);
bool str_ieqz(struct str a, const char *z);
static inline bool str_starts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && str_eq(str_of(s.ptr, prefix.len), prefix);
}
bool str_istarts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
int str_cmp(struct str a, struct str b); /* byte order, as memcmp */

/* Offset of the first occurrence, or -1. */
ssize_t str_find(struct str s, struct str needle);
ssize_t str_ifind(struct str s, struct str needle);
static inline ssize_t str_chr(struct str s, char c)
{
    const char *p = s.len > 0 ? memchr(s.ptr, c, s.len) : NULL;

    return p == NULL ? -1 : p - s.ptr;
}

/* Bytes [from, to) clamped to the string. */
static inline struct str str_slice(struct str s, size_t from, size_t to)
{
    if (to > s.len)
        to = s.len;
    if (from > to)
        from = to;
    return s.ptr == NULL ? s : str_of(s.ptr + from, to - from);
}

/* Without leading and trailing space, tab, CR, LF, FF. */
struct str str_trim(struct str s);

/* Take the part before `sep` off *rest and return it; when there is no `sep`, all of it, and
 * *rest becomes null. Loop: `while (!str_is_null(rest)) { part = str_split(&rest, ','); ... }` */
struct str str_split(struct str *rest, char sep);

/* A whole string of decimal digits with an optional '-', without overflow. False if it is not. */
bool str_to_i64(struct str s, int64_t *out) NODISCARD;

/* Copies. str_dup() lives in the arena and is NUL-terminated after its end. */
struct str str_dup(struct arena *a, struct str s);
struct str str_lower(struct arena *a, struct str s); /* ASCII */
char *str_z(struct arena *a, struct str s);          /* NUL-terminated copy */
struct str str_concat(struct arena *a, struct str x, struct str y);
struct str str_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Length of the leading part that is valid UTF-8 (no surrogates, no overlong forms). */
size_t str_utf8_valid(struct str s);
