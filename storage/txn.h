/* storage/txn.h - what one transaction of the storer does beside its rows: the numbers it gives
 * out, the feeds, subscriptions and keys it changes. The storer's thread.
 *
 * Operations note their changes here; an operation that fails is taken back to its mark. After the
 * commit the storer carries the notes to the directory and the listeners.
 */
#pragma once

#include "storage/directory.h"
#include "storage/sqlite/db.h"
#include "storage/store.h"

struct txn_feed {
    int64_t id;
    size_t order; /* of noting, for the sort */
    bool is_new, is_pinged;
    int64_t merged_into; /* 0: it is still there */
    int64_t first_seq;   /* 0: no revisions */
    bool reload_keys;    /* its keys are to be read again */
};

struct txn_mark {
    size_t n_feeds, n_subs, n_keys, n_settled;
    int64_t last_seq, last_at_us, version;
};

struct txn {
    struct db *db;
    int64_t level_period_s[3];
    int64_t last_seq, last_at_us, version; /* given out so far; see schema.sql, table meta */
    struct txn_feed *feeds;
    int64_t *subs;
    struct directory_key *keys;
    struct hub_settled *settled;
    size_t n_feeds, cap_feeds, n_subs, cap_subs, n_keys, cap_keys, n_settled, cap_settled;
    bool has_hub_news; /* a request or a lease of a WebSub subscriber came in */
};

/* Where to go back to. */
struct txn_mark txn_mark(const struct txn *t);
void txn_undo(struct txn *t, struct txn_mark mark);

/* Forget the notes, keep the numbers and the memory. */
void txn_reset(struct txn *t);
void txn_release(struct txn *t);

/* Note a feed; the result is valid until the next note. */
struct txn_feed *txn_feed(struct txn *t, int64_t id);
void txn_sub(struct txn *t, int64_t id);
void txn_key(struct txn *t, const struct directory_key *k);
void txn_settled(struct txn *t, struct hub_settled settled);

/* One note a feed, by id: the notes of each are joined. Subscriptions without doubles. */
void txn_fold(struct txn *t);

/* The next numbers. Times and versions rise strictly, also when the clock does not. */
int64_t txn_next_seq(struct txn *t);
int64_t txn_next_at_us(struct txn *t);
int64_t txn_next_version(struct txn *t);
