/* storage/dir_seqs.c - see dir_seqs.h. */
#include "storage/dir_seqs.h"

#include <string.h>

#include "base/mem.h"

#define SLAB 256

void dir_seqs_release(struct dir_seqs *s)
{
    for (size_t i = 0; i < s->cap; i++)
        mem_free(s->slabs[i]);
    mem_free(s->slabs);
    *s = (struct dir_seqs){.slabs = NULL};
}

/* The slab for a feed, which is made. */
static int64_t *make_slab(struct dir_seqs *s, size_t at)
{
    size_t old = s->cap;

    if (at >= s->cap) {
        s->slabs = mem_grow(s->slabs, &s->cap, at + 1, sizeof *s->slabs);
        memset(s->slabs + old, 0, (s->cap - old) * sizeof *s->slabs);
    }
    if (s->slabs[at] == NULL)
        s->slabs[at] = mem_zalloc(SLAB * sizeof **s->slabs);
    return s->slabs[at];
}

static int64_t slab_highest(const int64_t *slab)
{
    int64_t seq = 0;

    for (size_t i = 0; slab != NULL && i < SLAB; i++)
        if (slab[i] > seq)
            seq = slab[i];
    return seq;
}

void dir_seqs_set(struct dir_seqs *s, int64_t feed_id, int64_t seq)
{
    size_t at = (size_t)feed_id / SLAB;

    if (seq != 0) {
        make_slab(s, at)[(size_t)feed_id % SLAB] = seq;
        return;
    }
    if (at >= s->cap || s->slabs[at] == NULL || s->slabs[at][(size_t)feed_id % SLAB] == 0)
        return;
    s->slabs[at][(size_t)feed_id % SLAB] = 0;
    if (slab_highest(s->slabs[at]) > 0)
        return;
    mem_free(s->slabs[at]);
    s->slabs[at] = NULL;
}

int64_t dir_seqs_of(const struct dir_seqs *s, int64_t feed_id)
{
    size_t at = (size_t)feed_id / SLAB;

    return feed_id <= 0 || at >= s->cap || s->slabs[at] == NULL
               ? 0
               : s->slabs[at][(size_t)feed_id % SLAB];
}

int64_t dir_seqs_highest_of(const struct dir_seqs *s, const int64_t *ids, size_t n)
{
    int64_t seq = 0;

    for (size_t i = 0; i < n; i++) {
        int64_t one = dir_seqs_of(s, ids[i]);

        if (one > seq)
            seq = one;
    }
    return seq;
}

int64_t dir_seqs_highest(const struct dir_seqs *s)
{
    int64_t seq = 0;

    for (size_t i = 0; i < s->cap; i++) {
        int64_t one = slab_highest(s->slabs[i]);

        if (one > seq)
            seq = one;
    }
    return seq;
}
