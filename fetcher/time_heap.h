/* fetcher/time_heap.h - binary heap of times, for nodes that live inside other structs. Pure.
 *
 * A node knows its place, so moving or removing one costs log n. The unit of `at` is the caller's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct time_node {
    int64_t at;
    size_t place; /* 1-based; 0: in no heap */
};

struct time_heap {
    struct time_node **nodes;
    size_t len, cap;
};

#define TIME_HEAP_INIT                                                                             \
    {                                                                                              \
        NULL, 0, 0                                                                                 \
    }

/* Free the heap's own memory; the nodes are the caller's. */
void time_heap_release(struct time_heap *h);

/* Put a node in at this time, or move the one that is in. */
void time_heap_put(struct time_heap *h, struct time_node *node, int64_t at);

/* Take a node out; one that is not in is left alone. */
void time_heap_remove(struct time_heap *h, struct time_node *node);

/* Move all times by so much. */
void time_heap_shift(struct time_heap *h, int64_t by);

/* The earliest node, or NULL. It stays in. */
struct time_node *time_heap_first(const struct time_heap *h);
