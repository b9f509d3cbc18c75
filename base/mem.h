/* base/mem.h - allocation that never fails.
 *
 * Small allocations abort when memory is out; a size that comes from outside must have met a
 * limit of base/limits.h before it gets here. Any thread.
 */
#pragma once

#include "base/compiler.h"

/* As malloc, calloc, realloc, strdup; never NULL. Free with mem_free() or free(). */
void *mem_alloc(size_t n) __attribute__((malloc, returns_nonnull));
void *mem_zalloc(size_t n) __attribute__((malloc, returns_nonnull));
void *mem_realloc(void *p, size_t n) __attribute__((returns_nonnull));
/* The same as mem_zalloc() at an address that is a multiple of `align`, a power of two that divides
 * `n`. */
void *mem_zalloc_aligned(size_t align, size_t n) __attribute__((malloc, returns_nonnull));
char *mem_strdup(const char *s) __attribute__((malloc, returns_nonnull));
char *mem_strndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull));

/* Grow the array *items of *cap elements of `size` bytes to hold at least `need`. */
void *mem_grow(void *items, size_t *cap, size_t need, size_t size) NODISCARD;

/* As free. */
void mem_free(void *p);

/* For AUTO(): free what the pointer variable points to. */
void mem_autofree(void *pp);

#define NEW(type) ((type *)mem_zalloc(sizeof(type)))
