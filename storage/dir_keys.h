/* storage/dir_keys.h - the keys of a feed that the directory has in memory: its newest ones, newest
 * first. Pure.
 *
 * After the start there is none, only the time that no key is later than (feeds.newest_at). Keys are read
 * when a merge reaches them, so a feed takes memory for its entries only when somebody reads it: then it
 * has a block of keys. When that goes, the newest key stays in the feed itself.
 */
#pragma once

#include "storage/dir_feed.h"
#include "storage/directory.h"

/* Replace all keys; `complete` says that the feed has no others. Without keys it must be complete: see
 * dir_keys_forget(). */
void dir_keys_set(struct dir_feed *f, const struct merge_key *keys, size_t n, bool complete);

/* The same in two steps, for callers that should not allocate or free while they hold a lock: a
 * block of the keys (NULL if they need none), and its exchange for that of the feed. */
struct key_block *dir_keys_copy(const struct merge_key *keys, size_t n) NODISCARD;
void dir_keys_swap(struct dir_feed *f, struct key_block **block, const struct merge_key *keys,
                   size_t n, bool complete);

/* Those that are in memory: f->n_keys. They stay where they are until the next change. */
const struct merge_key *dir_keys_of(const struct dir_feed *f);

/* For how many keys the feed has a block: 0 if it has none. */
size_t dir_keys_kept(const struct dir_feed *f);

/* Have none in memory; none is later than `newest_at`. TIME_UNKNOWN: there are none. */
void dir_keys_forget(struct dir_feed *f, int64_t newest_at);

/* Of a feed whose keys are all elsewhere: none of them is later than that. */
int64_t dir_keys_newest_at(const struct dir_feed *f);

/* The same is known anew, if the feed is such a one. */
void dir_keys_renew(struct dir_feed *f, int64_t newest_at);

/* Keep the newest one alone, and free the block. */
void dir_keys_drop(struct dir_feed *f);

/* Free them all. */
void dir_keys_release(struct dir_feed *f);

/* The entry whose key had the seq `old_seq` now has this key. old_seq 0: the entry is new; seq 0 of
 * the key: it has none any more. The key is left out when keys that are only in the database may
 * come before it. */
void dir_keys_change(struct dir_feed *f, int64_t old_seq, const struct merge_key *k);

/* Has the feed so few keys in memory that reading them from the database would give more? */
static inline bool dir_keys_are_few(const struct dir_feed *f)
{
    return !f->complete && f->n_keys < DIRECTORY_KEYS / 2;
}
