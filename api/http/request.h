/* api/http/request.h - one request from its parameters to its reply: an ask with a connection.
 *
 * It lives in the arena of its HTTP request, and belongs to the loop of its connection. A handler
 * replies at once, or holds the request and replies later. Work for it on other threads has a
 * ticket (ticket.h), which finds the request again if the client is still there. */
#pragma once

#include "api/http/ask.h"
#include "api/http/buckets.h"
#include "net/http_server.h"

struct request;
struct task;
struct reply;
typedef void request_handler_fn(struct request *req);
/* Takes what a handler answers in place of the client: a reply or a problem; the other one is NULL.
 * Both are borrowed. */
typedef void request_taker_fn(struct request *req, const struct reply *r, const struct problem *p);

struct request {
    struct ask ask;
    struct http_request *http;
    const struct route *route; /* api/api.c */
    bool is_late;              /* its deadline has passed */
    bool has_waited;           /* for news, so its time says nothing of the server */
    struct str token;          /* that it has shown; null: none. SECRET */
    bool has_cookie;           /* the token is that of a session, from a cookie */
    bool has_looked;           /* other nodes were asked for the token */
    bool has_key;              /* it stood in the URL */
    bool has_rate;             /* the caller has a rate: what is left of it is told */
    struct bucket_left rate_left;
    uint64_t serial;  /* 0: not held */
    int64_t until_ms; /* monotonic; held for an answer of the store until then; 0: it is not */
    const struct task *task; /* under way for it (http/task.h); NULL: none */
    /* called on the loop when the client has left; NULL: nothing to do. A request that waits for
     * somebody else, such as a publisher, has one: it is answered at once when the server stops */
    void (*on_gone)(struct request *req);
    void *gone_ctx;
    request_taker_fn *taker;   /* gets the answer, once (reply.c); NULL: the client does */
    void *taker_ctx;           /* its own */
    request_handler_fn *again; /* "no" is said only after this has run once more (http/current.h);
                                  NULL: it may be said */
    bool has_caught_up, is_prepared;  /* for sets of feeds that change (views/sub_book.h) */
    struct cloud_registration *cloud; /* by XML-RPC (hub/cloud.c); NULL: none */
    struct ping_wait *ping; /* taken, but maybe not on disk yet (pings/ping.c); NULL: none */
};

/* Hold the request. If it is not answered within `deadline_ms`, the answer is 503. Only the first
 * call counts. */
void request_hold(struct request *req, int64_t deadline_ms);

/* The same for an answer that the store must give. If the database is not within reach, the answer
 * is 503 within 5 seconds. */
void request_hold_for_store(struct request *req, int64_t deadline_ms);

/* If the server stops, refuse the request (503, Retry-After) and return true. For a request that would
 * begin to wait for somebody else, whose answer might come too late. */
bool request_refuse_at_end(struct request *req);

/* An on_gone for a request that has nothing to do then. */
void request_leave_nothing(struct request *req);

/* Count one more call of the caller. False: its rate allows no more; *p says so. */
bool request_in_rate(struct request *req, struct problem *p) NODISCARD;

/* Returns true when the request was caused by a page of another site to which --cors-origin gives
 * no access (auth.h). */
bool request_is_foreign(const struct request *req);

/* Set *p to: a page of another site must not cause the request. `what` as in the next. */
void request_foreign_problem(const struct request *req, const char *what, struct problem *p);

/* Refuse with 403 a request that a page of another site must not cause. `what` completes the
 * sentence "A page of another site may not". The request is over. */
void request_refuse_foreign(struct request *req, const char *what);
