/* storage/dir_keys.c - see dir_keys.h. */
#include "storage/dir_keys.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

struct key_block {
    size_t cap;
    struct merge_key keys[];
};

static struct key_block *block_of(size_t cap)
{
    struct key_block *b = mem_alloc(sizeof *b + cap * sizeof *b->keys);

    b->cap = cap;
    return b;
}

/* Has it no key in memory, but perhaps some in the database? Then keys.one.sort_at is what none of them is
 * later than. */
static bool is_bare(const struct dir_feed *f)
{
    return f->n_keys == 0 && !f->complete;
}

static struct merge_key *keys_of(struct dir_feed *f)
{
    return f->has_block ? f->keys.block->keys : &f->keys.one;
}

const struct merge_key *dir_keys_of(const struct dir_feed *f)
{
    return f->has_block ? f->keys.block->keys : &f->keys.one;
}

size_t dir_keys_kept(const struct dir_feed *f)
{
    return f->has_block ? f->keys.block->cap : 0;
}

struct key_block *dir_keys_copy(const struct merge_key *keys, size_t n)
{
    struct key_block *b = n <= 1 ? NULL : block_of(n);

    if (b != NULL)
        memcpy(b->keys, keys, n * sizeof *keys);
    return b;
}

void dir_keys_swap(struct dir_feed *f, struct key_block **block, const struct merge_key *keys,
                   size_t n, bool complete)
{
    struct key_block *old = f->has_block ? f->keys.block : NULL;

    ASSERT(n <= DIRECTORY_KEYS && (n <= 1 || *block != NULL) && (n > 0 || complete));
    f->has_block = *block != NULL;
    if (f->has_block)
        f->keys.block = *block;
    else if (n == 1)
        f->keys.one = keys[0];
    *block = old;
    f->n_keys = (uint8_t)n;
    f->complete = complete;
}

void dir_keys_set(struct dir_feed *f, const struct merge_key *keys, size_t n, bool complete)
{
    struct key_block *block = dir_keys_copy(keys, n);

    dir_keys_swap(f, &block, keys, n, complete);
    mem_free(block);
}

void dir_keys_release(struct dir_feed *f)
{
    if (f->has_block)
        mem_free(f->keys.block);
    f->has_block = false;
    f->n_keys = 0;
}

void dir_keys_forget(struct dir_feed *f, int64_t newest_at)
{
    dir_keys_release(f);
    f->complete = newest_at == TIME_UNKNOWN;
    f->keys.one = (struct merge_key){.sort_at = newest_at};
}

int64_t dir_keys_newest_at(const struct dir_feed *f)
{
    return is_bare(f) ? f->keys.one.sort_at : TIME_UNKNOWN;
}

void dir_keys_renew(struct dir_feed *f, int64_t newest_at)
{
    if (is_bare(f))
        f->keys.one.sort_at = newest_at;
}

void dir_keys_drop(struct dir_feed *f)
{
    struct key_block *old = f->keys.block;

    if (!f->has_block)
        return;
    f->complete = f->complete && f->n_keys <= 1;
    f->has_block = false;
    f->n_keys = f->n_keys > 0;
    if (f->n_keys > 0)
        f->keys.one = old->keys[0];
    mem_free(old);
}

/* Where the key of this seq is; n_keys: not in memory. */
static size_t find_seq(const struct dir_feed *f, int64_t seq)
{
    size_t i = 0;

    while (i < f->n_keys && dir_keys_of(f)[i].seq != seq)
        i++;
    return i;
}

static void remove_key(struct dir_feed *f, size_t i)
{
    struct merge_key *keys = keys_of(f);

    if (f->n_keys == 1 && !f->complete) { /* those that are elsewhere come after it */
        dir_keys_forget(f, keys[0].sort_at);
        return;
    }
    f->n_keys--;
    memmove(&keys[i], &keys[i + 1], (f->n_keys - i) * sizeof *keys);
}

/* Room for one more key, of DIRECTORY_KEYS. */
static void grow_keys(struct dir_feed *f)
{
    size_t cap = f->has_block ? f->keys.block->cap : 1;
    struct key_block *b;

    if (f->n_keys < cap)
        return;
    cap = cap == 1 ? 4 : 2 * cap;
    b = block_of(cap);
    memcpy(b->keys, dir_keys_of(f), f->n_keys * sizeof *b->keys);
    if (f->has_block)
        mem_free(f->keys.block);
    f->keys.block = b;
    f->has_block = true;
}

/* Where the key belongs among those in memory. */
static size_t find_place(const struct dir_feed *f, const struct merge_key *k)
{
    size_t low = 0, high = f->n_keys, middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (merge_key_before(&dir_keys_of(f)[middle], k))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert_key(struct dir_feed *f, size_t at, const struct merge_key *k)
{
    /* of a feed that nobody reads only the newest one is kept */
    size_t most = f->has_block || f->complete ? DIRECTORY_KEYS : 1;
    struct merge_key *keys;

    if (f->n_keys == most) {
        f->complete = false;
        if (at == f->n_keys)
            return;
        f->n_keys--;
    }
    grow_keys(f);
    keys = keys_of(f);
    memmove(&keys[at + 1], &keys[at], (f->n_keys - at) * sizeof *keys);
    keys[at] = *k;
    f->n_keys++;
}

void dir_keys_change(struct dir_feed *f, int64_t old_seq, const struct merge_key *k)
{
    size_t old = old_seq == 0 ? f->n_keys : find_seq(f, old_seq), at = find_place(f, k);
    /* No key that is only in the database comes before the last one in memory, even if that is the
     * one that goes. */
    bool is_known = k->seq != 0 && (f->complete || at < f->n_keys);

    if (is_bare(f)) /* nothing that is elsewhere comes before it */
        is_known = k->seq != 0 && k->sort_at > f->keys.one.sort_at;

    if (old < f->n_keys) {
        remove_key(f, old);
        at -= at > old;
    }
    if (is_known)
        insert_key(f, at, k);
}
