/* storage/pushes.h - the calls of storage about deliveries: what a subscription gets next, what
 * became of it, dead letters, and how far it lags. store.h says what is common to all calls.
 */
#pragma once

#include "storage/store.h"

/* ---- writes. Any thread. Everything is copied -------------------------------------------- */

/* Where a subscription stood when a delivery was drawn. */
struct push_from {
    bool is_known; /* false: the outcome counts wherever the subscription stands now */
    int64_t position;
    int n_failures;
    int64_t chain_seq;
};

/* The result of a delivery, or of a look that found nothing to deliver. The position moves to
 * `position` if the subscription still has this generation; else somebody has set the position in
 * the meantime, and it stays. State and failures are those of an endpoint: when the subscription
 * has another one in the meantime, they stay, too. The rest of the outcome is stored in any case,
 * unless the outcome is stale: see push_is_stale(). */
struct push_outcome {
    int64_t sub_id;
    int64_t generation;    /* of the subscription when the delivery was drawn */
    struct push_from from; /* where it stood then */
    struct str endpoint;   /* the one that was called; null: whatever the subscription has */
    int64_t position;      /* the new position; 0: the position does not move */
    struct log_mark chain; /* where the delivery ended; seq 0: nothing was delivered */
    bool fault;            /* the endpoint answered with a fault, which counts as delivered */
    int64_t n_entries;     /* that were delivered */
    bool failed;           /* the rest was not delivered, and the endpoint is at fault */
    struct str error;      /* of a fault, failure or refusal */
    int64_t next_try_at;   /* TIME_UNKNOWN: no further try is pending */
    enum sub_state state;  /* from now on; a subscription that is paused stays paused */
    bool ended;            /* the endpoint wants no more: the subscription ends */

    int64_t refused_seq; /* the entry that was refused alone; 0: none was */
    int n_refusals;      /* so many times */
    int64_t part_max;    /* the next delivery may have so many entries; 0: this is not changed */
    int64_t part_until;  /* until the position is here; 0: this is not changed */

    /* A dead letter: one that is made (is_dead, all but its id is set), or an old one that was
     * tried again (dead.id is set): delivered, when neither `failed` nor `is_dead` is true. */
    struct dead_letter dead;
    bool is_dead;

    bool has_note; /* `note` goes to the delivery log */
    struct delivery_note note;
};

/* Was the delivery drawn by somebody who is not the last one to deliver? Another node has moved
 * the position since, or has counted a failure which this failure does not know; or somebody has set
 * the position, and another node has delivered or failed after that. Such an outcome moves nothing and
 * counts for nothing. Pure. */
bool push_is_stale(const struct push_outcome *o, const struct subscription *now);

/* Write the outcomes of `n` deliveries, each of another subscription: all, or none. result.fates
 * says of each what became of it. */
enum rc store_push_outcomes(struct store *s, const struct push_outcome *outcomes, size_t n,
                            store_done_fn *done, void *ctx) NODISCARD;

/* Have a subscription's dead letters delivered again, or drop them: one, or all when dead_id is 0.
 * RC_NOT_FOUND: there is no such subscription, or it has no dead letter `dead_id`. result.sub. */
enum rc store_dead_retry(struct store *s, int64_t sub_id, int64_t dead_id, store_done_fn *done,
                         void *ctx) NODISCARD;
enum rc store_dead_drop(struct store *s, int64_t sub_id, int64_t dead_id, store_done_fn *done,
                        void *ctx) NODISCARD;

/* ---- reads ------------------------------------------------------------------------------- */

/* May a feed of the subscription have something after its position? No query; any thread. */
bool store_may_have_news(struct store *s, const struct subscription *sub);

/* Read what comes next for many subscriptions in one snapshot: all calls up to reader_let_go() see
 * the state of the database at the first of them. What many subscriptions have in common is read
 * once. Call nothing in between that looks at the newest state (store_version(), store_last_seq()),
 * and let go soon, because the write-ahead log grows meanwhile. */
enum rc reader_hold(struct reader *r, struct err *err) NODISCARD;
void reader_let_go(struct reader *r);

/* Since reader_hold(), so many revisions were judged by filters of subscriptions that it is time to
 * let go: what is next for further ones with a filter may wait. */
