/* storage/dir_keys.c - see dir_keys.h. */
#include "storage/dir_keys.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

struct merge_key *dir_keys_copy(const struct merge_key *keys, size_t n)
{
    struct merge_key *copy = n == 0 ? NULL : mem_alloc(n * sizeof *keys);

    if (n > 0)
        memcpy(copy, keys, n * sizeof *keys);
    return copy;
}

void dir_keys_swap(struct dir_feed *f, struct merge_key **keys, size_t n, bool complete)
{
    struct merge_key *old = f->keys;

    ASSERT(n <= DIRECTORY_KEYS);
    f->keys = *keys;
    *keys = old;
    f->n_keys = f->cap_keys = (uint8_t)n;
    f->complete = complete;
}

void dir_keys_set(struct dir_feed *f, const struct merge_key *keys, size_t n, bool complete)
{
    struct merge_key *copy = dir_keys_copy(keys, n);

    dir_keys_swap(f, &copy, n, complete);
    mem_free(copy);
}

/* Where the key of this seq is; n_keys: not in memory. */
static size_t find_seq(const struct dir_feed *f, int64_t seq)
{
    size_t i = 0;

    while (i < f->n_keys && f->keys[i].seq != seq)
        i++;
    return i;
}

static void remove_key(struct dir_feed *f, size_t i)
{
    f->n_keys--;
    memmove(&f->keys[i], &f->keys[i + 1], (f->n_keys - i) * sizeof *f->keys);
}

/* Room for one more key, of DIRECTORY_KEYS. */
static void grow_keys(struct dir_feed *f)
{
    if (f->n_keys < f->cap_keys)
        return;
    f->cap_keys = f->cap_keys == 0 ? 4 : (uint8_t)(2 * f->cap_keys);
    f->keys = mem_realloc(f->keys, f->cap_keys * sizeof *f->keys);
}

/* Where the key belongs among those in memory. */
static size_t find_place(const struct dir_feed *f, const struct merge_key *k)
{
    size_t low = 0, high = f->n_keys, middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (merge_key_before(&f->keys[middle], k))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert_key(struct dir_feed *f, size_t at, const struct merge_key *k)
{
    if (f->n_keys == DIRECTORY_KEYS) {
        f->complete = false;
        if (at == f->n_keys)
            return;
        f->n_keys--;
    }
    grow_keys(f);
    memmove(&f->keys[at + 1], &f->keys[at], (f->n_keys - at) * sizeof *f->keys);
    f->keys[at] = *k;
    f->n_keys++;
}

void dir_keys_change(struct dir_feed *f, int64_t old_seq, const struct merge_key *k)
{
    size_t old = old_seq == 0 ? f->n_keys : find_seq(f, old_seq), at = find_place(f, k);
    /* No key that is only in the database comes before the last one in memory, even if that is the
     * one that goes. */
    bool is_known = k->seq != 0 && (f->complete || at < f->n_keys);

    if (old < f->n_keys) {
        remove_key(f, old);
        at -= at > old;
    }
    if (is_known)
        insert_key(f, at, k);
}
