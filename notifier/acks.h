/* notifier/acks.h - has the outcomes of deliveries written to the database, many at once.
 *
 * One write is under way at a time. The outcomes that come meanwhile are gathered, and go together
 * in the next one. An outcome may also wait a few milliseconds for others. So one that must not
 * wait is written at once, and under load one operation and one commit are enough for hundreds.
 * When the database refuses a write of many, each of them is written alone the next time, so that
 * one that cannot be written does not hold up the others.
 *
 * Everything belongs to the notify loop's thread. */
#pragma once

#include <sys/queue.h>

#include "net/loop.h"
#include "notifier/outcomes.h"
#include "notifier/owned.h"

struct member;

/* An outcome on its way to the database. */
struct ack {
    struct acks *acks;
    struct member *member;  /* set by turns.c: whose outcome it is; NULL: it has ended */
    struct outcome outcome; /* strings: in `texts` */
    struct permit permit;   /* set by turns.c: the slot stays ours until this is written */
    enum { ACK_HERE, ACK_GATHERED, ACK_AT_STORER } state;
    bool goes_alone; /* the database has refused it, perhaps because of others */
    TAILQ_ENTRY(ack) next;
    char texts[];
};
TAILQ_HEAD(ack_list, ack);

/* A write has ended: RC_OK; RC_NOT_FOUND: the subscription is gone;
 * RC_CONFLICT: another node has delivered since (push_is_stale()); RC_FULL, RC_CLOSED: the storer
 * takes nothing; any other: the database has failed. The ack is here again: it can be freed, or
 * added once more. */
typedef void ack_done_fn(void *ctx, struct ack *ack, enum rc rc);

struct acks {
    struct store *store; /* borrowed, like the loop */
    struct loop *loop;
    ack_done_fn *done;
    void *ctx;
    struct ack_list gathered;
    size_t n_gathered;
    size_t n;                 /* acks that were made and not freed */
    bool is_writing;          /* the storer has some */
    int64_t write_ms;         /* what is gathered may wait until then (monotonic clock) */
    struct loop_timer *later; /* it does, until later_ms; NULL: it does not */
    int64_t later_ms;
};

void acks_init(struct acks *a, struct store *store, struct loop *loop, ack_done_fn *done,
               void *ctx);

/* Make an ack; the strings of the outcome are copied. Free it, unless the storer has it: then its
 * `done` must do that. */
struct ack *ack_new(struct acks *a, const struct outcome *outcome);
void ack_free(struct ack *ack);

/* Have it written. `done` runs once, perhaps before this function returns. It may wait `wait_ms`
 * for others. */
void acks_add(struct acks *a, struct ack *ack, int64_t wait_ms);

/* Hand over what is gathered, whatever is under way; what the storer does not take is freed. `done`
 * still runs for what it has taken. */
void acks_stop(struct acks *a);
