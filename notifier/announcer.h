/* notifier/announcer.h - tells ping servers which feeds have news: weblogUpdates.ping.
 *
 * A loop of its own, which exists while there are servers. A ping is a hint, so it is sent once,
 * and when too many wait it is not sent at all; nothing is remembered over a restart. Not announced
 * are what a feed held when it was first fetched, and feeds with a credential, which are nobody's
 * business. Public calls: the main thread.
 */
#pragma once

#include "net/guard.h"
#include "storage/store.h"

struct announcer;

struct announcer_cfg {
    struct store *store; /* borrowed, like guard and user_agent */
    struct guard *guard; /* the one for callbacks */
    const char *user_agent;
    const struct str *servers; /* XML-RPC addresses of ping servers; copied, like base_url */
    size_t n_servers;
    struct str base_url; /* our public address: our view of the feed is announced, and the feed
                            itself as its "changes" address; null: the feed itself */
    int64_t timeout_ms;  /* one call */
};

/* Make it and listen to the store's commits: before the first write. */
struct announcer *announcer_new(const struct announcer_cfg *cfg);

/* From now on news is announced. */
void announcer_start(struct announcer *n);

/* Announce no more, cut what is under way. */
void announcer_stop(struct announcer *n);

/* Free it, after store_close(). NULL is allowed. */
void announcer_free(struct announcer **np);

/* Take over servers, base_url and the time-out. */
void announcer_reload(struct announcer *n, const struct announcer_cfg *cfg);
