/* net/http_multi.h - a curl multi handle driven by one loop's events; part of http_client.
 *
 * All on the loop's own thread. Nothing in here calls out but `done`, and that only from the loop,
 * never from inside multi_add() or multi_remove().
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>

struct event_base;
struct http_multi;

/* A transfer ended, and is no longer in the multi handle. */
typedef void http_multi_fn(void *ctx, CURL *easy, CURLcode code);

/* `max_connections`: open ones, in use or idle. */
struct http_multi *http_multi_new(struct event_base *base, long max_connections,
                                  http_multi_fn *done, void *ctx);

/* No transfer may be left in it. */
void http_multi_free(struct http_multi **mp);

void http_multi_add(struct http_multi *m, CURL *easy);
void http_multi_remove(struct http_multi *m, CURL *easy);
