/* storage/directory.h - what is kept in memory of every feed, so that the database need not be
 * asked: the URLs that mean the feed, its version and times, and the newest keys of its entries as
 * far as somebody has asked for them.
 *
 * It is read from the database at the start. After each commit the storer updates it, before the
 * commit is announced. Callers hold its lock for microseconds only, so any thread may call it,
 * including event loops.
 */
#pragma once

#include "base/arena.h"
#include "storage/merge.h"
#include "storage/store.h"

/* How many keys of a feed are in memory at most. Views that need older keys ask the database. */
#define DIRECTORY_KEYS 64

/* The newest keys of one feed, newest first. */
struct key_run {
    size_t n;
    bool complete; /* it has no others */
    struct merge_key keys[DIRECTORY_KEYS];
};

struct directory;

struct directory *directory_new(void);
void directory_free(struct directory **dp);

/* What the directory keeps of a feed. Strings are copied. */
struct directory_feed {
    struct feed_brief brief;
    struct str url, credential, access_key, page_url, site_url;
    const struct str *aliases;
    size_t n_aliases;
    int64_t last_seq, newest_at; /* as in struct feed */
    int64_t event_seq; /* newest event of the feed itself */
    int64_t horizon;   /* as in struct feed */
};

/* A change of a feed's keys: the entry whose newest revision was `old_seq` now has `key`. old_seq
 * 0: the entry is new. */
struct directory_key {
    int64_t feed_id, old_seq;
    struct merge_key key; /* seq 0: the entry is deleted and has no key */
};

/* ---- the storer -------------------------------------------------------------------------------*/

/* Lock and unlock the directory. No other thread can read it while it is locked. */
void directory_lock(struct directory *d);
void directory_unlock(struct directory *d);

/* Call these with the lock held. directory_put() adds a feed, or replaces what is kept of it,
 * except its keys and its credential. directory_renew() is for a feed that is there: its aliases
 * stay; event_seq is that of what is new, or 0. directory_key() changes one key;
 * directory_set_keys() replaces all keys of a feed, newest first, and `complete` says that the feed
 * has no others; directory_forget_keys() leaves it none, of which no one is later than `newest_at`. */
void directory_put(struct directory *d, const struct directory_feed *f);
void directory_renew(struct directory *d, const struct directory_feed *f);
void directory_remove(struct directory *d, int64_t feed_id);
void directory_key(struct directory *d, const struct directory_key *k);
void directory_set_keys(struct directory *d, int64_t feed_id, const struct merge_key *keys,
                        size_t n, bool complete);
void directory_forget_keys(struct directory *d, int64_t feed_id, int64_t newest_at);

/* How many keys are kept at most beyond the newest one of each feed; for tests. The lock is not held. */
void directory_bound_keys(struct directory *d, size_t most);

void directory_set_last_seq(struct directory *d, int64_t last_seq);

/* Note that the feed's row has changed, but only in members that the directory does not keep. */
void directory_edited(struct directory *d, int64_t feed_id);

/* Take all from `fresh`, which only the caller knows and is to free. The locks are not held. */
void directory_replace(struct directory *d, struct directory *fresh);

/* Write ids of feeds that are strays (storage/brief.h) before a time to ids[max]; returns how many.
 * It looks at `max` records that may be ones, from *at on, and moves *at; at the end of them it
 * becomes 0. */
size_t directory_strays(struct directory *d, int64_t before, size_t *at, int64_t *ids, size_t max);

/* ---- everybody ------------------------------------------------------------------------------- */

/* As in store.h. */
bool directory_find(struct directory *d, struct str url, struct str credential,
                    struct feed_brief *out);
bool directory_brief(struct directory *d, int64_t feed_id, struct feed_brief *out);
struct str directory_access_key(struct directory *d, int64_t feed_id, struct arena *a);
struct str directory_url(struct directory *d, int64_t feed_id, struct arena *a);
struct str directory_credential(struct directory *d, int64_t feed_id, struct arena *a,
                                struct str *given_at);
int64_t directory_edition(struct directory *d, int64_t feed_id); /* 0: there is no such feed */
int64_t directory_newest_edition(struct directory *d);           /* of all feeds */
int64_t directory_names(struct directory *d);                    /* as store_names() */
int64_t directory_changes(struct directory *d);                  /* as store_stamp() */
int64_t directory_protections(struct directory *d); /* grows when a feed is private that was not, or the reverse */
bool directory_has_alias(struct directory *d, struct str name);  /* has any feed this alias? */
size_t directory_find_any(struct directory *d, struct str url, int64_t *ids, size_t max);
size_t directory_find_named(struct directory *d, struct str url, int64_t *ids, size_t max); /* as store_find_named() */
int64_t directory_version(struct directory *d, const int64_t *ids, size_t n);
int64_t directory_seq_of(struct directory *d, const int64_t *ids, size_t n);

/* As store_horizon(). */
int64_t directory_horizon(struct directory *d, const int64_t *ids, size_t n, bool all);
int64_t directory_last_seq(struct directory *d);
size_t directory_briefs(struct directory *d, const int64_t *ids, size_t n, struct feed_brief *out);
size_t directory_newest(struct directory *d, const int64_t *ids, size_t n, size_t max,
                        int64_t *out);

/* Those of the feeds that have revisions after `seq`: out[n]. Returns how many. */
size_t directory_newer(struct directory *d, const int64_t *ids, size_t n, int64_t seq,
                       int64_t *out);

/* Which of these feeds of a subscription have a revision or an event after `seq`? Writes their
 * indexes to out[n], and how many there are to *n_out. False when one of the feeds is gone: then
 * the subscription has changed since it was read. */
bool directory_with_news(struct directory *d, const struct sub_feed *feeds, size_t n, int64_t seq,
                         size_t *out, size_t *n_out);

/* Write the ids of all feeds to *out, ascending, and return how many there are. Arena. */
size_t directory_ids(struct directory *d, struct arena *a, int64_t **out);

/* As in store.h. */
int64_t directory_n_needs(struct directory *d);
void directory_needs(struct directory *d, uint32_t counts[NEED_CLASSES]);

/* Feeds of which too few keys are in memory. */
struct unread_keys {
    const int64_t *feed_ids; /* arena */
    size_t n;
};

/* Find the newest entries of these feeds, as merge_runs() does. False: the answer needs older keys
 * than those in memory; when those of *unread are filled in, it may be found. n 0: it will not. */
bool directory_merge(struct directory *d, const int64_t *ids, size_t n,
                     const struct merge_range *range, struct arena *scratch, int64_t *out,
                     size_t *n_out, struct unread_keys *unread);

/* Set the keys of n feeds, which were read together with what `as` says of each. Of a feed that the
 * directory has in another state, an older or a newer one, they are not taken, because they may not
 * be the keys of that. Returns how many were taken. */
size_t directory_fill_keys(struct directory *d, const struct directory_feed *as,
                           const struct key_run *runs, size_t n);

/* Note that a client asks for these feeds at `now`. Writes to `out` the ids of the feeds for which
 * no client had asked since `before`, and returns how many they are. */
size_t directory_touch(struct directory *d, const int64_t *ids, size_t n, int64_t now,
                       int64_t before, int64_t *out);
