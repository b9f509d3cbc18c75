/* fetcher/upstream_late.h - calls of hubs and clouds that come to a node which may not know the
 * subscription, because another node has made or changed it. Its row is read from the database
 * first, then the call is handled. A call with a token that nobody knows costs a few such looks,
 * and only so many wait at a time. If there is one node, calls are handled at once. Any thread. */
#pragma once

#include "fetcher/fetcher_priv.h"

enum upstream_verdict upstream_late_verify(struct fetcher *f, const struct upstream_verification *v,
                                           upstream_done_fn *done, void *ctx);
enum upstream_verdict upstream_late_deliver(struct fetcher *f, const struct upstream_delivery *d,
                                            upstream_done_fn *done, void *ctx);
enum upstream_verdict upstream_late_notify(struct fetcher *f, const struct upstream_notification *n,
                                           upstream_done_fn *done, void *ctx);

/* Look once more for what was not found; if the fetcher is stopping, give it up. On the loop. */
void upstream_late_again(struct fetcher *f);
