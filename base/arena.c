/* base/arena.c - chunks that double from 4 KiB to 1 MiB; a large piece gets a chunk of its own. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#define CHUNK_MIN 4096
#define CHUNK_MAX (1024 * 1024)

struct arena_chunk {
    struct arena_chunk *next;
    size_t size;
    _Alignas(16) char data[];
};

/* Free the chunks from `c` to before `end`. */
static void free_chunks(struct arena_chunk *c, const struct arena_chunk *end)
{
    struct arena_chunk *next;

    for (; c != end; c = next) {
        next = c->next;
        free(c);
    }
}

void arena_release(struct arena *a)
{
    free_chunks(a->head, NULL);
    *a = (struct arena)ARENA_INIT;
}

struct arena *arena_new(void)
{
    return NEW(struct arena);
}

void arena_free(struct arena **ap)
{
    if (*ap == NULL)
        return;
    arena_release(*ap);
    free(*ap);
    *ap = NULL;
}

void *arena_alloc_slow(struct arena *a, size_t n)
{
    size_t need = arena_rounded(n);
    size_t size = a->total < CHUNK_MIN ? CHUNK_MIN : a->total;
    struct arena_chunk *c;

    ASSERT(need >= n);
    if (size > CHUNK_MAX)
        size = CHUNK_MAX;
    if (need > size / 2 && a->head != NULL) { /* alone, behind the head, which stays in use */
        c = mem_alloc(sizeof *c + need);
        c->size = need;
        c->next = a->head->next;
        a->head->next = c;
        a->total += need;
        return c->data;
    }
    if (size < need)
        size = need;
    c = mem_alloc(sizeof *c + size);
    c->size = size;
    c->next = a->head;
    a->head = c;
    a->total += size;
    a->at = c->data + need;
    a->end = c->data + size;
    return c->data;
}

struct arena_mark arena_mark(const struct arena *a)
{
    return (struct arena_mark){a->head, a->head == NULL ? NULL : a->head->next, a->at, a->total};
}

void arena_rewind(struct arena *a, struct arena_mark m)
{
    if (m.head == NULL) {
        arena_release(a);
        return;
    }
    free_chunks(a->head, m.head);
    free_chunks(m.head->next, m.next); /* large pieces, which went behind the head */
    m.head->next = m.next;
    a->head = m.head;
    a->at = m.at;
    a->end = m.head->data + m.head->size;
    a->total = m.total;
}

void *arena_zalloc(struct arena *a, size_t n)
{
    return memset(arena_alloc(a, n), 0, n);
}

char *arena_copy(struct arena *a, const void *p, size_t n)
{
    char *q = arena_alloc(a, n + 1);

    if (n > 0)
        memcpy(q, p, n);
    q[n] = '\0';
    return q;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    char *p;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    ASSERT(n >= 0);
    p = arena_alloc(a, (size_t)n + 1);
    va_start(ap, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return p;
}

size_t arena_size(const struct arena *a)
{
    return a->total;
}
