/* base/arena.h - the memory of one job, freed at once.
 *
 * A response, its parsed document and their strings are freed together, or handed to the next
 * thread together. An arena belongs to one thread at a time. Single objects in it cannot be freed.
 */
#pragma once

#include <stdarg.h>

#include "base/compiler.h"

struct arena_chunk;
struct arena {
    struct arena_chunk *head;
    char *at, *end; /* free room of the head chunk */
    size_t total;   /* bytes of all chunks */
};

#define ARENA_INIT                                                                                 \
    {                                                                                              \
        NULL, NULL, NULL, 0                                                                        \
    }

/* Free all memory; the arena is empty and usable again. */
void arena_release(struct arena *a);

/* Make an arena on the heap, for jobs that move from thread to thread. arena_free() frees it and
 * sets the pointer to NULL. */
struct arena *arena_new(void);
void arena_free(struct arena **ap);

/* Allocate `n` bytes, aligned to 8, which is enough for all types but long double. arena_zalloc()
 * sets them to 0. Never NULL. */
void *arena_alloc_slow(struct arena *a, size_t n);
void *arena_zalloc(struct arena *a, size_t n);

/* A copy of `n` bytes, followed by a NUL. */
char *arena_copy(struct arena *a, const void *p, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same; *len, unless it is NULL, is the number of bytes before the NUL. */
char *arena_vprintf(struct arena *a, size_t *len, const char *fmt, va_list ap);

/* A state of the arena to which arena_rewind() goes back: it frees everything that was allocated
 * since the mark was taken. Use it for work that allocates much more than its result, and copy the
 * result out of the arena first. Go back to the newest mark first. No mark may be used after
 * arena_release(). */
struct arena_mark {
    struct arena_chunk *head, *next; /* the head chunk, and the one after it */
    char *at;
    size_t total;
};
struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, struct arena_mark m);

/* Bytes held by the arena, for limits. */
size_t arena_size(const struct arena *a);

static inline size_t arena_rounded(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

static inline void *arena_alloc(struct arena *a, size_t n)
{
    size_t need = arena_rounded(n);

    if (__builtin_expect((size_t)(a->end - a->at) < need || need < n, 0))
        return arena_alloc_slow(a, n);
    a->at += need;
    return a->at - need;
}

#define ARENA_NEW(a, type) ((type *)arena_zalloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_zalloc((a), sizeof(type) * (n)))
