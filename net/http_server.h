/* net/http_server.h - a thin, strict HTTP/1.1 server on several libevent loops, one for each core.
 *
 * Requests are parsed with http-parser. When two parsers could read the framing of a request
 * differently, the server refuses the request and closes the connection (RFC 9112 §6). Each
 * connection has size limits and deadlines for the header and the body, and the client must read
 * its answer fast enough. Each request gets exactly one reply, on its own loop. Pipelined requests
 * are answered in order. The server handles HEAD: it sends the length of the reply's body, but not
 * the body.
 */
#pragma once

#include <netinet/in.h>

#include "base/arena.h"
#include "base/blob.h"
#include "base/err.h"
#include "base/str.h"
#include "net/loop.h"

struct http_server;  /* each loop has a listening socket at the same address (SO_REUSEPORT) */
struct http_request; /* belongs to its loop, and lives until the reply */
struct http_stream;  /* the same, and lives until its end */

/* What became of a request, for those who count and log them. */
struct http_exchange {
    int status;          /* of the answer; 0: the client left before there was one */
    int64_t answered_us; /* of a stream: from the first byte of the head (it was read, and the
                            answer before was sent) to the begin of the answer */
    int64_t total_us;    /* to its end: the kernel had all of it, or the connection broke */
    int64_t n_bytes;     /* of the answer, its head included, that the kernel took */
    bool is_stream;      /* it was a stream (http_reply_stream()) */
    bool is_cut;         /* the kernel did not take all of it */
    struct str id;       /* of the request, for `answered` only; and so is the next */
    const struct sockaddr *peer;
    unsigned label; /* this and the next are the watcher's own, set by `answered` */
    char *note;
};

/* Both run on the loop of the connection, for each request in this order; NULL: nobody watches.
 *
 * answered   the answer begins, or the client has left; the request is freed next. `r` NULL: what
 *            came cannot be read as a request. Of what was read only in part some strings are null.
 *            status, answered_us and is_stream are set;
 * ended      all is set. */
struct http_watch {
    void (*answered)(void *ctx, struct http_request *r, struct http_exchange *x);
    void (*ended)(void *ctx, struct http_exchange *x);
    void *ctx;
};

struct http_server_cfg {
    struct str listen;      /* "HOST:PORT", "[::1]:0"; port 0: the kernel chooses */
    int n_loops;            /* >= 1 */
    size_t max_connections; /* per loop; when there are more, the oldest idle connection is closed;
                               if no connection is idle, the new one gets 503 */
    size_t max_header, max_body; /* bytes */
    int64_t header_ms, body_ms;  /* deadlines from the first byte */
    int64_t idle_ms;             /* keep-alive */
    int64_t write_ms;  /* how often it is checked that a client reads its answer fast enough:
                          LIMIT_READ_RATE bytes a second, or the connection is closed */
    int64_t stall_ms;  /* a stream is closed when its client has not acknowledged a byte of what it
                          was sent for so long; noticed within a twelfth of it */
    size_t max_unsent; /* bytes of answers that clients are still reading, over all connections and
                          loops; an answer that several clients read counts once. Above this the
                          connections of the slowest clients are closed, or a new answer is replaced
                          by 503. A single answer may be longer */
    struct http_watch watch;
    struct http_sockets
        *inherited; /* NULL or without listeners: bind `listen`. Otherwise these sockets are served,
                       by at least as many loops as listen. The server takes them out */
};

/* Sockets that go from one server to the next one: those that listen, and connections that are
 * between two requests. */
struct http_sockets {
    int *listeners, *connections; /* descriptors; owned, mem_free() */
    size_t n_listeners, n_connections;
};
#define HTTP_SOCKETS_EMPTY                                                                         \
    {                                                                                              \
        .listeners = NULL                                                                          \
    }

/* Close what is left in it, and free it. */
void http_sockets_close(struct http_sockets *s);

/* The handler of a complete request. It runs on the request's loop. It replies at once, or keeps
 * the pointer and replies later on the same loop; see http_request_hold(). */
typedef void http_handler_fn(void *ctx, struct http_request *req);

/* Could this be an address to listen on? A name is looked up, and nothing is bound. RC_INPUT: no. Any thread. */
enum rc http_server_judge(struct str listen, struct err *err) NODISCARD;

/* Bind the address and listen. RC_INPUT: the address cannot be read. RC_IO: it cannot be bound.
 * http_server_start() begins to serve. */
enum rc http_server_new(const struct http_server_cfg *cfg, http_handler_fn *handler, void *ctx,
                        struct http_server **out, struct err *err) NODISCARD;
void http_server_start(struct http_server *s);

/* The port to which the server is bound. */
int http_server_port(const struct http_server *s);

/* Stop accepting connections, give running requests three quarters of `ms` milliseconds to end, but
 * all except one second if that is more. Then answer those that are held (what their holder says at
 * their deadline, else 503, with Retry-After if they only read) or have come in part (408). Go on
 * reading in the rest of the time, so that clients that still send get these answers, and close all
 * connections. Connections that already wait in the kernel's queues are still accepted. The loops
 * go on running posted messages until http_server_free(). Call it on the main thread; the same
 * holds for http_server_new(), http_server_start() and http_server_free(). */
