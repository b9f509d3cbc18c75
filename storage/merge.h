/* storage/merge.h - the newest entries of several feeds, by keys alone. Pure.
 *
 * The directory keeps the newest keys of each feed in memory; this walks them with a heap. When the
 * walk would pass the end of keys that are not all of a feed's, it says so, and the retriever asks
 * the database's index instead.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct merge_key {
    int64_t sort_at;
    int64_t seq; /* newest revision of the entry */
    int64_t iri; /* hash of a uid that is an absolute IRI; 0: none, never a double */
};

/* Keys of one feed, newest first: sort_at, then seq, both descending. */
struct merge_run {
    const struct merge_key *keys;
    size_t n;
    bool complete; /* there is nothing older */
};

struct merge_range {
    int64_t after_seq, before_seq; /* both exclusive */
    size_t skip, len;
};

/* True when `a` comes before `b`. */
bool merge_key_before(const struct merge_key *a, const struct merge_key *b);

/* Write the seqs of rows skip .. skip+len of the merged runs to out[len], entries with the same iri
 * but the newest left out, and their number to *n_out. False when the runs do not reach so deep;
 * then nothing is written to *n_out. */
bool merge_runs(const struct merge_run *runs, size_t n_runs, const struct merge_range *range,
                struct arena *scratch, int64_t *out, size_t *n_out);

/* A set of iris, for walks that bring keys one by one. */
struct iri_set {
    int64_t *slots; /* open addressing; 0 is free */
    size_t cap, n;
};

/* Room for `n` members in the arena. */
void iri_set_init(struct iri_set *s, struct arena *a, size_t n);

/* True when it was not there. Always true for 0. At most `n` of init may be added. */
bool iri_set_add(struct iri_set *s, int64_t iri);
