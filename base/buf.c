/* base/buf.c - growable bytes. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/mem.h"

void buf_release(struct buf *b)
{
    free(b->ptr);
    *b = (struct buf)BUF_INIT(b->max);
}

void buf_reset(struct buf *b)
{
    b->len = 0;
    b->overflow = false;
    if (b->ptr != NULL)
        b->ptr[0] = '\0';
}

bool buf_reserve(struct buf *b, size_t n)
{
    size_t cap = b->cap ? b->cap : 64;

    if (b->overflow || n > b->max - b->len) {
        b->overflow = true;
        b->cap = b->len; /* so that the inline functions append nothing more, not even one byte */
        return false;
    }
    if (b->cap - b->len > n)
        return true;
    while (cap - b->len <= n)
        cap *= 2;
    if (cap > b->max + 1) /* the inline functions check the capacity only, not the maximum */
        cap = b->max + 1;
    b->ptr = mem_realloc(b->ptr, cap);
    b->cap = cap;
    b->ptr[b->len] = '\0';
    return true;
}

void buf_append_slow(struct buf *b, const void *p, size_t n)
{
    if (!buf_reserve(b, n))
        return;
    memcpy(b->ptr + b->len, p, n);
    b->len += n;
    b->ptr[b->len] = '\0';
}

/* Most texts fit into the room that is left, so they are written there at once. */
void buf_printf(struct buf *b, const char *fmt, ...)
{
    size_t room = b->cap - b->len;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(room > 0 ? b->ptr + b->len : NULL, room, fmt, ap);
    va_end(ap);
    ASSERT(n >= 0);
    if ((size_t)n >= room) {
        if (room > 0)
            b->ptr[b->len] = '\0';
        if (!buf_reserve(b, (size_t)n))
            return;
        va_start(ap, fmt);
        vsnprintf(b->ptr + b->len, (size_t)n + 1, fmt, ap);
        va_end(ap);
    }
    b->len += (size_t)n;
}

void buf_utf8(struct buf *b, uint32_t cp)
{
    char c[4];
    size_t n;

    if (cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF))
        cp = 0xFFFD;
    if (cp < 0x80) {
        c[0] = (char)cp;
        n = 1;
    } else if (cp < 0x800) {
        c[0] = (char)(0xC0 | (cp >> 6));
        c[1] = (char)(0x80 | (cp & 0x3F));
        n = 2;
    } else if (cp < 0x10000) {
        c[0] = (char)(0xE0 | (cp >> 12));
        c[1] = (char)(0x80 | ((cp >> 6) & 0x3F));
        c[2] = (char)(0x80 | (cp & 0x3F));
        n = 3;
    } else {
        c[0] = (char)(0xF0 | (cp >> 18));
        c[1] = (char)(0x80 | ((cp >> 12) & 0x3F));
        c[2] = (char)(0x80 | ((cp >> 6) & 0x3F));
        c[3] = (char)(0x80 | (cp & 0x3F));
        n = 4;
    }
    buf_append(b, c, n);
}

char *buf_detach(struct buf *b, size_t *len_out)
{
    char *p = b->ptr ? b->ptr : mem_strdup("");

    if (len_out != NULL)
        *len_out = b->len;
    b->ptr = NULL;
    buf_release(b);
    return p;
}
