/* api/views/feedset.h - writes a set of feeds, a page size and a filter as one word in a path.
 * Pure.
 *
 * URLs of archive documents must keep their meaning for ever, and must not need a table. So the
 * word contains the ids and the filter themselves. The word is signed, so that a client cannot read
 * a feed by guessing its number: some feeds have credentials, and only clients that know them are
 * given the word.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#define FEEDSET_MAX 500         /* feeds in one set; with more, URLs are too long for clients */
#define FEEDSET_FILTER_MAX 2000 /* bytes of the filter; for the same reason */

struct feedset {
    int64_t *ids; /* ascending, without doubles */
    size_t n;
    size_t page_size;  /* entries of an archive document */
    struct str filter; /* its text (model/filter.h); null: none */
};

/* Returns the word: digits and lower-case letters. `secret`: store_secret(). In the arena. */
struct str feedset_write(struct arena *a, const struct feedset *set, struct str secret);

/* Read the set of a word, in the arena. False: feedset_write() did not make the word with this
 * secret. */
bool feedset_read(struct arena *a, struct str word, struct str secret,
                  struct feedset *out) NODISCARD;
