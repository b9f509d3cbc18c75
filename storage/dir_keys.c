/* storage/dir_keys.c - see dir_keys.h. */
#include "storage/dir_keys.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

void dir_keys_set(struct dir_feed *f, const struct merge_key *keys, size_t n, bool complete)
{
    ASSERT(n <= DIRECTORY_KEYS);
    mem_free(f->keys);
    f->keys = n == 0 ? NULL : mem_alloc(n * sizeof *keys);
    if (n > 0)
        memcpy(f->keys, keys, n * sizeof *keys);
    f->n_keys = f->cap_keys = (uint8_t)n;
    f->complete = complete;
}

void dir_keys_drop(struct dir_feed *f, int64_t seq)
{
    uint8_t i = 0;

    while (i < f->n_keys && f->keys[i].seq != seq)
        i++;
    if (i == f->n_keys)
        return;
    f->n_keys--;
    memmove(&f->keys[i], &f->keys[i + 1], (size_t)(f->n_keys - i) * sizeof *f->keys);
}

/* Room for one more key, of DIRECTORY_KEYS. */
static void grow_keys(struct dir_feed *f)
{
    if (f->n_keys < f->cap_keys)
        return;
    f->cap_keys = f->cap_keys == 0 ? 4 : (uint8_t)(2 * f->cap_keys);
    f->keys = mem_realloc(f->keys, f->cap_keys * sizeof *f->keys);
}

void dir_keys_add(struct dir_feed *f, const struct merge_key *k)
{
    size_t low = 0, high = f->n_keys, middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (merge_key_before(&f->keys[middle], k))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == f->n_keys && !f->complete)
        return; /* keys that are only in the database may come before it */
    if (f->n_keys == DIRECTORY_KEYS) {
        f->complete = false;
        if (low == f->n_keys)
            return;
        f->n_keys--;
    }
    grow_keys(f);
    memmove(&f->keys[low + 1], &f->keys[low], (f->n_keys - low) * sizeof *f->keys);
    f->keys[low] = *k;
    f->n_keys++;
}
