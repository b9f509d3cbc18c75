/* net/http_server.h - a thin, strict HTTP/1.1 server on libevent loops, one a core.
 *
 * Requests are parsed with http-parser; framing that two parsers could read differently is refused
 * and the connection closed (RFC 9112 §6). Every connection has bounds and deadlines for header,
 * body and reading of the answer. A request gets exactly one reply, on its own loop. Pipelined
 * requests are answered in order. HEAD is handled here (a reply's body is counted and not sent).
 */
#pragma once

#include <netinet/in.h>

#include "base/arena.h"
#include "base/blob.h"
#include "base/err.h"
#include "base/str.h"
#include "net/loop.h"

struct http_server;  /* one listening socket a loop, shared address (SO_REUSEPORT) */
struct http_request; /* lives until it was replied to, on its loop */

struct http_server_cfg {
    struct str listen;           /* "HOST:PORT", "[::1]:0"; port 0: the kernel chooses */
    int n_loops;                 /* >= 1 */
    size_t max_connections;      /* per loop; over it the oldest idle one is closed, else 503 */
    size_t max_header, max_body; /* bytes */
    int64_t header_ms, body_ms;  /* deadlines from the first byte */
    int64_t idle_ms;             /* keep-alive */
    int64_t write_ms;            /* without progress of the reader */
};

/* Handler of a complete request, on its loop. It replies now, or keeps the pointer and replies
 * later on the same loop: see http_request_hold(). */
typedef void http_handler_fn(void *ctx, struct http_request *req);

/* Bind and listen; RC_INPUT (address unreadable), RC_IO (bind). Serving starts with
 * http_server_start(). */
enum rc http_server_new(const struct http_server_cfg *cfg, http_handler_fn *handler, void *ctx,
                        struct http_server **out, struct err *err) NODISCARD;
void http_server_start(struct http_server *s);

/* The port bound. */
int http_server_port(const struct http_server *s);

/* Stop accepting (what waits in the queues is still accepted), let requests in flight end within
 * `ms`, close connections. The loops go on running posted messages until http_server_free(). Main
 * thread, as new, start and free. */
void http_server_stop(struct http_server *s, int64_t ms);
void http_server_free(struct http_server **sp);

/* ---- the request (its loop only; strings live until the reply) ---- */
struct str http_request_method(const struct http_request *r);
struct str http_request_target(const struct http_request *r); /* as received, origin form */
struct str http_request_path(const struct http_request *r);   /* percent-decoded, trailing slash
                                                                 cut (but for "/") */
struct str http_request_query(const struct http_request *r);  /* raw, null without '?' */
struct str http_request_body(const struct http_request *r);
/* Value of a field by lower-case name; several are joined with ", "; null when absent. */
struct str http_request_field(const struct http_request *r, const char *name);
struct str http_request_host(const struct http_request *r); /* Host field, or the listen address */
const struct sockaddr *http_request_peer(const struct http_request *r);
struct arena *http_request_arena(struct http_request *r); /* freed with the request */
struct loop *http_request_loop(struct http_request *r);

/* ---- holding: for answers that come from another thread ---- */
/* Call it in the handler, before the handler returns; a request that is kept without holding cannot
 * be found, and its reply is dropped when the client has left. Holding again replaces the callbacks
 * and the deadline; the number stays.
 *
 * A number by which the loop finds the request again; 0 is never used. `gone` (may be NULL) runs on
 * the loop when the client left or the server stops before the reply; after it the request is freed
 * and the number means nothing. `deadline_ms` > 0: `late` runs then, and must reply (504 if it does
 * not).
 *
 * "Left" is a reset, or the end of the client's stream more than a second after the request was
 * complete. An end that comes sooner is taken for a client that has said all it wants to say and
 * waits (`printf ... | nc`): it gets its answer; should it have left, keep-alive probes tell within
 * about a minute and a half. */
typedef void http_gone_fn(void *ctx, uint64_t serial);
uint64_t http_request_hold(struct http_request *r, http_gone_fn *gone, http_gone_fn *late,
                           int64_t deadline_ms, void *ctx);
/* The held request, or NULL when it is gone. Loop's own thread. */
struct http_request *http_request_find(struct loop *l, uint64_t serial);

/* ---- the reply ---- */
/* Reply once. `fields`: complete lines "Name: value\r\n" (may be null); Date, Content-Length,
 * Connection are added here. `body` is given (NULL: none): the caller's hold goes with it. Status
 * 204 and 304 send no body and no Content-Length. After it the request pointer is dead. */
void http_reply(struct http_request *r, int status, struct str fields, struct blob *body);
