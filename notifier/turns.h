/* notifier/turns.h - the turns of endpoints: read what is next for a subscription, call its
 * endpoint, and have the outcome written.
 *
 * Each subscription is a member of the roster and is always in one of the states of attempt.h. Only
 * turns_event() changes the state. A turn has an outcome, which the storer writes to the database;
 * the storer's answer is the next event. Nothing here waits, and nothing here calls the notifier.
 *
 * The position moves only from the value that the turn has read. If somebody set it in the meantime
 * (replay, skip), the storer keeps that value (struct push_outcome), and the commit notice makes
 * the subscription due again.
 *
 * Everything belongs to the notify loop's thread, except turns_wait_drained(). */
#pragma once

#include <pthread.h>

#include "net/loop.h"
#include "base/histogram.h"
#include "notifier/acks.h"
#include "notifier/holds.h"
#include "notifier/notifier.h"
#include "notifier/owned.h"
#include "notifier/push_job.h"
#include "notifier/push_test.h"
#include "notifier/roster.h"
#include "notifier/rush.h"
#include "notifier/watch.h"
#include "storage/pushes.h"

struct turns {
    const struct notifier_cfg *cfg; /* the notifier's own: current */
    struct loop *loop;              /* borrowed; set by turns_start() */
    struct carriers carriers;
    struct roster roster;
    struct owned owned;
    int64_t *leaving; /* subscriptions whose slots were lost */
    size_t n_leaving, cap_leaving;
    struct holds *holds; /* any thread may ask it */
    struct push_jobs jobs;
    size_t n_reads;              /* jobs at the readers */
    size_t n_calling;            /* calls under way */
    struct histogram_series *lags; /* of deliveries that were taken */
    struct acks acks;            /* outcomes that are not yet written */
    struct push_test_list tests; /* under way */
    size_t n_tests;
    int64_t n_tests_ever;
    struct loop_timer *soon;   /* starts turns; NULL: nothing has changed since they were started */
    struct loop_timer *again;  /* tries turns_run() again, because the readers had no room */
    struct loop_timer *rested; /* starts turns when more may begin; NULL: nothing waits for that */
    struct rush rush;          /* of turns that have begun just now */
    struct loop_timer *look;   /* checks the calls under way; NULL: there are none */
    struct watch watch;        /* by which they are late; goes on while there is `look` */
    bool stopping;             /* no new turns */
    bool stopped;              /* late messages are only freed */

    pthread_mutex_t lock;   /* guards the rest */
    pthread_cond_t drained; /* CLOCK_MONOTONIC; is_drained was set */
    bool is_drained;
};

/* `cfg` is borrowed. Call turns_release() after the loop has ended and all its messages have
 * run. */
void turns_init(struct turns *ts, const struct notifier_cfg *cfg);
void turns_release(struct turns *ts);

/* Runs on the loop. Call it once, before anything is due. */
void turns_start(struct turns *ts, struct loop *loop, struct http_client *client);

/* Change the member's state by this event, and do everything that follows from the change. */
void turns_event(struct turns *ts, struct member *m, enum attempt_event event);

/* Something has changed: start as many turns as there is room for, when the events of this moment
 * are done. What they make due is read together. */
void turns_run(struct turns *ts);

/* The endpoint wants no call for so long (up to a day), whatever the subscription; only tests go
 * on. Nothing happens if it is another node's, whose holds nobody would end here. turns_let_go()
 * ends that, and may free the endpoint if it has no members. */
void turns_hold(struct turns *ts, struct endpoint *e, int64_t ms);
void turns_let_go(struct turns *ts, struct endpoint *e);

/* The loop ends: free what is kept of the holds. */
void turns_forget_holds(struct turns *ts);

/* Add the member of a subscription, or test, whose endpoint this is. */
struct member *turns_add(struct turns *ts, int64_t id, struct str endpoint, bool is_failing);

/* The endpoint is another node's now: start nothing, and forget the member when nothing of it is
 * under way. turns_lost(): that is so for these slots, and holds there end: their next owner may
 * end them, and what is left of them is in the rows. turns_forget_left() does it, as far as it is
 * time; turns_run() comes to it, too. */
void turns_leave(struct turns *ts, struct member *m);
void turns_lost(struct turns *ts, const struct slot_set *lost);
void turns_forget_left(struct turns *ts);

/* The subscription is gone: forget the member, and cancel its call. */
void turns_remove(struct turns *ts, struct member *m);

/* The subscription has another endpoint: cancel the call to the old one, and begin with this one.
 * What the old one has acknowledged is written first, so that it does not come again. Returns the
 * member that takes the place of `m`, which is freed. */
struct member *turns_move(struct turns *ts, struct member *m, struct str endpoint, bool is_failing);

/* Start no more turns. */
void turns_drain(struct turns *ts);

/* Wait until no turn is under way and all outcomes are written, but not longer than until this time
 * of the monotonic clock. Call it after turns_drain(). Any thread except the loop's. */
void turns_wait_drained(struct turns *ts, const struct timespec *until);

/* Call it when the loop ends. Closes the carriers; drops timers, and outcomes that the storer does
 * not have. Answers that come later are only freed. */
void turns_stop(struct turns *ts);
