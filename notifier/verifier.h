/* notifier/verifier.h - asks WebSub subscribers whether they meant it, tells them when it is over,
 * and sees to it that leases end.
 *
 * What a subscriber asked for is an intent in the database; it stays there until its callback has
 * answered, so none is lost over a restart. Of one callback and topic one intent is under way, in
 * the order in which they came. Belongs to the notify loop's thread.
 */
#pragma once

#include "net/http_client.h"
#include "net/loop.h"
#include "notifier/notifier.h"

struct verifier;

/* `cfg` is the notifier's own: borrowed, and current. `client` calls through the guard for
 * callbacks. */
struct verifier *verifier_new(struct loop *loop, struct http_client *client,
                              const struct notifier_cfg *cfg);

/* A commit said that there is something new. */
void verifier_wake(struct verifier *v);

/* Start nothing more: before the client is freed. */
void verifier_stop(struct verifier *v);

/* Free it when the loop has ended and all its messages have run. NULL is allowed. */
void verifier_free(struct verifier **vp);
