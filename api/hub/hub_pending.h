/* api/hub/hub_pending.h - limits how many requests at the hub may wait for their verification at
 * once.
 *
 * Each request makes Feedmill call the URL that it names, and stays on disk until that URL has
 * answered. All requests together have room for HUB_PENDING_MAX. So no client, no host of callbacks
 * and no single subscription may take more than a part of that room. Only requests since the start
 * of the process are counted here. The storer also counts those that were waiting before. Any
 * thread.
 */
#pragma once

#include <stdint.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/str.h"

#define HUB_PENDING_CLIENT 2000 /* requests from one address (IPv6: from one /64) */
#define HUB_PENDING_HOST 1000   /* requests with callbacks at one host and port */
#define HUB_PENDING_PAIR 16     /* requests for one callback and topic */

struct hub_pending;
struct hub_pending *hub_pending_new(void);
void hub_pending_free(struct hub_pending **op);

/* Count a request that is pending from now on. NULL: a limit is reached, and *full says which one.
 */
struct hub_request;
struct hub_full {
    int status; /* HTTP status to answer with */
    const char *why;
};
struct hub_request *hub_pending_add(struct hub_pending *o, const struct sockaddr *client,
                                    struct str callback, struct str topic,
                                    const struct hub_full **full);

/* The request is on disk as the intent `intent_id`: it is counted until the intent is settled. */
void hub_pending_keep(struct hub_pending *o, struct hub_request **request, int64_t intent_id);

/* The request did not get to disk: count it no longer. */
void hub_pending_drop(struct hub_pending *o, struct hub_request **request);

/* The intent is settled: count its request no longer. Does nothing if the intent has none. */
void hub_pending_settled(struct hub_pending *o, int64_t intent_id);

/* The intents of the requests that are counted, in no order. Arena. */
size_t hub_pending_ids(struct hub_pending *o, struct arena *a, int64_t **out);