bool reader_has_judged_enough(const struct reader *r);

/* Read these subscriptions, with what only the notifier may know of them. The ids must differ. */
enum rc reader_push_subs(struct reader *r, struct push_sub *subs, size_t n,
                         struct err *err) NODISCARD;

/* What a subscription gets next: revisions of one feed from one fetch, or an event of a feed. */
struct push_next {
    struct revision *revisions; /* the first after its position, oldest first; only those that the
                                   subscription wants (struct subscription, events). Valid until
                                   reader_let_go() */
    size_t n;
    struct feed_event event;  /* seq 0: there are revisions, or nothing */
    int64_t feed_id;          /* 0: there is nothing */
    struct str shown_url;     /* by which the feed was subscribed */
    int64_t skip_to;          /* nothing is to be delivered up to this seq: the position may move */
    bool is_cut;              /* nothing was found, but after skip_to one has to look again: a
                                 filter has passed over much */
    struct dead_letter *dead; /* not NULL: the one revision, or the event, is a dead letter that is
                                 to be delivered again */
};

/* Find it: at most `max` revisions. Nothing is found, too, when `sub` has changed since it was
 * read; then a notice follows. Dead letters that are wanted come first. Arena. */
enum rc reader_next_push(struct reader *r, const struct subscription *sub, size_t max,
                         struct arena *a, struct push_next *out, struct err *err) NODISCARD;

/* Is nothing after `position` wanted by the subscription? Dead letters do not count. */
enum rc reader_is_drained(struct reader *r, const struct subscription *sub, int64_t position,
                          bool *out, struct err *err) NODISCARD;

/* A run of the log for a subscription: what it gets next, of all its feeds, in the order of the
 * log. An event of a feed stands between revisions: `events` has it, with its place among them. */
struct push_run {
    struct revision *revisions;
    size_t n;
    struct feed_event *events; /* ascending by seq, like the revisions */
    size_t n_events;
    int64_t skip_to;          /* when there is neither: as in push_next */
    bool is_cut;              /* the same */
    bool is_all;              /* nothing follows, as far as one can see */
    struct dead_letter *dead; /* as in push_next */
};

/* Find it: at most `max` revisions and events, whose documents have at most `max_bytes` bytes, or
 * one larger one. Nothing is found, too, when `sub` has changed since it was read; then a notice
 * follows. A dead letter that is wanted comes first, alone. Arena. */
enum rc reader_push_run(struct reader *r, const struct subscription *sub, size_t max,
                        size_t max_bytes, struct arena *a, struct push_run *out,
                        struct err *err) NODISCARD;

/* How much a subscription will still be given: revisions and events after its position, counted to
 * LAG_MAX, with a filter only those that it tells; and the time of the first one in microseconds,
 * 0: there is none. A subscription that is up to date costs no query. */
#define LAG_MAX 1000000
struct sub_lag {
    int64_t n;
    int64_t first_at_us;
};
enum rc reader_lag(struct reader *r, const struct subscription *sub, struct sub_lag *out,
                   struct err *err) NODISCARD;

/* The settings of a subscription's sink: JSON, or null. SECRET: for the notifier, and for a change
 * of them. Arena. */
enum rc reader_sink_settings(struct reader *r, int64_t sub_id, struct arena *a, struct str *out,
                             struct err *err) NODISCARD;

/* The last deliveries of a subscription, newest first, at most `max`. Arena. */
enum rc reader_deliveries(struct reader *r, int64_t sub_id, size_t max, struct arena *a,
                          struct delivery_note **out, size_t *n_out, struct err *err) NODISCARD;

/* The dead letters of a subscription, oldest first. Arena. */
enum rc reader_dead_letters(struct reader *r, int64_t sub_id, struct arena *a,
                            struct dead_letter **out, size_t *n_out, struct err *err) NODISCARD;

/* How many dead letters each subscription from `first` to `last` has, ascending by subscription;
 * those without any are left out. Arena. */
enum rc reader_dead_counts(struct reader *r, int64_t first, int64_t last, struct arena *a,
                           struct dead_count **out, size_t *n_out, struct err *err) NODISCARD;
