/* storage/txn.h - the notes of one transaction of the storer: the numbers that it has given out,
 * and the feeds, subscriptions and keys that it has changed. Only the storer's thread uses it.
 *
 * Operations note their changes here. When an operation fails, its notes are removed (txn_mark(),
 * txn_undo()). After the commit the storer passes the notes on to the directory and the listeners.
 */
#pragma once

#include "storage/directory.h"
#include "storage/quota.h"
#include "storage/rows.h"
#include "storage/store.h"
#include "storage/tables.h"

struct txn_feed {
    int64_t id;
    size_t order; /* the order in which the notes were made, for sorting */
    bool is_new, is_pinged;
    bool is_by_hand;  /* somebody asked for a fetch now */
    bool is_wanted;   /* store_wish() */
    bool is_answered; /* store_answer_wish(), with the next one */
    enum rc answer;
    int64_t merged_into;  /* 0: it is still there */
    int64_t first_seq;    /* of its revisions; 0: there are none */
    int64_t event_seq;    /* of its last feed_event; 0: there is none */
    bool has_event;       /* a feed_event was added */
    bool has_time;        /* not a fetch, but somebody else has changed when it is due */
    bool has_names;       /* its URL or its aliases have changed */
    bool reload_keys;     /* its keys are to be read again */
    struct feed_row *row; /* as it was saved, in the operation's arena; NULL: not known */
    bool is_read; /* set by txn_fold(): the row must be read, because other operations have changed
                     it */
};

struct txn_mark {
    size_t n_feeds, n_subs, n_tried_subs, n_keys, n_settled, n_edited;
    int64_t last_seq, last_at_us, version;
};

struct db;

struct txn {
    struct db *db;
    struct rows rows;                      /* loaded and changed, not all of them written yet */
    struct directory *dir;                 /* knows which edition of a feed was published last */
    struct levels levels;                  /* of this transaction */
    struct quotas *quotas;                 /* what feeds may bring; NULL: there is no bound */
    int64_t last_seq, last_at_us, version; /* given out so far; see schema.sql, table meta */
    struct txn_feed *feeds;
    int64_t *subs;
    int64_t *tried_subs; /* txn_sub_tried() */
    struct directory_key *keys;
    struct hub_settled *settled;
    int64_t *edited; /* feeds whose rows have changed only in members that no notice reports */
    size_t n_feeds, cap_feeds, n_subs, cap_subs, n_tried_subs, cap_tried_subs, n_keys, cap_keys,
        n_settled, cap_settled;
    size_t n_edited, cap_edited;
    bool has_hub_news; /* a request or a lease of a WebSub subscriber came in */
    bool has_view_news; /* a named view was made, changed or deleted */
    int64_t notice;    /* the number of its notice in a log with several writers; 0: it has none */
    int64_t edition;   /* directory_newest_edition() before its rows were read */
};

/* txn_mark() returns the present state of the notes; txn_undo() goes back to it. */
struct txn_mark txn_mark(const struct txn *t);
void txn_undo(struct txn *t, struct txn_mark mark);

/* Forget the notes, keep the numbers and the memory. */
void txn_reset(struct txn *t);
void txn_release(struct txn *t);

/* Note a feed; the result is valid until the next note. */
struct txn_feed *txn_feed(struct txn *t, int64_t id);
/* Revisions of the feed, from `first` on. */
void txn_revisions(struct txn *t, int64_t feed_id, int64_t first);
void txn_sub(struct txn *t, int64_t id);
/* The same, and somebody wants it to be tried now (struct commit_notice). */
void txn_sub_tried(struct txn *t, int64_t id);
void txn_edited(struct txn *t, int64_t feed_id);
void txn_key(struct txn *t, const struct directory_key *k);
void txn_settled(struct txn *t, struct hub_settled settled);

/* Has the feed's row changed in this transaction? */
bool txn_has_changed(const struct txn *t, int64_t feed_id);

/* Load more rows in the middle of an operation, if it could not say before what it looks at. What
 * it has changed of the same feeds must have been written. */
struct wants;
enum rc txn_more(struct txn *t, const struct wants *w, struct err *err) NODISCARD;

/* Hold the row of a feed, if it is not held yet. A feed that does not exist is held as missing. */
enum rc txn_hold_feed(struct txn *t, int64_t id, bool with_head, struct err *err) NODISCARD;

/* Hold a subscription as `want` says, as far as it is not held so yet. *out: it; one that does not
 * exist is held as such. */
struct want_sub;
struct held_sub;
enum rc txn_hold_sub(struct txn *t, const struct want_sub *want, struct held_sub **out,
                     struct err *err) NODISCARD;

/* Join the notes of each feed into one, and sort them by feed id. Remove doubles from the list of
 * subscriptions. It may be called again. */
void txn_fold(struct txn *t);

/* Give out the next number. Times and versions always grow, even when the clock stands still or
 * goes back. */
int64_t txn_next_seq(struct txn *t);
int64_t txn_next_at_us(struct txn *t);
int64_t txn_next_version(struct txn *t);

/* ---- numbers that are known only after the commit -------------------------------------------- */

/* An engine with several writers draws numbers when it commits. Until then they are counted from
 * NUMBERS_HERE (storage/tables.h): txn_count_here() lets them begin there. These have to be added
 * then; they are negative. */
struct txn_base {
    int64_t seq, at_us, version;
    int64_t notice; /* txn.notice, not to be added */
};
void txn_count_here(struct txn *t);

/* A number as it is in the log. One that was known before stays. */
static inline int64_t txn_number(int64_t n, int64_t base)
{
    return n < NUMBERS_HERE ? n : n + base;
}

/* After the commit: make numbers of the log of all that the notes have, and of the counters. */
void txn_settle(struct txn *t, const struct txn_base *base);
