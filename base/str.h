/* base/str.h - a slice: some bytes that belong to somebody else.
 *
 * The bytes need not be followed by a NUL. A slice with a NULL pointer is "null": it stands for an
 * absent string, and its length is 0. An empty string that is present has a pointer. All functions
 * are pure, so any thread may call them.
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
    if (z == NULL || *z == '\0')
        return a.len == 0;
    /* the texts of a table mostly differ in the first character, and their length is not needed then */
    return a.len > 0 && a.ptr[0] == *z && str_eq(a, str_from(z));
}

/* Functions with `i` in their name do not distinguish the case of ASCII letters. */
bool str_ieq(struct str a, struct str b);
bool str_ieqz(struct str a, const char *z);
static inline bool str_starts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && str_eq(str_of(s.ptr, prefix.len), prefix);
}
bool str_istarts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
/* Less than, equal to or greater than 0, in the order of bytes, as memcmp(). */
int str_cmp(struct str a, struct str b);

/* The offset of the first occurrence; -1: there is none. */
ssize_t str_find(struct str s, struct str needle);
ssize_t str_ifind(struct str s, struct str needle);
static inline ssize_t str_chr(struct str s, char c)
{
    const char *p = s.len > 0 ? memchr(s.ptr, c, s.len) : NULL;

    return p == NULL ? -1 : p - s.ptr;
}

/* The bytes from offset `from` up to offset `to`, without the byte at `to`. Offsets after the end
 * count as the end. */
static inline struct str str_slice(struct str s, size_t from, size_t to)
{
    if (to > s.len)
        to = s.len;
    if (from > to)
        from = to;
    return s.ptr == NULL ? s : str_of(s.ptr + from, to - from);
}

/* `s` without the white space at its start and end: space, tab, CR, LF, FF. */
struct str str_trim(struct str s);

/* Return the part of *rest before the first `sep`, and set *rest to the part after it. If there is
 * no `sep`, return all of *rest, and set *rest to null.
 * Loop: `while (!str_is_null(rest)) { part = str_split(&rest, ','); ... }` */
struct str str_split(struct str *rest, char sep);

/* Read a decimal number, with an optional '-' in front. False: `s` has anything else in it, or the
 * number does not fit; *out is unchanged. */
bool str_to_i64(struct str s, int64_t *out) NODISCARD;

/* Copies in the arena. Each is followed by a NUL, which is not part of its length. str_dup() of a
 * null slice is null. */
struct str str_dup(struct arena *a, struct str s);
struct str str_lower(struct arena *a, struct str s); /* ASCII letters in lower case */
char *str_z(struct arena *a, struct str s);
struct str str_concat(struct arena *a, struct str x, struct str y);
struct str str_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The first `max` bytes of UTF-8, without a part of a character at the end. */
struct str str_beginning(struct str s, size_t max);

/* The length of the part at the start of `s` that is valid UTF-8 (no surrogates, no overlong
 * forms). It is s.len if all of `s` is valid. */
size_t str_utf8_valid(struct str s);
