/* storage/dir_merge.c - the newest keys of feeds in the directory: how they come and go, and the merge
 * of several feeds. */
#include "base/mem.h"
#include "storage/dir_keys.h"
#include "storage/directory_priv.h"

#define DROP_SLABS 64 /* whose blocks are dropped at once at most, while others wait for the lock */

/* Feeds have their turn. Their keys are read again when a merge reaches them. */
void directory_drop_keys(struct directory *d)
{
    size_t most = d->kept_max - d->kept_max / 8;

    if (d->n_kept <= d->kept_max)
        return;
    for (size_t n = 0; n < DROP_SLABS && n < d->cap && d->n_kept > most; n++) {
        struct slab *slab = d->slabs[d->hand++ % d->cap];

        for (size_t i = 0; slab != NULL && i < SLAB; i++) {
            d->n_kept -= dir_keys_kept(&slab->feeds[i]);
            dir_keys_drop(&slab->feeds[i]);
        }
    }
}

void directory_bound_keys(struct directory *d, size_t most)
{
    directory_lock(d);
    d->kept_max = most;
    directory_unlock(d);
}

void directory_key(struct directory *d, const struct directory_key *k)
{
    struct dir_feed *f = feed_at(d, k->feed_id);

    if (f == NULL)
        return;
    d->n_kept -= dir_keys_kept(f);
    dir_keys_change(f, k->old_seq, &k->key);
    d->n_kept += dir_keys_kept(f);
}

void directory_set_keys(struct directory *d, int64_t feed_id, const struct merge_key *keys,
                        size_t n, bool complete)
{
    struct dir_feed *f = feed_at(d, feed_id);

    if (f == NULL)
        return;
    d->n_kept -= dir_keys_kept(f);
    dir_keys_set(f, keys, n, complete);
    d->n_kept += dir_keys_kept(f);
}

void directory_forget_keys(struct directory *d, int64_t feed_id, int64_t newest_at)
{
    struct dir_feed *f = feed_at(d, feed_id);

    if (f == NULL)
        return;
    d->n_kept -= dir_keys_kept(f);
    dir_keys_forget(f, newest_at);
}

static bool is_as(const struct directory *d, const struct dir_feed *f,
                  const struct directory_feed *as)
{
    return f != NULL && f->version == as->brief.version && f->last_seq == as->last_seq &&
           dir_seqs_of(&d->horizons, as->brief.id) == as->horizon;
}

size_t directory_fill_keys(struct directory *d, const struct directory_feed *as,
                           const struct key_run *runs, size_t n)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct key_block **blocks = ARENA_ARRAY(&a, struct key_block *, n + 1);
    size_t n_taken = 0;

    for (size_t i = 0; i < n; i++)
        blocks[i] = dir_keys_copy(runs[i].keys, runs[i].n);
    /* `changes` stays: no feed is another one than before. */
    pthread_rwlock_wrlock(&d->lock);
    for (size_t i = 0; i < n; i++) {
        struct dir_feed *f = feed_at(d, as[i].brief.id);

        if (!is_as(d, f, &as[i]))
            continue;
        d->n_kept -= dir_keys_kept(f);
        dir_keys_swap(f, &blocks[i], runs[i].keys, runs[i].n, runs[i].complete);
        d->n_kept += dir_keys_kept(f);
        n_taken++;
    }
    directory_drop_keys(d);
    pthread_rwlock_unlock(&d->lock);
    for (size_t i = 0; i < n; i++)
        mem_free(blocks[i]);
    return n_taken;
}

/* The feeds of these runs; none when one of them has as many keys in memory as it can have. */
static void name_unread(const struct directory *d, const int64_t *of_run,
                        const struct merge_ends *ends, struct arena *scratch,
                        struct unread_keys *out)
{
    int64_t *ids = arena_alloc(scratch, ends->n * sizeof *ids + 1);

    *out = (struct unread_keys){ids, ends->n};
    for (size_t i = 0; i < ends->n; i++) {
        ids[i] = of_run[ends->runs[i]];
        if (!dir_keys_are_few(feed_at(d, ids[i])))
            out->n = 0;
    }
}

bool directory_merge(struct directory *d, const int64_t *ids, size_t n,
                     const struct merge_range *range, struct arena *scratch, int64_t *out,
                     size_t *n_out, struct unread_keys *unread)
{
    struct merge_run *runs = arena_alloc(scratch, n * sizeof *runs + 1);
    int64_t *of_run = arena_alloc(scratch, n * sizeof *of_run + 1);
    size_t n_runs = 0;
    struct merge_ends ends;
    bool deep_enough;

    pthread_rwlock_rdlock(&d->lock);
    for (size_t i = 0; i < n; i++) {
        const struct dir_feed *f = feed_at(d, ids[i]);

        if (f == NULL || (range->after_seq > 0 && f->last_seq <= range->after_seq))
            continue;
        of_run[n_runs] = ids[i];
        runs[n_runs++] = (struct merge_run){dir_keys_of(f), f->n_keys, f->complete, dir_keys_newest_at(f), f->last_seq};
    }
    deep_enough = merge_runs(runs, n_runs, range, scratch, out, n_out, &ends);
    name_unread(d, of_run, &ends, scratch, unread);
    pthread_rwlock_unlock(&d->lock);
    return deep_enough;
}
