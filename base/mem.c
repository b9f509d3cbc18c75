/* base/mem.c - allocation that aborts when memory is out. */
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

void *mem_alloc(size_t n)
{
    void *p = malloc(n ? n : 1);

    ASSERT(p != NULL);
    return p;
}

void *mem_zalloc(size_t n)
{
    void *p = calloc(1, n ? n : 1);

    ASSERT(p != NULL);
    return p;
}

void *mem_zalloc_aligned(size_t align, size_t n)
{
    void *p = aligned_alloc(align, n);

    ASSERT(p != NULL);
    return memset(p, 0, n);
}

void *mem_realloc(void *p, size_t n)
{
    void *q = realloc(p, n ? n : 1);

    ASSERT(q != NULL);
    return q;
}

char *mem_strndup(const char *s, size_t n)
{
    char *p = mem_alloc(n + 1);

    if (n > 0)
        memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *mem_strdup(const char *s)
{
    return mem_strndup(s, strlen(s));
}

void *mem_grow(void *items, size_t *cap, size_t need, size_t size)
{
    size_t n = *cap ? *cap : 8;

    if (need <= *cap)
        return items;
    while (n < need)
        n *= 2;
    ASSERT(size == 0 || n <= SIZE_MAX / size);
    *cap = n;
    return mem_realloc(items, n * size);
}

void mem_free(void *p)
{
    free(p);
}

void mem_autofree(void *pp)
{
    free(*(void **)pp);
}
