/* net/http_client.h - outgoing HTTP on one loop: curl multi, own resolver, address guard.
 *
 * All functions are called on the loop's own thread, and callbacks run there. Each call runs its
 * callback exactly once. Names are resolved with c-ares. The guard checks every address, and the
 * transfer can use only an address that the guard permits, even if the name resolves to another one
 * later (no rebinding). The client follows redirects itself and checks the address of each hop
 * again. Credentials are sent to the first host only. Bodies are decompressed as they arrive, and
 * their size is bounded.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "net/guard.h"
#include "net/loop.h"

struct http_client;

/* Set up libcurl and c-ares. Call it once, from main, before any thread starts. */
void http_client_global_init(void);

struct http_client_cfg {
    struct guard *guard;    /* borrowed, must outlive the client */
    const char *user_agent; /* borrowed */
    long max_total;         /* most transfers at once; further calls wait in order */
    const char *dns;        /* name servers, "127.0.0.1:53,..."; NULL: /etc/resolv.conf */
};

struct http_field {
    struct str name, value;
};

/* Takes the body of an answer, piece by piece as it comes, decoded by nobody. `answer` has what
 * came before the body: status, fields, final_url. Anything but RC_OK, with *err, ends the call. */
struct http_answer;
typedef enum rc http_take_fn(void *ctx, const struct http_answer *answer, struct str piece,
                             struct err *err);

/* For how many milliseconds nothing may be asked of this host ("host:port"); 0: it may. Loop. */
typedef int64_t http_rest_fn(void *ctx, struct str authority);

struct http_call {         /* copied by http_client_start() */
    struct str method;     /* "GET", "POST" */
    struct str url;        /* canonical */
    struct str credential; /* "user:password" for Basic or Digest; null: no credential. SECRET */
    struct str proxy; /* the URL of one (net/http_proxy.h), through which all hops go; null: none.
                         SECRET */
    const struct http_field *fields;
    size_t n_fields;
    size_t n_own; /* so many of them, the first ones, go to the origin of `url` only, whatever their
                     names are; there they stand instead of others of the same name. SECRET */
    struct str conditional_url;  /* fields of conditions (If-None-Match and the like) go to this URL
                                    only, with any query; null: to all hops */
    struct str user_agent;       /* null: the client's */
    struct str body;             /* POST; borrowed until the callback */
    int max_redirects;           /* 0: a 3xx is the answer */
    size_t max_body, max_header; /* bytes, decoded */
    int64_t timeout_ms; /* from the end of the wait in the queue to the end of the call, redirects
                           included; 0: 30 s */
    int64_t connect_timeout_ms; /* 0: 10 s */
    http_rest_fn *rest;         /* asked before each hop; NULL: all hosts may be asked */
    void *rest_ctx;
    bool is_brief;      /* the answer will be short: it is asked for without a content coding */
    http_take_fn *take; /* NULL: the answer has the whole body. Otherwise it is asked for without a
                           content coding, max_body does not count, and `ctx` is that of `done` */
    bool keeps_part;    /* after a failure, the answer has that part of the body that has come */
};

struct http_answer {     /* borrowed for the callback; strings in `arena` */
    struct arena *arena; /* belongs to the callback, which frees or keeps it */
    int status;          /* 0 when there was no answer */
    bool is_tls_failure; /* the host was reached, but there was no TLS with it */
    bool is_no_name;     /* the name servers answered that the name does not exist */
    bool has_address; /* of the last host: its name was resolved, or it is an address; then ... */
    bool is_numeric;  /* ... it is one, and ... */
    enum nearness
        nearness; /* ... this is where the host is. Through a proxy these three say nothing */
    struct str final_url; /* after redirects, canonical */
    int n_redirects;
    int64_t rest_ms;           /* RC_RESTING: for so long the host of final_url may not be asked */
    bool all_permanent;        /* every hop was 301 or 308 (and there was one) */
    struct http_field *fields; /* of the last answer, names lower case */
    size_t n_fields;
    struct str body; /* decoded; empty unless RC_OK, or the call keeps a part */
};

/* `rc` is RC_OK when an answer came, whatever its status. Otherwise *err says why the call failed:
 * RC_TIMEOUT, RC_PEER (connection refused or reset, wrong length, TLS error, too many redirects),
 * RC_LIMIT (body or header larger than its bound), RC_DENIED (by the guard), RC_RESTING (by the
 * call's own `rest`) or RC_CLOSED (the call was cancelled, or the client freed). After such a
 * failure answer->status may still be set, if a status was received. */
typedef void http_done_fn(void *ctx, enum rc rc, struct http_answer *answer, const struct err *err);

struct http_client *http_client_new(struct loop *loop, const struct http_client_cfg *cfg);

/* Start a call, and return its number for http_client_cancel(). The callback never runs before this
 * function has returned. */
uint64_t http_client_start(struct http_client *c, const struct http_call *call, http_done_fn *done,
                           void *ctx);

/* Cancel the call: its callback runs soon after, with RC_CLOSED. Unknown numbers are ignored. */
void http_client_cancel(struct http_client *c, uint64_t number);

/* The number of calls that are running or waiting. */
size_t http_client_busy(const struct http_client *c);

/* Cancel all calls and free the client. The callbacks run before this function returns. */
void http_client_free(struct http_client **cp);

/* The value of a field of an answer. `name` is in lower case. If the field occurs several times,
 * the first value is returned; null: the answer does not have this field. */
struct str http_answer_field(const struct http_answer *answer, const char *name);
