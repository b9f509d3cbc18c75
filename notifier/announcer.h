/* notifier/announcer.h - tells ping servers which feeds have news (weblogUpdates.ping).
 *
 * It starts a loop of its own when the first server is set. A ping is a hint: it is sent once, it
 * is dropped when too many wait, and nothing is remembered across a restart. The entries of a
 * feed's first fetch are not announced. Feeds with a credential are private, so they are not
 * announced, either. Public calls: the main thread.
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

/* Make the announcer, and listen to the store's commits. Call it before the first write. */
struct announcer *announcer_new(const struct announcer_cfg *cfg);

/* Announce all news from now on. */
void announcer_start(struct announcer *n);

/* Announce nothing more, and cancel the calls that are under way. */
void announcer_stop(struct announcer *n);

/* Free it. Call it after store_close(). NULL is allowed. */
void announcer_free(struct announcer **np);

/* Take over servers, base_url and timeout_ms. */
void announcer_reload(struct announcer *n, const struct announcer_cfg *cfg);
