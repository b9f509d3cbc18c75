/* notifier/verifier.h - asks subscribers of the hub and the cloud to confirm what was requested in
 * their name, tells them when a subscription has ended, and ends leases in time.
 *
 * What a subscriber asked for is an intent in the database. It stays there until the callback has
 * answered, so no intent is lost by a restart. The intents of one callback and topic are verified
 * one by one, in the order in which they came. Belongs to the notify loop's thread.
 */
#pragma once

#include "net/http_client.h"
#include "net/loop.h"
#include "notifier/notifier.h"

#define VERIFIER_CALLS_MAX 256 /* in flight at once, besides those of the notifier */

struct verifier;

/* `cfg` is the notifier's own: borrowed, and current. `client` calls through the guard for
 * callbacks. */
struct verifier *verifier_new(struct loop *loop, struct http_client *client,
                              const struct notifier_cfg *cfg);

/* Call it after a commit that has brought intents or changed leases. */
void verifier_wake(struct verifier *v);

/* Start nothing more. Call it before the client is freed. */
void verifier_stop(struct verifier *v);

/* Free it. Call it after the loop has ended and all its messages have run. NULL is allowed. */
void verifier_free(struct verifier **vp);
