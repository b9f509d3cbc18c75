/* tests/unit/notifier/world.h - for tests: a store in its own directory, a notifier, and an
 * endpoint that receives its deliveries.
 *
 * The path of the endpoint decides what it answers: /ok..., /fault..., /garbage..., /moved...
 * (302), /auth... (401 without Basic user:secret), /fail<N>... (500 for the first N times, then
 * 200), /down... (500 from world_down(true) to world_down(false)), /busy... (the first time 503
 * with Retry-After: w->retry_after), /hold... (waits until origin_release()). */
#pragma once

#include <stdatomic.h>

#include "notifier/notifier.h"
#include "tests/unit/support/origin.h"

struct world {
    char dir[64];
    struct store *store;
    struct guard *guard;
    struct notifier *notifier;
    struct notifier_cfg cfg; /* change it before world_start() */
    struct origin *receiver;
    atomic_bool is_down;       /* see world_down() */
    int64_t n_published;       /* used to make essences differ */
    size_t queue_len;          /* of the store; change it before world_start(), like cfg */
    const char *credential;    /* of endpoints that are subscribed from now on; NULL: none */
    store_notice_fn *listener; /* hears of commits before the notifier does; set it before
                                  world_start(), like cfg; NULL: none */
    void *listener_ctx;
    const char *retry_after;    /* set it before world_start() */
    _Atomic int64_t busy_ms[4]; /* when the first requests of /busy... came (monotonic clock) */
};

/* Make the directory, and a configuration with short pauses. Nothing runs yet. */
void world_init(struct world *w, bool refusing);

/* /down... fails from now on, or works again. */
void world_down(struct world *w, bool down);

/* Open the store, and start the notifier. */
void world_start(struct world *w);

/* Stop the notifier, which waits up to `ms` for calls under way, and close the store. */
void world_stop(struct world *w, int64_t ms);
void world_release(struct world *w);

/* Add a feed that was fetched once and has no entries. Returns its id. */
int64_t world_feed(struct world *w, const char *url);

/* Subscribe an endpoint (a path of the receiver; NULL: no endpoint) to feeds. Returns the
 * subscription's id. */
int64_t world_subscribe(struct world *w, const char *path, const char *const *urls, size_t n,
                        bool from_start);
void world_unsubscribe(struct world *w, int64_t sub_id);
void world_resume(struct world *w, int64_t sub_id, int64_t position);

/* Store a fetch of the feed that found these entries (by uid), new or changed. The titles are "UID
 * text". */
void world_publish(struct world *w, int64_t feed_id, const char *const *uids, size_t n,
                   const char *text);
void world_delete(struct world *w, int64_t feed_id, const char *uid);

/* Read the subscription. Its strings are valid until the next call. False: there is none. */
bool world_sub(struct world *w, int64_t sub_id, struct subscription *out);

/* Wait until everything up to the end of the log was delivered, or until the subscription is
 * suspended; at most ten seconds. */
bool world_wait_delivered(struct world *w, int64_t sub_id, int64_t n_entries);
bool world_wait_suspended(struct world *w, int64_t sub_id);
