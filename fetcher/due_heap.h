/* fetcher/due_heap.h - when each of many feeds is due: twelve bytes a feed.
 *
 * A binary heap of times, and for each feed id its place in the heap. One thread at a time, or
 * under the owner's lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Unix seconds from 1970 to 2106; other times count as the nearest of these. */
struct due {
    uint32_t at, feed_id;
};

struct place_slab;

/* Zeroed, it is empty. */
struct due_heap {
    struct due *dues;
    size_t len, cap;
    struct place_slab **slabs; /* by feed id */
    size_t n_slabs;
};

void due_heap_release(struct due_heap *h);

/* Put a feed in at this time. If it is in already, move it. `feed_id`: 1 to UINT32_MAX. */
void due_heap_put(struct due_heap *h, int64_t feed_id, int64_t at);

/* Take a feed out. If it is not in, nothing happens. */
void due_heap_remove(struct due_heap *h, int64_t feed_id);

bool due_heap_has(const struct due_heap *h, int64_t feed_id);

/* Move all times by so many seconds. */
void due_heap_shift(struct due_heap *h, int64_t by);
