/* api/api.h - the HTTP interface: one route table, and one file for each resource.
 *
 * Handlers run on the http loops and never wait. A request that needs a fetch or a query is held,
 * and answered when the result comes (net/http_server.h). The API knows neither fetcher nor
 * notifier: server/ connects them through the ports in api/http/config.h. */
#pragma once

#include "api/http/config.h"
#include "api/hub/delivery.h"
#include "base/buf.h"
#include "net/component.h"
#include "net/http_server.h"

struct api;

/* Make the API. Call it before the first write to the store, because it listens to commits. The
 * configuration is copied. NULL: the tokens of callers cannot be read; the log says why. */
struct api *api_new(const struct api_cfg *cfg);

/* Does the database have tokens of callers? Any thread. */
bool api_has_tokens(const struct api *a);

/* As list_let_fn (model/ports.h); ctx is the struct api. */
size_t api_let_unknown(void *ctx, size_t n);

/* Stop waiting for news: waiting requests are answered with nothing new. Lists that wait to be
 * parsed are still parsed, but no more are accepted. Any thread. */
void api_stop(struct api *a);

/* Free it. Requests are answered from other threads, so the order of a stop is: api_stop(),
 * http_server_stop(), stop what the ports lead to, store_close(), http_server_free(), then this. */
void api_free(struct api **ap);

/* The handler for http_server_new(); ctx is the struct api. */
void api_handle(void *ctx, struct http_request *req);

/* The watch for the same server. */
struct http_watch api_watch(struct api *a);

/* The handler of the component's requests; ctx is the struct api, whose configuration has a
 * component. */
void api_xmpp_request(void *ctx, struct component_request *req);

/* Draw revisions as items of a stream. The notifier calls this through a port. As draw_revisions().
 * Reader threads. */
enum rc api_draw_items(struct api *a, struct reader *r, const struct items_wanted *wanted,
                       struct arena *arena, struct item_text *items, struct err *err) NODISCARD;

/* Replace what a reload may change: everything except store and ports. Any thread. */
void api_reload(struct api *a, const struct api_cfg *cfg);
