/* fetcher/upstream_rules.h - the states of our subscription at a publisher's hub or cloud, as a
 * table: state x event -> state; and the times that follow. Pure; any thread. upstream_table.c and
 * upstream_subs.c do what follows from a change of state (rows; requests, timers).
 *
 *   IDLE                    --wanted-->    ASKING
 *   ASKING, ACTIVE, FAILED  --verified-->  ACTIVE (from ACTIVE: a renewal)
 *   ASKING                  --failed-->    FAILED
 *   ACTIVE                  --failed, or its time is over, when the lease has ended-->  FAILED
 *   ASKING, ACTIVE, FAILED  --unwanted-->  ENDING
 *   ENDING                  --ended-->     IDLE
 *
 * When a hub fails before the lease has ended, the subscription stays ACTIVE. When a subscription
 * is not wanted any more and the hub does not know of it, it becomes IDLE at once. So does one at a
 * cloud: it verifies by its answer to the request, and cannot be told of an end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "model/feed.h"

#define UPSTREAM_LEASE_S 864000       /* asked for: ten days; the hub decides */
#define UPSTREAM_LEASE_S_MAX 31536000 /* a longer lease of a hub is cut to this */
#define UPSTREAM_OTHER_HUB_AFTER 3    /* failures, when the publisher names another hub */
#define UPSTREAM_ENDINGS_TRIED 5      /* requests to end it; after these, its lease ends it */

enum upstream_event {
    UPSTREAM_WANTED,   /* it is wanted, and the hub can reach us */
    UPSTREAM_UNWANTED, /* it is not wanted any more, and the hub knows of it */
    UPSTREAM_VERIFIED, /* the hub has verified it */
    UPSTREAM_REFUSED,  /* the request failed, was not verified, or the hub denied it */
    UPSTREAM_EXPIRED,  /* the lease has ended */
    UPSTREAM_OVER,     /* the hub has confirmed the end, or will not confirm it */
    UPSTREAM_EVENTS_
};

/* The state after `event`; `has_lease`: the lease that the hub granted last has not ended. An event
 * that cannot happen in a state leaves it as it is: hubs call when they like. */
enum upstream_state upstream_next(enum upstream_state state, enum upstream_event event,
                                  bool has_lease);

/* Returns true in the states in which a hub may verify or deny the subscription, and may deliver.
 */
bool upstream_is_asked(enum upstream_state state);

/* Seconds until the next try after so many failures in a row (>= 1): doubled, up to a day. */
int64_t upstream_retry_s(int n_errors);

/* The lease in seconds that a hub gives in this text: 1 to UPSTREAM_LEASE_S_MAX. It is
 * UPSTREAM_LEASE_S when the hub gives no lease, as hubs of PubSubHubbub 0.3 do. */
int64_t upstream_lease_s(struct str text);

/* Seconds after the verification at which the renewal is asked for: a third of the lease before its
 * end, at most a day before. */
int64_t upstream_renew_s(int64_t lease_s);

/* A hub or cloud that a publisher names. */
struct upstream_hub {
    struct str url; /* canonical */
    enum hub_protocol protocol;
    struct str procedure; /* as in struct upstream */
};

bool upstream_hub_eq(const struct upstream_hub *x, const struct upstream_hub *y);

/* "hub" or "cloud", for texts. */
const char *upstream_noun(enum hub_protocol protocol);

/* Returns the first hub; or, when `failed` (may be NULL) is a hub that failed often, the one after
 * it in the list. n >= 1. */
const struct upstream_hub *upstream_choose_hub(const struct upstream_hub *hubs, size_t n,
                                               const struct upstream_hub *failed);

/* The part of the text of a hub that may be shown: its beginning. Empty when the text repeats the
 * token or the secret, which only the hub and we may know. Borrowed from `text`. */
struct str upstream_said(struct str text, struct str token, struct str secret);
