/* tests/unit/notifier/world.h - a store in a directory of its own, a notifier, and an endpoint that
 * receives its pushes, for tests.
 *
 * What the endpoint answers follows from the path: /ok..., /fault..., /garbage..., /moved... (302),
 * /auth... (401 unless Basic user:secret comes), /fail<N>... (500 the first N times, then 200),
 * /down... (500 from world_down(true) to world_down(false)), /hold... (waits until
 * origin_release()).
 */
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
    atomic_bool is_down;    /* see world_down() */
    int64_t n_published;    /* makes essences differ */
    size_t queue_len;       /* of the store; change it before world_start(), like cfg */
    const char *credential; /* of the endpoints subscribed from now on; NULL: none */
};

/* Make the directory and a configuration with short pauses; nothing runs yet. */
void world_init(struct world *w, bool refusing);

/* /down... fails from now on, or works again. */
void world_down(struct world *w, bool down);

/* Open the store, start the notifier. */
void world_start(struct world *w);

/* Stop the notifier (waiting `ms` for what is under way) and close the store. */
void world_stop(struct world *w, int64_t ms);
void world_release(struct world *w);

/* The feed, fetched once with nothing in it. */
int64_t world_feed(struct world *w, const char *url);

/* Subscribe an endpoint (a path of the receiver) to feeds; a null endpoint is given as NULL. */
int64_t world_subscribe(struct world *w, const char *path, const char *const *urls, size_t n,
                        bool from_start);
void world_unsubscribe(struct world *w, int64_t sub_id);
void world_resume(struct world *w, int64_t sub_id, int64_t position);

/* One fetch of the feed that found these entries, by uid, new or changed; titles are
 * "UID text". */
void world_publish(struct world *w, int64_t feed_id, const char *const *uids, size_t n,
                   const char *text);
void world_delete(struct world *w, int64_t feed_id, const char *uid);

/* The subscription as stored; strings live until the next call. False when there is none. */
bool world_sub(struct world *w, int64_t sub_id, struct subscription *out);

/* Wait at most ten seconds until everything was delivered up to the end of the log, or until the
 * subscription is suspended. */
bool world_wait_delivered(struct world *w, int64_t sub_id, int64_t n_entries);
bool world_wait_suspended(struct world *w, int64_t sub_id);
