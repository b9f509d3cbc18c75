/* fetcher/delivery.h - what a hub sends to a callback: authenticated, parsed, merged.
 *
 * A delivery is a job without a request and without a slot: it may overlap with a poll of the feed,
 * for the storer compares every entry with its row again. It is a partial document (WebSub §7
 * allows a difference): what it leaves out is not gone. One that is no feed (the topic is a page,
 * the hub sends nothing but a notice) has the feed fetched.
 */
#pragma once

#include "fetcher/fetcher_priv.h"

/* As fetcher_hub_deliver(). Any thread. */
int delivery_take(struct fetcher *f, const struct hub_delivery *d, hub_done_fn *done, void *ctx);

/* Run what waits. On a parse worker, for each item of the parse queue. */
void delivery_run_all(struct worker *w);

#define DELIVERIES_MOST 4096 /* that wait; beyond it 503 */
