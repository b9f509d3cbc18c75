/* storage/directory_priv.h - the directory, for directory.c and dir_merge.c. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "storage/dir_feed.h"
#include "storage/dir_seqs.h"
#include "storage/directory.h"

#define SLAB 256

struct slab {
    size_t n; /* feeds that are there */
    struct dir_feed feeds[SLAB];
};

struct directory {
    pthread_rwlock_t lock; /* guards everything below */
    struct slab **slabs;   /* by id; NULL: no feed */
    size_t cap;            /* of `slabs` */
    struct name_index names_index;
    struct dir_seqs horizons, events; /* up to where something was taken; the newest event of a feed */
    struct dir_seqs contents; /* when a content is due: Unix seconds, and one */
    size_t n_kept, kept_max;  /* keys in blocks, and how many there may be */
    size_t hand;              /* the slab whose blocks are dropped next */
    int64_t last_seq;
    int64_t *unread; /* feeds that had no document when they were put here; perhaps they have one
                        now, or are gone */
    size_t n_unread, cap_unread;
    int64_t edition;              /* the last one that was given out */
    atomic_llong changes;         /* grows whenever a feed may have changed */
    uint32_t needs[NEED_CLASSES]; /* feeds of each class */
    atomic_llong n_needs;         /* feeds that have a class */
    atomic_llong protections;     /* grows when a feed is private that was not, or the reverse */
    atomic_llong names; /* grows when a URL means other feeds than before, or a feed has been
                           fetched for the first time; written with the lock held */
};

static inline struct dir_feed *feed_at(const struct directory *d, int64_t id)
{
    size_t at = (size_t)id / SLAB;
    struct dir_feed *f;

    if (id <= 0 || at >= d->cap || d->slabs[at] == NULL)
        return NULL;
    f = &d->slabs[at]->feeds[(size_t)id % SLAB];
    return f->names == NULL ? NULL : f;
}

/* If more keys are kept than there may be, let those of some feeds go. The lock is held. */
void directory_drop_keys(struct directory *d);