void http_server_stop(struct http_server *s, int64_t ms);

/* The same, for a server that another process continues: it goes on with the sockets in *out, which
 * stay open when a program is executed. What waits in the kernel's queues is left to it, and so are
 * connections between two requests. Requests that run are answered with "Connection: close". Those that are held are
 * at their deadline after a fifth of a second. */
void http_server_hand_over(struct http_server *s, int64_t ms, struct http_sockets *out);

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

/* Its id: what the client gave as X-Request-Id if that is 1 to 64 letters, digits and characters of
 * "-._~:/+=@", else one that was made. Each answer repeats it, and lines of the log that are
 * written while the handler runs have it (base/log.h). */
struct str http_request_id(const struct http_request *r);

/* What the handler knows of the request, for `answered`; NULL at first. */
void http_request_set_own(struct http_request *r, void *own);
void *http_request_own(const struct http_request *r);

/* ---- holding: for answers that come from another thread ---- */
/* Hold a request. Call this in the handler, before the handler returns. A request that the handler
 * keeps without holding it cannot be found by number, and its reply is dropped if the client has
 * left. A second call for the same request replaces the callbacks and the deadline; the number
 * stays the same.
 *
 * Returns a number by which the loop finds the request again. The number is never 0. `gone` (may be
 * NULL) runs on the loop if the client leaves or the server stops before the reply; after that the
 * request is freed, and its number is no longer valid. If `deadline_ms` is above 0, `late` runs
 * when this time is over. It must reply or hold the request again; if it does neither, the client
 * gets 504.
 *
 * A client has left when it resets the connection, or ends its stream more than a second after its
 * request was complete. If it ends its stream sooner, the server assumes that the client has sent
 * everything and waits for the answer (`printf ... | nc`). It then gets its answer. If it has left
 * all the same, keep-alive probes show this within about a minute and a half.
 */
typedef void http_gone_fn(void *ctx, uint64_t serial);
uint64_t http_request_hold(struct http_request *r, http_gone_fn *gone, http_gone_fn *late,
                           int64_t deadline_ms, void *ctx);
/* The held request with this number; NULL: the request is gone. Call it on the loop's own thread.
 */
struct http_request *http_request_find(struct loop *l, uint64_t serial);

/* ---- the reply ---- */
/* Reply to a request; call this once. `fields` has complete lines "Name: value\r\n", and may be
 * null. The server adds Date, Content-Length and Connection. It takes over the caller's reference
 * to `body`; NULL: the reply has no body. Replies with status 204 and 304 are sent without body and
 * Content-Length. The request pointer must not be used after this call. */
void http_reply(struct http_request *r, int status, struct str fields, struct blob *body);

/* The same with `len` bytes of the open file `fd` from `at` on as body. They go from the file to
 * the socket, a piece at a time, and count for no limit of memory. The callee closes the file. If
 * it turns out to be shorter, the connection is closed. */
void http_reply_file(struct http_request *r, int status, struct str fields, int fd, int64_t at,
                     int64_t len);

/* ---- the reply as a stream ---- */
/* Reply with a body whose end is not known yet: its pieces are given later, as they come. HTTP/1.1
 * clients get each piece as a chunk; for HTTP/1.0 the end of the connection is the end of the body.
 * `fields` as in http_reply(). The request pointer must not be used after this call: the stream
 * needs no request, and its memory is given back.
 *
 * The callbacks run on the loop, from its events, never inside a call of these functions:
 * `room`  nothing waits in the stream any more, after something did;
 * `gone`  the client has left, has read nothing for stall_ms, or the server stops. The stream is
 *         freed after this callback, which must not use it.
 *
 * A client that ends its side within a second after its request counts as one that still reads, as
 * in http_request_hold(). Returns NULL, and runs no callback, when there is nobody to send pieces
 * to: HEAD is answered, or the client has left. */
typedef void http_stream_fn(void *ctx);
struct http_stream *http_reply_stream(struct http_request *r, int status, struct str fields,
                                      http_stream_fn *room, http_stream_fn *gone,
                                      void *ctx) NODISCARD;

/* Send pieces, in this order. None may be empty. They are sent by reference: many streams may send
 * the same blob. The callee takes over the n references. What the kernel does not take now waits
 * in the stream; the caller asks http_stream_unsent() how much that is and holds back when it is
 * too much. If the unsent bytes of all answers go over max_unsent, the stream is closed. */
void http_stream_send(struct http_stream *s, struct blob *const *pieces, size_t n);

/* The bytes of pieces that the kernel has not taken yet. */
size_t http_stream_unsent(const struct http_stream *s);

/* End the body after the pieces that wait. No callback runs any more, and the stream pointer must
 * not be used after this call. */
void http_stream_end(struct http_stream *s);
