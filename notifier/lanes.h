/* notifier/lanes.h - decides which endpoint is called next, and how long its turn may last.
 *
 * At most `max` turns run at once. (A turn is a read of what is next, and the call that follows.)
 * Endpoints that hang must not use up all turns, so each kind of endpoint gets a share:
 *
 *   standing   who                                       turns at once     at one host
 *   trusted    several quick answers in a row            max               3/4 of max
 *   fresh      never slow, but not yet trusted           3/4 of max        9/16 of max
 *              (the unheard and the slow are counted with these)
 *   unheard    its first call was cut                    5/8 of max        15/32 of max
 *              (the slow ones are counted with these)
 *   suspect    was slow, and is not trusted again yet    1/4 of max: slow  1/8 of max: slow
 *
 * The turn of a suspect counts as slow from its start. Any other turn counts as slow as soon as its
 * call is late. A call is late when it has run for LANES_LATE_MS. While other endpoints wait, it is
 * late when it has run for twice the usual time of its endpoint. When no more turns may count as
 * slow, a late call goes on until another endpoint needs its turn. Then the call is cut: its
 * endpoint becomes a suspect and is called again in a slow turn, where the call has its full time.
 *
 * What was cut may have been taken, so the receiver gets it twice, and has more to do. For the sake
 * of endpoints at its own host a call is therefore cut only after LANES_LATE_MS, and only if its
 * endpoint is usually quick: a host that is busy for a moment answers all of its calls late.
 * Perhaps nobody answers for a moment, because of the network. So only LANES_TRIES calls are cut
 * before LANES_LATE_MS, until an endpoint has answered in its usual time or LANES_TRY_MS are over.
 *
 * A new endpoint may never answer, and a thousand new ones that hang must not delay a new one that
 * answers. So while other fresh or trusted endpoints wait, a first call is late sooner: after twice
 * the time in which recent first calls were answered. Each first call that is cut makes this time
 * shorter. An endpoint whose first call was cut in this way is unheard. It is called again after
 * the fresh ones, and then has as much time as other calls.
 *
 * An endpoint becomes trusted after LANES_TRUST quick answers in a row. Each time it loses the
 * trust, it needs twice as many. A quick failure does not change the standing, because it does not
 * hold a turn for long. Hosts take turns, and so do the endpoints of a host. So many endpoints at
 * one host do not delay an endpoint at another host.
 *
 * Pure: the time is passed in (milliseconds of the monotonic clock). Belongs to the notify loop's
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/map.h"
#include "base/str.h"

#define LANES_LATE_MS 2000 /* a call that runs longer is late, whatever its endpoint */
#define LANES_SOON_MS 200  /* no call is late before this time */
#define LANES_TRIES 8      /* cuts of usually quick endpoints while nobody answers quickly ... */
#define LANES_TRY_MS 250   /* ... in this time */
#define LANES_TRUST 3      /* quick answers in a row that make an endpoint trusted */

/* In the order in which they get turns; but each kind always gets some. */
enum standing { STANDING_TRUSTED, STANDING_FRESH, STANDING_UNHEARD, STANDING_SUSPECT, STANDINGS_ };

struct lanes_host;
struct lane { /* lives inside an endpoint; lanes_join() fills it */
    struct str url;
    struct lanes_host *host; /* while it waits or is busy; else NULL */
    TAILQ_ENTRY(lane) next;
    int64_t mono_called; /* when its call began; 0: no call is under way */
    enum standing standing;
    int32_t usual_ms; /* about the time of its last quick answers, >= 1; 0: it gave no quick answer
                         yet */
    int16_t n_quick;  /* quick answers in a row */
    int16_t n_needed; /* quick answers in a row that make it trusted */
    bool is_waiting;  /* for its turn */
    bool is_busy;     /* it has its turn */
    bool is_slow;     /* busy, and counted among the slow */
    bool is_cut;      /* busy, and lanes_look() has returned it */
};
TAILQ_HEAD(lane_list, lane);
TAILQ_HEAD(lanes_host_list, lanes_host);

/* Endpoints of all hosts, or of one. */
struct lanes_count {
    size_t busy;                /* all their turns that are under way */
    size_t fresh;               /* turns of fresh endpoints that are not slow */
    size_t unheard;             /* turns of unheard endpoints that are not slow */
    size_t slow;                /* turns that are slow */
    size_t cut;                 /* turns that are being cut */
    size_t waiting[STANDINGS_]; /* endpoints that wait */
};

struct lanes {
    size_t max;
    size_t max_host;  /* turns at once at one host; lanes_init() sets 3/4 of max */
    struct map hosts; /* by "host:port"; they live while endpoints of them wait or are busy */
    struct lanes_count count;
    struct lanes_host_list ready[STANDINGS_]; /* hosts with endpoints that wait */
    struct lane_list busy;
    bool fresh_first;  /* trusted and fresh endpoints take turns too */
    int64_t spread_ms; /* since this time n_spread calls were cut that could have gone on */
    int n_spread;
    int64_t tried_ms; /* since this time n_tries calls were cut before LANES_LATE_MS */
    int n_tries;      /* ... and nobody has answered in its usual time */
    int64_t first_ms; /* about the time in which first calls were answered of late */
};

/* How a turn ended. */
enum lanes_end {
    LANES_UNCALLED, /* the turn ended without a call */
    LANES_ANSWERED, /* the endpoint took the delivery */
    LANES_FAILED, /* the endpoint did not take the delivery; it may have answered, quickly or not */
    LANES_CUT,    /* the call was cut because another endpoint needed its turn */
};

void lanes_init(struct lanes *l, size_t max);

/* Forget the hosts. The lanes are the caller's. */
void lanes_release(struct lanes *l);

/* lanes_join() adds an endpoint with this URL, which is borrowed until lanes_leave(). It is fresh,
 * or a suspect when it is known to have failed. lanes_leave() removes it; it must neither wait nor
 * be busy. */
void lanes_join(struct lanes *l, struct lane *lane, struct str url, bool is_suspect);
void lanes_leave(struct lanes *l, struct lane *lane);

/* Set whether the endpoint waits for a turn. A call that does not change this has no effect. */
void lanes_wait(struct lanes *l, struct lane *lane, bool waits);

/* Choose the endpoint that has the next turn, or NULL. It is busy until lanes_done(), and it does
 * not wait any more. */
struct lane *lanes_next(struct lanes *l);

/* The call of the turn begins. */
void lanes_called(struct lane *lane, int64_t mono_ms);

/* Look at the calls under way, and count the late ones as slow. Returns a lane whose call must be
 * cut, or NULL. The caller cancels that call. The lane stays busy until lanes_done(), and is not
 * returned again in this turn. */
struct lane *lanes_look(struct lanes *l, int64_t mono_ms);

/* The turn is over. */
void lanes_done(struct lanes *l, struct lane *lane, enum lanes_end end, int64_t mono_ms);
