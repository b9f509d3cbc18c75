/* api/hub/hub_open.h - limits how many requests at the hub may wait for their verification at once.
 *
 * Each request makes Feedmill call the URL that it names, and stays on disk until that URL has
 * answered. All requests together have room for HUB_OPEN_MAX. So no client, no host of callbacks
 * and no single subscription may take more than a part of that room. Only requests since the start
 * of the process are counted here. The storer also counts those that were waiting before. Any
 * thread.
 */
#pragma once

#include <stdint.h>
#include <sys/socket.h>

#include "base/str.h"

#define HUB_OPEN_CLIENT 2000 /* requests from one address (IPv6: from one /64) */
#define HUB_OPEN_HOST 1000   /* requests with callbacks at one host and port */
#define HUB_OPEN_PAIR 16     /* requests for one callback and topic */

struct hub_open;
struct hub_open *hub_open_new(void);
void hub_open_free(struct hub_open **op);

/* Take a place for a request. NULL: a limit is reached, and *full says which one. */
struct hub_place;
struct hub_full {
    int status; /* HTTP status to answer with */
    const char *why;
};
struct hub_place *hub_open_take(struct hub_open *o, const struct sockaddr *client,
                                struct str callback, struct str topic,
                                const struct hub_full **full);

/* The request is on disk as the intent `intent_id`: the place stays taken until the intent is
 * settled. */
void hub_open_keep(struct hub_open *o, struct hub_place **place, int64_t intent_id);

/* The request did not get to disk: free the place. */
void hub_open_leave(struct hub_open *o, struct hub_place **place);

/* The intent is settled: free its place. Does nothing if the intent has no place. */
void hub_open_settled(struct hub_open *o, int64_t intent_id);
