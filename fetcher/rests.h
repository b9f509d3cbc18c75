/* fetcher/rests.h - hosts that asked us to wait: what is kept of that in the database, for the time
 * after a restart, and for the node that has the host next.
 *
 * All rests are read, not only those of own hosts: archives and redirects lead to any host. Calls
 * are made on the loop, unless a function says otherwise. */
#pragma once

#include "fetcher/fetcher_priv.h"

/* If this answer of `url` asks for it, its host rests from now on. */
void rests_heed(struct fetcher *f, struct str url, const struct response *resp);

/* For how many milliseconds nothing may be asked of a host (an http_rest_fn; `fetcher`: a struct
 * fetcher). */
int64_t rests_left_ms(void *fetcher, struct str authority);

/* Does the host of the feed rest? Then no reader has it fetched, and this is what he is told: what is
 * stored is shown, if there is anything. Strings are in `a`. */
bool rests_refuse(struct fetcher *f, int64_t feed_id, struct arena *a, struct fetch_result *out);

/* Keep a rest. If the store has no room it is done later. */
void rests_keep(struct fetcher *f, const struct host_rest *rest);

/* Before the first fetch, on the thread that starts: take over all rests. */
enum rc rests_load(struct fetcher *f, struct reader *r, struct err *err) NODISCARD;

/* Hosts are ours that were another node's: read the rests anew. Until that is done, nothing starts
 * that would have to wait for a host that rests. */
void rests_changed(struct fetcher *f);

/* Do what could not be done: keep, or read. */
void rests_again(struct fetcher *f);

/* The fetcher is to be freed: forget what was not kept. Any thread. */
void rests_release(struct fetcher *f);
