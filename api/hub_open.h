/* api/hub_open.h - how many requests at the hub may wait for their verification at once.
 *
 * A request makes us call the URL that it names, and stands on disk until that has answered. So no
 * client, no host of callbacks and no single subscription may have more than a part of all that
 * there is room for (HUB_OPEN_MAX). Counted from the start of the process: what waited before it
 * only the storer counts. Any thread.
 */
#pragma once

#include <stdint.h>
#include <sys/socket.h>

#include "base/str.h"

#define HUB_OPEN_CLIENT 2000 /* requests of one address (IPv6: of one /64) */
#define HUB_OPEN_HOST 1000   /* callbacks at one host and port */
#define HUB_OPEN_PAIR 16     /* for one callback and topic */

struct hub_open;
struct hub_open *hub_open_new(void);
void hub_open_free(struct hub_open **op);

/* A place for a request, or NULL, and *full says what is. */
struct hub_place;
struct hub_full {
    int status; /* to answer with */
    const char *why;
};
struct hub_place *hub_open_take(struct hub_open *o, const struct sockaddr *client,
                                struct str callback, struct str topic,
                                const struct hub_full **full);

/* The request is on disk as this intent: the place is kept until it is settled. */
void hub_open_keep(struct hub_open *o, struct hub_place **place, int64_t intent_id);

/* It is not: the place is free. */
void hub_open_leave(struct hub_open *o, struct hub_place **place);

/* The intent is settled; one that has no place is passed over. */
void hub_open_settled(struct hub_open *o, int64_t intent_id);
