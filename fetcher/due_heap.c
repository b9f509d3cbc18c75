/* fetcher/due_heap.c - see due_heap.h. */
#include "fetcher/due_heap.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#define SLAB 1024

/* Where feeds are in the heap, counted from 1; 0: not in it. A slab without feeds is freed. */
struct place_slab {
    size_t n;
    uint32_t places[SLAB];
};

static uint32_t clamped(int64_t at)
{
    if (at < 0)
        return 0;
    return at > UINT32_MAX ? UINT32_MAX : (uint32_t)at;
}

void due_heap_release(struct due_heap *h)
{
    for (size_t i = 0; i < h->n_slabs; i++)
        mem_free(h->slabs[i]);
    mem_free(h->slabs);
    mem_free(h->dues);
    *h = (struct due_heap){.dues = NULL};
}

static uint32_t *place_of(const struct due_heap *h, int64_t feed_id)
{
    size_t i = (size_t)feed_id / SLAB;

    if (feed_id <= 0 || i >= h->n_slabs || h->slabs[i] == NULL)
        return NULL;
    return &h->slabs[i]->places[(size_t)feed_id % SLAB];
}

static void set(struct due_heap *h, size_t place, struct due due)
{
    h->dues[place - 1] = due;
    *place_of(h, due.feed_id) = (uint32_t)place;
}

/* Put `due` where it belongs, upwards or downwards from a place that is free. */
static void settle(struct due_heap *h, size_t place, struct due due)
{
    while (place > 1 && h->dues[place / 2 - 1].at > due.at) {
        set(h, place, h->dues[place / 2 - 1]);
        place /= 2;
    }
    for (size_t child = place * 2; child <= h->len; child = place * 2) {
        if (child < h->len && h->dues[child].at < h->dues[child - 1].at)
            child++;
        if (h->dues[child - 1].at >= due.at)
            break;
        set(h, place, h->dues[child - 1]);
        place = child;
    }
    set(h, place, due);
}

static void make_slab(struct due_heap *h, int64_t feed_id)
{
    size_t i = (size_t)feed_id / SLAB, old = h->n_slabs;

    if (i >= h->n_slabs) {
        h->slabs = mem_grow(h->slabs, &h->n_slabs, i + 1, sizeof *h->slabs);
        memset(h->slabs + old, 0, (h->n_slabs - old) * sizeof *h->slabs);
    }
    if (h->slabs[i] == NULL)
        h->slabs[i] = NEW(struct place_slab);
}

bool due_heap_has(const struct due_heap *h, int64_t feed_id)
{
    const uint32_t *place = place_of(h, feed_id);

    return place != NULL && *place != 0;
}

void due_heap_put(struct due_heap *h, int64_t feed_id, int64_t at)
{
    size_t place;

    ASSERT(feed_id > 0 && feed_id <= UINT32_MAX);
    if (due_heap_has(h, feed_id)) {
        place = *place_of(h, feed_id);
    } else {
        make_slab(h, feed_id);
        h->slabs[(size_t)feed_id / SLAB]->n++;
        h->dues = mem_grow(h->dues, &h->cap, h->len + 1, sizeof *h->dues);
        place = ++h->len;
    }
    settle(h, place, (struct due){clamped(at), (uint32_t)feed_id});
}

void due_heap_remove(struct due_heap *h, int64_t feed_id)
{
    size_t slab = (size_t)feed_id / SLAB, place;
    struct due last;

    if (!due_heap_has(h, feed_id))
        return;
    place = *place_of(h, feed_id);
    *place_of(h, feed_id) = 0;
    last = h->dues[--h->len];
    if (last.feed_id != feed_id)
        settle(h, place, last);
    if (--h->slabs[slab]->n > 0)
        return;
    mem_free(h->slabs[slab]);
    h->slabs[slab] = NULL;
}

void due_heap_shift(struct due_heap *h, int64_t by)
{
    for (size_t i = 0; i < h->len; i++)
        h->dues[i].at = clamped((int64_t)h->dues[i].at + by);
}
