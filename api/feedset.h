/* api/feedset.h - a set of feeds and a page size as a word in a path. Pure.
 *
 * Archive documents have URLs of their own, which must mean the same for ever and need no table:
 * the word holds the ids themselves. It is signed, so that nobody reads a feed by guessing its
 * number: some have credentials, and who does not know those learns the word from nobody.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#define FEEDSET_MAX 500 /* feeds in one set: beyond it URLs grow too long for clients */

struct feedset {
    int64_t *ids; /* ascending, without doubles */
    size_t n;
    size_t page_size; /* entries of an archive document */
};

/* The word: digits and lower-case letters. `secret`: store_secret(). In the arena. */
struct str feedset_write(struct arena *a, const struct feedset *set, struct str secret);

/* Its set, in the arena; false when it is no word that feedset_write() gave with this secret. */
bool feedset_read(struct arena *a, struct str word, struct str secret,
                  struct feedset *out) NODISCARD;
