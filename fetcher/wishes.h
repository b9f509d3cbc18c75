/* fetcher/wishes.h - callers that wait here for a fetch which another node must do, because the
 * host of the feed is that node's.
 *
 * The wish is a notice (store_wish()), which the other node sees as it follows the commits. When
 * its fetch has ended it answers with a notice, too: at once, if the feed was fetched before. A
 * wish may get lost while a host changes its owner, so it is repeated. If the host becomes ours,
 * the fetch is ours. All calls are made on the loop, unless a function says otherwise. */
#pragma once

#include "fetcher/fetcher_priv.h"
#include "fetcher/waiting.h"

/* Wait for a fetch of this feed; the caller has found that it is not ours. */
void wishes_add(struct fetcher *f, int64_t feed_id, fetch_done_fn *done, void *ctx);

/* The waiters of the slot wait for another node from now on. */
void wishes_take(struct fetcher *f, struct slot *slot);

/* Repeat wishes, give up old ones, and fetch what is ours now. */
void wishes_look(struct fetcher *f);

/* Repeat all wishes at once: their answers may have been missed. */
void wishes_again(struct fetcher *f);

/* Tell all who wait that we are shutting down. */
void wishes_stop(struct fetcher *f);

/* A commit of another node may answer wishes. Any thread. */
void wishes_notice(struct fetcher *f, const struct commit_notice *notice);
