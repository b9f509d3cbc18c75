/* storage/directory.h - what is known of every feed without a query: which record a URL means, its
 * version and times, the newest keys of its entries.
 *
 * Filled at start, then changed by the storer after each commit, before anybody is told. Readers
 * hold a lock for microseconds: any thread, loops too. Memory is a cache of the database.
 */
#pragma once

#include "base/arena.h"
#include "storage/merge.h"
#include "storage/store.h"

/* Newest keys kept per feed; views that go deeper ask the database. */
#define DIRECTORY_KEYS 64

struct directory;

struct directory *directory_new(void);
void directory_free(struct directory **dp);

/* All of a feed's row that the directory keeps. Strings are copied. */
struct directory_feed {
    struct feed_brief brief;
    struct str url, credential, access_key, page_url, site_url;
    const struct str *aliases;
    size_t n_aliases;
    int64_t last_seq; /* newest revision of the feed */
};

/* A change of a feed's keys: the entry whose revision was `old_seq` (0: none) has `key` now. */
struct directory_key {
    int64_t feed_id, old_seq;
    struct merge_key key; /* seq 0: it has none, the entry is deleted */
};

/* ---- the storer -------------------------------------------------------------------------------*/

/* Between these two nobody else sees the directory. */
void directory_lock(struct directory *d);
void directory_unlock(struct directory *d);

/* With the lock held. */
void directory_put(struct directory *d, const struct directory_feed *f);
void directory_remove(struct directory *d, int64_t feed_id);
void directory_key(struct directory *d, const struct directory_key *k);
void directory_set_keys(struct directory *d, int64_t feed_id, const struct merge_key *keys,
                        size_t n, bool complete);
void directory_set_last_seq(struct directory *d, int64_t last_seq);

/* True when deletions have left so few keys that they should be read again. */
bool directory_wants_keys(struct directory *d, int64_t feed_id);

/* ---- everybody ------------------------------------------------------------------------------- */

/* As in store.h. */
bool directory_find(struct directory *d, struct str url, struct str credential,
                    struct feed_brief *out);
bool directory_brief(struct directory *d, int64_t feed_id, struct feed_brief *out);
struct str directory_access_key(struct directory *d, int64_t feed_id, struct arena *a);
struct str directory_credential(struct directory *d, int64_t feed_id, struct arena *a,
                                struct str *given_at);
size_t directory_find_any(struct directory *d, struct str url, int64_t *ids, size_t max);
int64_t directory_version(struct directory *d, const int64_t *ids, size_t n);
int64_t directory_seq_of(struct directory *d, const int64_t *ids, size_t n);
int64_t directory_last_seq(struct directory *d);

/* Of these feeds of a subscription, the places of those with a revision after `seq`: writes them to
 * out[n], and how many to *n_out. False when one of the records is gone: the subscription has
 * changed since it was read. */
bool directory_with_news(struct directory *d, const struct sub_feed *feeds, size_t n, int64_t seq,
                         size_t *out, size_t *n_out);

/* All ids, ascending. */
size_t directory_ids(struct directory *d, struct arena *a, int64_t **out);

/* The merged newest of these feeds, as merge_runs(). False: not deep enough. */
bool directory_merge(struct directory *d, const int64_t *ids, size_t n,
                     const struct merge_range *range, struct arena *scratch, int64_t *out,
                     size_t *n_out);

/* Note that a reader asked for these feeds at `now`; writes to out those for which that is news
 * since `before`, and returns how many. */
size_t directory_touch(struct directory *d, const int64_t *ids, size_t n, int64_t now,
                       int64_t before, int64_t *out);
