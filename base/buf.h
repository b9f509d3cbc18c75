/* base/buf.h - growable bytes with a hard maximum that is set at birth.
 *
 * An append that would pass the maximum appends nothing and sets `overflow`, which stays set: build
 * the whole thing, check once with buf_ok(). The bytes are always followed by a NUL. One thread.
 */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/str.h"

struct buf {
    char *ptr;
    size_t len, cap;
    size_t max;
    bool overflow; /* goes false -> true once, until buf_reset() */
};

#define BUF_INIT(max_len)                                                                          \
    {                                                                                              \
        NULL, 0, 0, (max_len), false                                                               \
    }
#define BUF_ANY ((size_t)1 << 40) /* a maximum for sizes that other limits bound */

/* Free the memory; the buffer is empty and keeps its maximum. */
void buf_release(struct buf *b);

/* Empty the buffer, but keep its memory. */
void buf_reset(struct buf *b);

/* Make room for `n` more bytes; false, and overflow set, if that passes the maximum. */
bool buf_reserve(struct buf *b, size_t n);

void buf_append_slow(struct buf *b, const void *p, size_t n);

static inline void buf_append(struct buf *b, const void *p, size_t n)
{
    if (__builtin_expect(n < b->cap - b->len && b->cap > 0, 1)) {
        memcpy(b->ptr + b->len, p, n);
        b->len += n;
        b->ptr[b->len] = '\0';
    } else if (n > 0) {
        buf_append_slow(b, p, n);
    }
}

static inline void buf_str(struct buf *b, struct str s)
{
    if (s.len > 0)
        buf_append(b, s.ptr, s.len);
}

static inline void buf_puts(struct buf *b, const char *z)
{
    buf_append(b, z, strlen(z));
}

static inline void buf_putc(struct buf *b, char c)
{
    if (__builtin_expect(b->cap - b->len > 1, 1)) {
        b->ptr[b->len++] = c;
        b->ptr[b->len] = '\0';
    } else {
        buf_append_slow(b, &c, 1);
    }
}

void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Append one code point as UTF-8; U+FFFD if it is not a scalar value. */
void buf_utf8(struct buf *b, uint32_t cp);

/* Cut the bytes to the length `len`. If they are shorter already, they stay as they are. */
static inline void buf_cut(struct buf *b, size_t len)
{
    if (b->len <= len)
        return;
    b->len = len;
    b->ptr[len] = '\0';
}

/* True while every append fitted. */
static inline bool buf_ok(const struct buf *b)
{
    return !b->overflow;
}

/* What is in it; borrowed until the next change. Never null. */
static inline struct str buf_view(const struct buf *b)
{
    return (struct str){b->ptr ? b->ptr : "", b->len};
}

/* Take the bytes (free with mem_free), leaving the buffer empty. Never NULL. */
char *buf_detach(struct buf *b, size_t *len_out);
