/* base/str.c - slices. */
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/ascii.h"
#include "base/assert.h"

bool str_ieq(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (ascii_lower(a.ptr[i]) != ascii_lower(b.ptr[i]))
            return false;
    return true;
}

bool str_ieqz(struct str a, const char *z)
{
    return str_ieq(a, str_from(z));
}

bool str_istarts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && str_ieq(str_of(s.ptr, prefix.len), prefix);
}

bool str_ends(struct str s, struct str suffix)
{
    return s.len >= suffix.len && str_eq(str_of(s.ptr + (s.len - suffix.len), suffix.len), suffix);
}

int str_cmp(struct str a, struct str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n > 0 ? memcmp(a.ptr, b.ptr, n) : 0;

    if (c != 0)
        return c;
    return a.len < b.len ? -1 : a.len > b.len;
}

ssize_t str_find(struct str s, struct str needle)
{
    const char *p;

    if (needle.len == 0)
        return 0;
    if (s.len < needle.len)
        return -1;
    p = memmem(s.ptr, s.len, needle.ptr, needle.len);
    return p == NULL ? -1 : p - s.ptr;
}

ssize_t str_ifind(struct str s, struct str needle)
{
    for (size_t i = 0; i + needle.len <= s.len; i++)
        if (str_ieq(str_of(s.ptr + i, needle.len), needle))
            return (ssize_t)i;
    return -1;
}

struct str str_trim(struct str s)
{
    while (s.len > 0 && ascii_is_html_space(s.ptr[0])) {
        s.ptr++;
        s.len--;
    }
    while (s.len > 0 && ascii_is_html_space(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

struct str str_split(struct str *rest, char sep)
{
    struct str part = *rest;
    ssize_t at = str_chr(*rest, sep);

    if (at < 0) {
        *rest = STR_NULL;
        return part;
    }
    part.len = (size_t)at;
    rest->ptr += at + 1;
    rest->len -= (size_t)at + 1;
    return part;
}

bool str_to_i64(struct str s, int64_t *out)
{
    bool neg = s.len > 0 && s.ptr[0] == '-';
    int64_t v = 0;

    if (s.len == (size_t)neg)
        return false;
    for (size_t i = neg; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, neg ? -(s.ptr[i] - '0') : s.ptr[i] - '0', &v))
            return false;
    }
    *out = v;
    return true;
}

struct str str_dup(struct arena *a, struct str s)
{
    return str_is_null(s) ? s : str_of(arena_copy(a, s.ptr, s.len), s.len);
}

struct str str_lower(struct arena *a, struct str s)
{
    char *p = arena_copy(a, s.ptr, s.len);

    for (size_t i = 0; i < s.len; i++)
        p[i] = ascii_lower(p[i]);
    return str_of(p, s.len);
}

char *str_z(struct arena *a, struct str s)
{
    return arena_copy(a, s.ptr, s.len);
}

struct str str_concat(struct arena *a, struct str x, struct str y)
{
    char *p = arena_alloc(a, x.len + y.len + 1);

    if (x.len > 0)
        memcpy(p, x.ptr, x.len);
    if (y.len > 0)
        memcpy(p + x.len, y.ptr, y.len);
    p[x.len + y.len] = '\0';
    return str_of(p, x.len + y.len);
}

struct str str_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    size_t n;
    char *p;

    va_start(ap, fmt);
    p = arena_vprintf(a, &n, fmt, ap);
    va_end(ap);
    return str_of(p, n);
}

/* The number of ASCII bytes in a row at `p`. The first byte must be ASCII. */
static inline size_t ascii_run(const unsigned char *p, size_t len)
{
    size_t i = 1;
    uint64_t w[4];

    while (len - i >= sizeof w) {
        memcpy(w, p + i, sizeof w);
        if (((w[0] | w[1] | w[2] | w[3]) & 0x8080808080808080) != 0)
            break;
        i += sizeof w;
    }
    while (i < len && p[i] < 0x80)
        i++;
    return i;
}

size_t str_utf8_valid(struct str s)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    size_t i = 0;

    while (i < s.len) {
        unsigned char c = p[i];
        size_t n;
        if (c < 0x80) {
            i += ascii_run(p + i, s.len - i);
            continue;
        }
        n = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
        if (c < 0xC2 || c > 0xF4 || s.len - i < n)
            return i;
        if ((p[i + 1] & 0xC0) != 0x80 || (n > 2 && (p[i + 2] & 0xC0) != 0x80) ||
            (n > 3 && (p[i + 3] & 0xC0) != 0x80))
            return i;
        if ((c == 0xE0 && p[i + 1] < 0xA0) || (c == 0xED && p[i + 1] > 0x9F) ||
            (c == 0xF0 && p[i + 1] < 0x90) || (c == 0xF4 && p[i + 1] > 0x8F))
            return i;
        i += n;
    }
    return i;
}

struct str str_beginning(struct str s, size_t max)
{
    if (s.len <= max)
        return s;
    while (max > 0 && ((unsigned char)s.ptr[max] & 0xC0) == 0x80)
        max--;
    return str_slice(s, 0, max);
}
