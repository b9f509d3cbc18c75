/* net/http_client.h - outgoing HTTP on one loop: curl multi, own resolver, address guard.
 *
 * All calls and callbacks on the loop's own thread. A request makes exactly one callback. Names are
 * resolved with c-ares, every address is judged by the guard, and the transfer is pinned to a
 * permitted one (no rebinding). Redirects are followed here, hop by hop, each judged again;
 * credentials go to the first host only. Bodies are decompressed and bounded as they arrive.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "net/guard.h"
#include "net/loop.h"

struct http_client;

/* Once, from main, before threads: libcurl and c-ares. */
void http_client_global_init(void);

struct http_client_cfg {
    struct guard *guard;    /* borrowed, must outlive the client */
    const char *user_agent; /* borrowed */
    long max_total;         /* transfers at once; more wait in order */
    const char *dns;        /* name servers, "127.0.0.1:53,..."; NULL: /etc/resolv.conf */
};

struct http_field {
    struct str name, value;
};

struct http_call {         /* copied by http_client_start() */
    struct str method;     /* "GET", "POST" */
    struct str url;        /* canonical */
    struct str credential; /* "user:password" for Basic or Digest; null. SECRET */
    const struct http_field *fields;
    size_t n_fields;
    struct str user_agent;       /* null: the client's */
    struct str body;             /* POST; borrowed until the callback */
    int max_redirects;           /* 0: a 3xx is the answer */
    size_t max_body, max_header; /* bytes, decoded */
    int64_t timeout_ms;         /* from leaving the queue to the end, redirects included; 0: 30 s */
    int64_t connect_timeout_ms; /* 0: 10 s */
};

struct http_answer {      /* borrowed for the callback; strings in `arena` */
    struct arena *arena;  /* given to the callback: it frees it or keeps it */
    int status;           /* 0 when there was no answer */
    struct str final_url; /* after redirects, canonical */
    int n_redirects;
    bool all_permanent;        /* every hop was 301 or 308 (and there was one) */
    struct http_field *fields; /* of the last answer, names lower case */
    size_t n_fields;
    struct str body; /* decoded; empty unless RC_OK */
    struct str peer; /* address text, for logs */
};

/* `rc` RC_OK: an answer came, whatever its status. RC_TIMEOUT, RC_PEER (refused, reset, lied about
 * its length, TLS, too many redirects), RC_LIMIT (body or header over its bound), RC_DENIED
 * (guard), RC_CLOSED (client freed): *err says why; answer->status may be set when there was a
 * status. */
typedef void http_done_fn(void *ctx, enum rc rc, struct http_answer *answer, const struct err *err);

struct http_client *http_client_new(struct loop *loop, const struct http_client_cfg *cfg);

/* Start a call; returns its number, for http_client_cancel(). Never calls back before it returns.
 */
uint64_t http_client_start(struct http_client *c, const struct http_call *call, http_done_fn *done,
                           void *ctx);

/* Forget the call: its callback runs with RC_CLOSED soon after. Unknown numbers are ignored. */
void http_client_cancel(struct http_client *c, uint64_t number);

/* Transfers now running or waiting. */
size_t http_client_busy(const struct http_client *c);

/* Cancel everything (callbacks run before it returns) and free. */
void http_client_free(struct http_client **cp);

/* The value of a field of an answer, by lower-case name; null when absent. The first one wins. */
struct str http_answer_field(const struct http_answer *answer, const char *name);
