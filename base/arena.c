/* base/arena.c - chunks that double from 4 KiB to 1 MiB; a large piece gets a chunk of its own.
 *
 * A thread keeps the chunks that its arenas free, up to KEPT_MAX bytes, and uses them for the next
 * arena. Otherwise each job would get fresh memory, and the kernel would clear every page of it. */
#include "base/arena.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#define CHUNK_MIN 4096
#define CHUNK_MAX (1024 * 1024)
#define CLASSES 33 /* sizes of kept chunks: four for each doubling, from CHUNK_MIN to CHUNK_MAX */

#if defined(__SANITIZE_ADDRESS__)
#define KEPT_MAX 0 /* the sanitizer must see what is freed */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEPT_MAX 0
#endif
#endif
#ifndef KEPT_MAX
#define KEPT_MAX (2 * 1024 * 1024) /* bytes of unused chunks that each thread keeps */
#endif

struct arena_chunk {
    struct arena_chunk *next;
    size_t size; /* this header included */
    _Alignas(16) char data[];
};

/* ---------------------------------------------------------------- chunks that are kept */

struct spare_chunks {
    struct arena_chunk *lists[CLASSES];
    size_t size;
    bool is_known; /* kept_key has it, and frees it when the thread ends */
};

static _Thread_local struct spare_chunks kept;
static pthread_key_t kept_key;
static pthread_once_t kept_once = PTHREAD_ONCE_INIT;

static void free_kept(void *p)
{
    struct spare_chunks *k = p;

    for (size_t i = 0; i < CLASSES; i++)
        while (k->lists[i] != NULL) {
            struct arena_chunk *c = k->lists[i];

            k->lists[i] = c->next;
            free(c);
        }
    k->size = 0;
    k->is_known = false; /* another destructor may yet release an arena */
}

static void make_key(void)
{
    ASSERT(pthread_key_create(&kept_key, free_kept) == 0);
}

/* The smallest class whose chunks hold *size bytes (at most CHUNK_MAX). Sets *size to the size of
 * its chunks. */
static size_t class_of(size_t *size)
{
    size_t class = 0, step = CHUNK_MIN / 4, at = CHUNK_MIN;

    while (at < *size) {
        at += step;
        if (++class % 4 == 0)
            step *= 2;
    }
    *size = at;
    return class;
}

/* A chunk with room for at least `need` bytes. */
static struct arena_chunk *take_chunk(size_t need)
{
    size_t size = need + sizeof(struct arena_chunk);
    struct arena_chunk *c = NULL;

    ASSERT(size > need);
    if (size <= CHUNK_MAX) {
        size_t class = class_of(&size);

        c = kept.lists[class];
        if (c != NULL) {
            kept.lists[class] = c->next;
            kept.size -= size;
        }
    }
    if (c == NULL) {
        c = mem_alloc(size);
        c->size = size;
    }
    return c;
}

static void give_chunk(struct arena_chunk *c)
{
    size_t size = c->size, class;

    if (size > CHUNK_MAX || size > KEPT_MAX - kept.size) {
        free(c);
        return;
    }
    if (!kept.is_known) {
        (void)pthread_once(&kept_once, make_key);
        kept.is_known = pthread_setspecific(kept_key, &kept) == 0;
    }
    class = class_of(&size);
    c->next = kept.lists[class];
    kept.lists[class] = c;
    kept.size += size;
}

/* ---------------------------------------------------------------- arenas */

/* Keep or free the chunks from `c` up to `end`, without `end`. */
static void give_chunks(struct arena_chunk *c, const struct arena_chunk *end)
{
    struct arena_chunk *next;

    for (; c != end; c = next) {
        next = c->next;
        give_chunk(c);
    }
}

void arena_release(struct arena *a)
{
    give_chunks(a->head, NULL);
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
    if (need > size / 2 && a->head != NULL) { /* in a chunk of its own; the head stays in use */
        c = take_chunk(need);
        c->next = a->head->next;
        a->head->next = c;
        a->total += c->size;
        return c->data;
    }
    size -= sizeof *c;
    c = take_chunk(size < need ? need : size);
    c->next = a->head;
    a->head = c;
    a->total += c->size;
    a->at = c->data + need;
    a->end = (char *)c + c->size;
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
    give_chunks(a->head, m.head);
    give_chunks(m.head->next, m.next); /* chunks of large pieces, which are after the head */
    m.head->next = m.next;
    a->head = m.head;
    a->at = m.at;
    a->end = (char *)m.head + m.head->size;
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

/* Most texts fit into the room that is left, so they are written there at once. */
char *arena_vprintf(struct arena *a, size_t *len, const char *fmt, va_list ap)
{
    char *here = a->at, *p;
    va_list again;
    int n;

    va_copy(again, ap);
    n = vsnprintf(here, (size_t)(a->end - here), fmt, ap);
    ASSERT(n >= 0);
    p = arena_alloc(a, (size_t)n + 1);
    if (p != here)
        vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    if (len != NULL)
        *len = (size_t)n;
    return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    char *p;

    va_start(ap, fmt);
    p = arena_vprintf(a, NULL, fmt, ap);
    va_end(ap);
    return p;
}

size_t arena_size(const struct arena *a)
{
    return a->total;
}
