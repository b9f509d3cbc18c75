/* notifier/verifier.h - asks subscribers of the hub and the cloud to confirm what was requested in
 * their name, tells them when a subscription has ended, and ends leases in time.
 *
 * What a subscriber asked for is an intent in the database. It stays there until the callback has
 * answered, so no intent is lost by a restart. The intents of one callback and topic are verified
 * one by one, in the order in which they came. Belongs to the notify loop's thread.
 *
 * With several nodes the owner of the callback's host verifies, and the owner of SWEEPER_SLOT ends
 * leases. Ids of intents are not in the order of commits then, so each look begins with the first
 * one and passes over what is known; a look ends before the next one begins.
 */
#pragma once

#include "net/http_client.h"
#include "net/loop.h"
#include "notifier/notifier.h"
#include "notifier/owned.h"

#define SWEEPER_SLOT 0
#define VERIFIER_CALLS_MAX 256 /* in flight at once, besides those of the notifier */

struct verifier;

/* `cfg` and `owned` are the notifier's own: borrowed, and current. `client` calls through the guard
 * for callbacks. */
struct verifier *verifier_new(struct loop *loop, struct http_client *client,
                              const struct notifier_cfg *cfg, const struct owned *owned);

/* Call it after a commit that has brought intents or changed leases, and when slots were gained. */
void verifier_wake(struct verifier *v);

/* These slots are another node's now: forget their intents, but those that are being verified. */
void verifier_lost(struct verifier *v, const struct slot_set *lost);

/* Start nothing more. Call it before the client is freed. */
void verifier_stop(struct verifier *v);

/* Free it. Call it after the loop has ended and all its messages have run. NULL is allowed. */
void verifier_free(struct verifier **vp);
