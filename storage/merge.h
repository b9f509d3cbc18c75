/* storage/merge.h - finds the newest entries of several feeds from their keys alone. Pure.
 *
 * The directory keeps the newest keys of each feed in memory. merge_runs() goes through them with a
 * heap. When it reaches the last key in memory of a feed that has more keys in the database, the
 * answer is not known: it names the feeds of which that holds, whose keys must be read first. Of a feed
 * without keys in memory it knows how new its newest entry can be, so it need not read those that are
 * older than the page.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct merge_key {
    int64_t sort_at;
    int64_t seq; /* newest revision of the entry */
    int64_t iri; /* hash of a uid that is an absolute IRI; 0: the uid is not an absolute IRI, and
                    counts as unique */
};

/* Keys of one feed, newest first: sort_at, then seq, both descending. */
struct merge_run {
    const struct merge_key *keys;
    size_t n;
    bool complete; /* the feed has no older keys */
    /* of a run without keys that is not complete: no key has a later date, or a higher seq */
    int64_t newest_at, last_seq;
};

struct merge_range {
    int64_t after_seq, before_seq; /* both exclusive */
    size_t skip, len;
    bool keeps_doubles; /* entries with the same iri all appear */
    bool has_end;       /* only those with an earlier date than `before_at` */
    int64_t before_at;
};

/* True when `a` comes before `b`. */
bool merge_key_before(const struct merge_key *a, const struct merge_key *b);

/* The runs that end before the answer is known. */
struct merge_ends {
    size_t *runs; /* arena */
    size_t n;
};

/* Merge the runs. Of the entries with the same iri only the newest is kept. The seqs of the rows
 * skip .. skip+len are written to out[len], and their number to *n_out. False: the answer needs
 * older keys than the runs have; then *n_out is not written, and *ends says which of them have too
 * few. That may be one or two more than necessary, and others when those have more; for a range
 * with an upper date it is nearly every run of which only the newest keys are there. */
bool merge_runs(const struct merge_run *runs, size_t n_runs, const struct merge_range *range,
                struct arena *scratch, int64_t *out, size_t *n_out, struct merge_ends *ends);

/* A set of iris, for callers that get keys one at a time. */
struct iri_set {
    int64_t *slots; /* open addressing; 0 is free */
    size_t cap, n;
};

/* Room for `n` members in the arena. */
void iri_set_init(struct iri_set *s, struct arena *a, size_t n);

/* Add a member. True: it was not in the set before; for 0 always true. At most as many members may
 * be added as iri_set_init() has made room for. */
bool iri_set_add(struct iri_set *s, int64_t iri);
