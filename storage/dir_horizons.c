/* storage/dir_horizons.c - see dir_horizons.h. */
#include "storage/dir_horizons.h"

#include <string.h>

#include "base/mem.h"

#define SLAB 256

void dir_horizons_release(struct dir_horizons *h)
{
    for (size_t i = 0; i < h->cap; i++)
        mem_free(h->slabs[i]);
    mem_free(h->slabs);
    *h = (struct dir_horizons){.slabs = NULL};
}

/* The slab for a feed, which is made. */
static int64_t *make_slab(struct dir_horizons *h, size_t at)
{
    size_t old = h->cap;

    if (at >= h->cap) {
        h->slabs = mem_grow(h->slabs, &h->cap, at + 1, sizeof *h->slabs);
        memset(h->slabs + old, 0, (h->cap - old) * sizeof *h->slabs);
    }
    if (h->slabs[at] == NULL)
        h->slabs[at] = mem_zalloc(SLAB * sizeof **h->slabs);
    return h->slabs[at];
}

static int64_t slab_highest(const int64_t *slab)
{
    int64_t seq = 0;

    for (size_t i = 0; slab != NULL && i < SLAB; i++)
        if (slab[i] > seq)
            seq = slab[i];
    return seq;
}

void dir_horizons_set(struct dir_horizons *h, int64_t feed_id, int64_t horizon)
{
    size_t at = (size_t)feed_id / SLAB;

    if (horizon != 0) {
        make_slab(h, at)[(size_t)feed_id % SLAB] = horizon;
        return;
    }
    if (at >= h->cap || h->slabs[at] == NULL || h->slabs[at][(size_t)feed_id % SLAB] == 0)
        return;
    h->slabs[at][(size_t)feed_id % SLAB] = 0;
    if (slab_highest(h->slabs[at]) > 0)
        return;
    mem_free(h->slabs[at]);
    h->slabs[at] = NULL;
}

static int64_t horizon_of(const struct dir_horizons *h, int64_t feed_id)
{
    size_t at = (size_t)feed_id / SLAB;

    return feed_id <= 0 || at >= h->cap || h->slabs[at] == NULL
               ? 0
               : h->slabs[at][(size_t)feed_id % SLAB];
}

int64_t dir_horizons_of(const struct dir_horizons *h, const int64_t *ids, size_t n)
{
    int64_t seq = 0;

    for (size_t i = 0; i < n; i++) {
        int64_t one = horizon_of(h, ids[i]);

        if (one > seq)
            seq = one;
    }
    return seq;
}

int64_t dir_horizons_highest(const struct dir_horizons *h)
{
    int64_t seq = 0;

    for (size_t i = 0; i < h->cap; i++) {
        int64_t one = slab_highest(h->slabs[i]);

        if (one > seq)
            seq = one;
    }
    return seq;
}
