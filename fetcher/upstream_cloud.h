/* fetcher/upstream_cloud.h - what is said to and by the rssCloud of a publisher: the <cloud> of its
 * feed, our registration, and the answer to it. Pure; any thread. upstream_call.c sends the
 * registration. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "fetcher/upstream_rules.h"
#include "model/value.h"

#define UPSTREAM_CLOUD_LEASE_S                                                                     \
    90000 /* a registration ends after 25 hours; clouds do not say it                              \
           */

/* Read the element `cloud` of a feed's head. *out is in the arena. False: it is not one at which we
 * can register, and *why says why (static). */
bool upstream_cloud_read(struct arena *a, const struct value *cloud, struct upstream_hub *out,
                         struct str *why);

/* Can a cloud call a handler of this origin? rssCloud has no word for https: by convention, port
 * 443 means it, and all other ports mean http. */
bool upstream_cloud_can_call(struct str base_url);

/* Append the body of our registration: the cloud is to call `callback` (canonical) when the feed at
 * `topic` changes. Returns its media type. */
struct str upstream_cloud_write(struct buf *body, const struct upstream_hub *cloud,
                                struct str callback, struct str topic);

/* Read the cloud's answer. True: we are registered. Otherwise *why is what the cloud says, in the
 * arena; empty: nothing that we understand. */
bool upstream_cloud_accepted(struct arena *a, enum hub_protocol protocol, struct str body,
                             struct str *why);
