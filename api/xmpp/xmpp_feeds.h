/* api/xmpp/xmpp_feeds.h - finds the feeds of a node; unknown ones are fetched first, as for a
 * request by HTTP (api/views/gather.h). */
#pragma once

#include "api/views/query.h"
#include "api/xmpp/xmpp_request.h"

/* Runs when all feeds are found or could not be had: at once, or later on a thread of the storer or
 * of the fetcher, so it must be quick. It answers the request. */
typedef void xmpp_feeds_fn(struct xmpp_request *req, struct gathered *items, size_t n, void *ctx);

/* Find the feeds of this query. The request may be refused here, when too many wait. `ctx` lives in
 * the arena of the request. */
void xmpp_feeds_find(struct xmpp_request *req, const struct query *q, xmpp_feeds_fn *done,
                     void *ctx);

/* Refuse the request, because none of the feeds can be shown. */
void xmpp_feeds_refuse(struct xmpp_request *req, const struct gathered *items, size_t n);
