/* net/host_turns.h - which waiting call may start next. The number of calls at once is bounded, in
 * all and for each host, so a slow or silent host does not hold up calls to other hosts. Calls to
 * one host start in the order in which they began to wait. The code uses neither threads nor a
 * clock; the owner's lock must be held. */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "base/map.h"
#include "base/str.h"

struct turn_host;
struct host_turn { /* part of another struct; all zero: it is not waiting */
    struct turn_host *host;
    TAILQ_ENTRY(host_turn) waiting;
};

struct host_turns { /* set `max` and `max_host`; all else zero: no call waits */
    int max;        /* most calls at once, in all */
    int max_host;   /* most of them to one host; 1 while that host gives no answer */
    int n_calls;
    struct map hosts;
};

/* Free the memory of `t`. The turns belong to the caller and are not freed. */
void host_turns_release(struct host_turns *t);

/* Put the turn in the queue for the host of this URL, unless it already waits. host_turns_leave()
 * takes it out of the queue if it waits. */
void host_turns_wait(struct host_turns *t, struct host_turn *turn, struct str url);
void host_turns_leave(struct host_turns *t, struct host_turn *turn);

/* Take the next turn that may start out of its queue. Its call is counted until host_turns_done().
 * NULL: no waiting turn may start now. */
struct host_turn *host_turns_next(struct host_turns *t);

/* A call to this URL is over. `answered`: the host gave some answer. */
void host_turns_done(struct host_turns *t, struct str url, bool answered);
