/* fetcher/time_heap.h - binary heap of times, for nodes that live inside other structs. Pure.
 *
 * Each node has its index in the heap, so it takes O(log n) time to move or remove a node. The
 * caller chooses the unit of `at`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct time_node {
    int64_t at;
    size_t index; /* 1-based; 0: in no heap */
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

/* Put a node into the heap at this time. If it is in the heap already, move it. */
void time_heap_put(struct time_heap *h, struct time_node *node, int64_t at);

/* Take a node out of the heap. If it is not in the heap, nothing happens. */
void time_heap_remove(struct time_heap *h, struct time_node *node);

/* Move all times by so much. */
void time_heap_shift(struct time_heap *h, int64_t by);

/* The earliest node, or NULL. It stays in. */
struct time_node *time_heap_first(const struct time_heap *h);
