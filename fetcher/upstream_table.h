/* fetcher/upstream_table.h - the rows of our subscriptions at upstream hubs, and what happens to
 * them.
 *
 * No lock, no calls and no timers: upstream_subs.c has these. It calls everything here under its
 * lock, and lets the loop have a turn when `needs_turn` is set. What changes a row writes it to the
 * database.
 */
#pragma once

#include "base/arena.h"
#include "base/compiler.h"
#include "base/map.h"
#include "fetcher/time_heap.h"
#include "fetcher/upstream_links.h"
#include "net/host_turns.h"
#include "storage/store.h"

#define UPSTREAM_REASON_TEXT 200

struct upstream_sub {
    struct upstream row; /* its strings are in `arena`, except the error */
    struct arena arena;
    char error[UPSTREAM_REASON_TEXT];
    struct time_node node; /* row.next_at, while no call is in flight */
    struct host_turn turn; /* due, but other requests come first */
    bool is_calling;
    bool is_waiting;   /* the hub has accepted the request but not verified it yet */
    bool is_confirmed; /* the hub has verified it while the call was in flight */
    bool is_foreign;   /* another node does what is to be done */
    bool is_asked;     /* the database was asked whether another node has taken the verification */
    bool is_unsaved;   /* must be saved again, because it was not stored */
    bool is_stale;     /* another node has changed the row, so what we would store was refused */
    bool has_failed;   /* what was saved was not stored; so what was saved after it is refused */

    uint64_t stored;   /* mark of the row that the database has or gets (store_upstream_mark()) */
    uint64_t before;   /* with has_failed: of the row that it has */
    int n_saving;      /* the storer has it so many times */
    unsigned saved_in; /* the reading that was the last one to begin before it was saved */

    struct str standin; /* of a hub: token of the cloud that is heard until the hub has verified it;
                           null. In `arena` */
    int64_t hub_failed_at; /* of a cloud: when it took the place of a hub that failed; 0: it did
                              not, as far as one knows */
};

struct upstream_table {
    struct store *store;
    bool (*owns)(void *ctx, int64_t feed_id); /* NULL: all feeds are ours */
    void *owns_ctx;
    struct map by_token; /* struct upstream_sub */
    struct map by_feed;  /* those that are current, by feed id */
    struct time_heap heap;
    struct host_turns turns;
    struct arena arena; /* the next two; a reload adds to it */
    struct str base_url, local_url;
    int64_t unused_s;
    size_t n_unsaved;
    int64_t save_at_ms;   /* when they are saved again, by the monotonic clock */
    int n_failures;       /* so often in a row was something not stored */
    unsigned n_readings;  /* those that have begun; counted by the owner */
    store_done_fn *saved; /* gets a struct upstream_save for each row that was saved or dropped. It
                             calls upstream_table_saved() under the lock. NULL: nobody waits */
    bool needs_turn;      /* something is due now, or unsaved; the owner resets it */
};

void upstream_table_release(struct upstream_table *t);

/* Could it be a token of ours? Pure. */
bool upstream_token_is_possible(struct str token);

/* Add a row. It gets a token and a secret, unless it has them. It is not saved. */
struct upstream_sub *upstream_table_add(struct upstream_table *t, const struct upstream *row);

/* Is its feed ours, so that this node does what is to be done? */
bool upstream_table_owns(const struct upstream_table *t, int64_t feed_id);

/* These are all rows of the database now. A row that is not as it was stored from here has been
 * changed by another node, which a hub has called: it takes the place of what is known here. What
 * is on its way to the database is newer here than there. */
void upstream_table_take(struct upstream_table *t, const struct upstream *rows, size_t n);

/* The same for the rows with these tokens: `rows` are those of them that exist. */
void upstream_table_take_some(struct upstream_table *t, const struct str *tokens, size_t n_tokens,
                              const struct upstream *rows, size_t n);

/* Forget the rows that others act on, here and not in the database. Those with a call in flight,
 * and those that are not saved yet, stay. */
void upstream_table_forget_others(struct upstream_table *t);

/* The current row of a feed, or NULL. */
struct upstream_sub *upstream_table_of_feed(struct upstream_table *t, int64_t feed_id);

/* Bring a row, or all rows, to what is wanted now. A row may be freed. */
void upstream_sub_check(struct upstream_table *t, struct upstream_sub *sub);
void upstream_table_check_all(struct upstream_table *t);

/* Set the time of the next action, Unix seconds; TIME_UNKNOWN: none. */
void upstream_sub_set_next(struct upstream_table *t, struct upstream_sub *sub, int64_t at);

/* Forget a row, here and in the database, and free it. */
void upstream_sub_drop(struct upstream_table *t, struct upstream_sub *sub);

/* Forget a row here, but not in the database, and free it. */
void upstream_sub_forget(struct upstream_table *t, struct upstream_sub *sub);

/* After the start: tell hubs that have not verified us which clouds stand in for them. */
void upstream_table_find_standins(struct upstream_table *t);

/* Is it a cloud that only stands in for a hub? It is not asked again. */
bool upstream_sub_is_over(const struct upstream_sub *sub);

/* What was asked of the hub did not come to pass, and why. The row may be freed. */
PRINTF_LIKE(3, 4)
void upstream_sub_fail(struct upstream_table *t, struct upstream_sub *sub, const char *fmt, ...);

/* The hub has verified the subscription, with this lease in seconds, or denied it. The row is not
 * saved. */
void upstream_sub_verified(struct upstream_table *t, struct upstream_sub *sub, int64_t lease);
void upstream_sub_denied(struct upstream_table *t, struct upstream_sub *sub, struct str reason);

/* The hub has confirmed the end, or will not confirm it. It is stored, as by upstream_sub_save();
 * the row may be freed. */
bool upstream_sub_ended(struct upstream_table *t, struct upstream_sub *sub, store_done_fn *done,
                        void *ctx);

/* Take over the links that a fetch of the feed found. */
void upstream_table_take_links(struct upstream_table *t, int64_t feed_id,
                               const struct upstream_links *links);

/* The feed became part of the feed `to`. A cloud that stands in for the hub moves with it. If `to`
 * is not ours, its node moves the row, and it is forgotten here; it may be freed. */
void upstream_sub_merged(struct upstream_table *t, struct upstream_sub *sub, int64_t to);
