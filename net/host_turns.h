/* net/host_turns.h - who may call its host next: a bounded number of calls at once, in all and to
 * one host, so that a host that is slow or silent keeps nobody else from being called. In the order
 * of arrival per host. No threads, no clock: under the owner's lock.
 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "base/map.h"
#include "base/str.h"

struct turn_host;
struct host_turn { /* lives inside another struct; zeroed: it waits for nothing */
    struct turn_host *host;
    TAILQ_ENTRY(host_turn) waiting;
};

struct host_turns { /* the rest zeroed: nobody waits */
    int max;        /* calls at once */
    int max_host;   /* of them to one host; 1 while it gives no answer */
    int n_calls;
    struct map hosts;
};

/* Free what belongs to it; the turns are the caller's. */
void host_turns_release(struct host_turns *t);

/* Wait for a turn at the host of this URL, unless it does so already; wait no more, if it did. */
void host_turns_wait(struct host_turns *t, struct host_turn *turn, struct str url);
void host_turns_leave(struct host_turns *t, struct host_turn *turn);

/* The next one, which waits no more: its call is counted until host_turns_done(). NULL: nobody
 * may. */
struct host_turn *host_turns_next(struct host_turns *t);

/* A call to this URL is over; was there any answer? */
void host_turns_done(struct host_turns *t, struct str url, bool answered);
