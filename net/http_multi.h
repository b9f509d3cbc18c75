/* net/http_multi.h - a curl multi handle on the events of one loop; part of the HTTP client.
 *
 * All functions are called on the loop's own thread. The only callback is `done`. It runs from the
 * loop, never from inside http_multi_add() or http_multi_remove().
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>

struct event_base;
struct http_multi;

/* The transfer of `easy` has ended with `code`, and has been removed from the multi handle. */
typedef void http_multi_fn(void *ctx, CURL *easy, CURLcode code);

/* Make a multi handle. `max_connections`: while so many are open, in use or idle, no other one is
 * kept after its transfer. Never fails. */
struct http_multi *http_multi_new(struct event_base *base, long max_connections,
                                  http_multi_fn *done, void *ctx);

/* Free the multi handle. It must not have any transfers. */
void http_multi_free(struct http_multi **mp);

/* Call it once for each handle, before its first transfer. */
void http_multi_prepare(struct http_multi *m, CURL *easy);

/* A socket was opened for a transfer. It is closed by the function that http_multi_prepare() has
 * set. */
void http_multi_opened(struct http_multi *m);

/* Are so many connections open that this one is to be closed after its transfer? */
bool http_multi_is_full(const struct http_multi *m);

/* Start the transfer of `easy`, which is borrowed until `done`; end it without calling `done`. */
void http_multi_add(struct http_multi *m, CURL *easy);
void http_multi_remove(struct http_multi *m, CURL *easy);
