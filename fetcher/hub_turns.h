/* fetcher/hub_turns.h - who may call its hub next: a bounded number of calls at once, in all and to
 * one host, so that a hub that is slow or silent keeps nobody else's from being asked. In the order
 * of arrival per host. No threads, no clock: under the owner's lock.
 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "base/map.h"
#include "base/str.h"

#define HUB_CALLS_MAX 32 /* at once */
#define HUB_CALLS_HOST 4 /* of them to one host; 1 while it gives no answer */

struct hub_host;
struct hub_turn { /* lives inside another struct; zeroed: it waits for nothing */
    struct hub_host *host;
    TAILQ_ENTRY(hub_turn) waiting;
};

struct hub_turns { /* zeroed: nobody waits */
    struct map hosts;
    int n_calls;
};

/* Free what belongs to it; the turns are the caller's. */
void hub_turns_release(struct hub_turns *t);

/* Wait for a turn at the host of this URL, unless it does so already; wait no more, if it did. */
void hub_turns_wait(struct hub_turns *t, struct hub_turn *turn, struct str hub);
void hub_turns_leave(struct hub_turns *t, struct hub_turn *turn);

/* The next one, which waits no more: its call is counted until hub_turns_done(). NULL: nobody
 * may. */
struct hub_turn *hub_turns_next(struct hub_turns *t);

/* A call to this URL is over; was there any answer? */
void hub_turns_done(struct hub_turns *t, struct str hub, bool answered);
