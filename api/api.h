/* api/api.h - the HTTP interface: one route table, one file a resource.
 *
 * Handlers run on the http loops and never wait: what needs a fetch or a query is held and answered
 * when it comes (net/http_server.h). The API knows neither fetcher nor notifier: server/ wires them
 * through the ports below.
 */
#pragma once

#include "api/http/config.h"
#include "api/hub/delivery.h"
#include "base/buf.h"
#include "net/http_server.h"

struct api;

/* Make it, before the first write to the store: it becomes a listener of commits. The configuration
 * is copied. */
struct api *api_new(const struct api_cfg *cfg);

/* Stop waiting for news: requests that wait are answered with nothing new. Lists that wait to be
 * parsed are parsed, and no more are taken. Any thread. */
void api_stop(struct api *a);

/* Free it. Requests are answered from other threads, so the order of a stop is: api_stop(),
 * http_server_stop(), then what the ports lead to, then store_close(), then
 * http_server_free(), then this. */
void api_free(struct api **ap);

/* The handler for http_server_new(); ctx is the struct api. */
void api_handle(void *ctx, struct http_request *req);

/* Replace what a reload may change: all but store and ports. Any thread. */
void api_reload(struct api *a, const struct api_cfg *cfg);
