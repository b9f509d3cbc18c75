/* notifier/turns.h - the turns of endpoints: read what is next for a subscription, call its
 * endpoint, have the outcome written.
 *
 * Each subscription is a member of the roster and always in one of the states of attempt.h.
 * turns_event() is the only way from one state to another. A turn comes to an outcome, the outcome
 * is written to the database, and the answer of the storer is the next event: nothing here waits
 * for anything else, and nothing here calls the notifier.
 *
 * The position moves only from where the turn found it: if it was set meanwhile (replay, skip), the
 * storer keeps it as it was set (struct push_outcome). The commit that set it makes the
 * subscription due again.
 *
 * Everything belongs to the notify loop's thread, except turns_wait_drained().
 */
#pragma once

#include <pthread.h>

#include "net/loop.h"
#include "notifier/notifier.h"
#include "notifier/push_job.h"
#include "notifier/roster.h"

struct turns {
    const struct notifier_cfg *cfg; /* the notifier's own: current */
    struct loop *loop;              /* borrowed; set by turns_start() */
    struct carriers carriers;
    struct roster roster;
    struct bodies *bodies;
    size_t n_reading, n_calling;
    size_t n_acks;            /* outcomes that are not yet written */
    struct loop_timer *again; /* turns_run() is tried again: the readers had no room */
    struct loop_timer *look;  /* the calls under way are looked at; NULL: there are none */
    bool stopping;            /* no new turns */
    bool stopped;             /* late messages are only disposed of */

    pthread_mutex_t lock;   /* guards the rest */
    pthread_cond_t drained; /* CLOCK_MONOTONIC; is_drained was set */
    bool is_drained;
};

/* `cfg` is borrowed. turns_release(): after the loop has ended, and all its messages have run. */
void turns_init(struct turns *ts, const struct notifier_cfg *cfg);
void turns_release(struct turns *ts);

/* On the loop, once, before anything is due. */
void turns_start(struct turns *ts, struct loop *loop, struct http_client *client);

/* Let the event change the member's state, with all that follows from it. */
void turns_event(struct turns *ts, struct member *m, enum attempt_event event);

/* Start as many turns as there is room for. */
void turns_run(struct turns *ts);

/* The subscription is gone: forget the member, and cancel its call. */
void turns_remove(struct turns *ts, struct member *m);

/* Start no more turns. */
void turns_drain(struct turns *ts);

/* Wait until no turn is under way and all outcomes are written, or until that time of the monotonic
 * clock. After turns_drain(); any thread but the loop's. */
void turns_wait_drained(struct turns *ts, const struct timespec *until);

/* The loop ends: drop timers, and outcomes that are not at the storer. What comes back later is
 * only disposed of. */
void turns_stop(struct turns *ts);
