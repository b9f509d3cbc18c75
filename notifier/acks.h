/* notifier/acks.h - has the outcomes of deliveries written to the database, many at once.
 *
 * One write is under way at a time. The outcomes that come meanwhile are gathered, and go together
 * in the next one. So an outcome that comes alone is written at once. While many endpoints wait for
 * their turn, the next write also waits a few milliseconds for more outcomes. Then one operation
 * and one commit are enough for hundreds. When the database refuses a write of many, each of them
 * is written alone the next time, so that one that cannot be written does not hold up the others.
 *
 * Everything belongs to the notify loop's thread. */
#pragma once

#include <sys/queue.h>

#include "net/loop.h"
#include "notifier/outcomes.h"

struct member;

/* An outcome on its way to the database. */
struct ack {
    struct acks *acks;
    struct member *member;  /* set by turns.c: whose outcome it is; NULL: it has ended */
    struct outcome outcome; /* strings: in `arena` */
    struct arena arena;
    enum { ACK_HERE, ACK_GATHERED, ACK_AT_STORER } state;
    bool goes_alone; /* the database has refused it, perhaps because of others */
    TAILQ_ENTRY(ack) next;
};
TAILQ_HEAD(ack_list, ack);

/* A write has ended: RC_OK; RC_NOT_FOUND: the subscription is gone; RC_FULL, RC_CLOSED: the storer
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
    bool more_come;           /* what the last acks_add() said */
    struct loop_timer *later; /* what is gathered waits for more; NULL: it does not */
};

void acks_init(struct acks *a, struct store *store, struct loop *loop, ack_done_fn *done,
               void *ctx);

/* Make an ack; the strings of the outcome are copied. Free it, unless the storer has it: then its
 * `done` must do that. */
struct ack *ack_new(struct acks *a, const struct outcome *outcome);
void ack_free(struct ack *ack);

/* Have it written. `done` runs once, perhaps before this function returns. `more_come`: others will
 * follow within milliseconds, and nobody is held up when this one waits for them. */
void acks_add(struct acks *a, struct ack *ack, bool more_come);

/* Hand over what is gathered, whatever is under way; what the storer does not take is freed. `done`
 * still runs for what it has taken. */
void acks_stop(struct acks *a);
