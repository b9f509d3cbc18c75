/* net/http_client_priv.h - what the files of the HTTP client share.
 *
 *   waiting -> hop: resolve, judge -> try: one address, one libcurl transfer -> done
 *                ^                       | cannot connect: the next address
 *                +---- redirect ---------+
 *
 * http_client.c has the queues and the end of a call, http_hop.c the hops, http_try.c the tries.
 * All on the loop's own thread.
 */
#pragma once

#include <curl/curl.h>
#include <event2/event.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "net/decode.h"
#include "net/http_auth.h"
#include "net/http_client.h"
#include "net/http_multi.h"
#include "net/http_proxy.h"
#include "net/resolver.h"
#include "net/url.h"

#define SPARE_TRANSFERS 64 /* that are kept for the next calls */

struct call {
    TAILQ_ENTRY(call) link;
    struct call_queue *queue; /* the queue of the client in which the call is */
    struct http_client *c;
    uint64_t number;
    http_done_fn *done;
    void *ctx;
    struct http_call given; /* its strings follow the struct; its body is borrowed */
    struct transfer *t;     /* NULL while waiting */
};

struct call_queue {
    TAILQ_HEAD(, call) list;
    size_t n;
};

/* What a transfer keeps for the next call: what is costly to make, and which options of the handle
 * are set. */
struct transfer_kept {
    CURL *easy;        /* NULL: it must be made */
    CURLU *place;      /* a URL that libcurl has read, of the last call; NULL: there is none ... */
    struct buf origin; /* ... and its beginning up to the path */
    struct buf body;
    struct event *deadline; /* of the call, or of connecting. NULL: it must be made */
    bool has_credential;    /* such a handle is not used for another hop */
    bool knows_basic;       /* the credential goes with the request, without being asked for */
    bool is_post;           /* an ordinary POST */
    bool is_brief;          /* as the call says */
    bool is_taken;          /* the call takes the body itself */
    bool has_connect_to;
    bool has_proxy;     /* such a handle is not used for another hop */
    bool forbids_reuse; /* of the connection */
};

struct transfer { /* of a running call */
    struct transfer_kept kept;
    struct arena *arena; /* given away with the answer */
    struct call *call;
    bool in_multi; /* libcurl works on the handle */
    struct resolver_query *query;
    int64_t deadline_ms;
    int64_t due_ms; /* for which kept.deadline is set; 0: it was put off once */

    struct str method, url; /* of this hop */
    struct url_parts parts; /* of `url` */
    struct str first;       /* origin of the first hop, after a redirect; secrets go there only */
    bool is_numeric;        /* the host of `url` is an address */
    int n_redirects;
    int64_t rest_ms; /* as in struct http_answer */
    bool all_permanent, drop_body;

    bool is_proxied; /* by the next one */
    struct http_proxy proxy;
    bool is_judged;       /* the target of this hop: from then on the addresses are the proxy's */
    union address target; /* of it, permitted */

    union address addrs[RESOLVER_ADDRS]; /* permitted ones; those before `next` were tried */
    size_t n_addrs, next;
    char peer[INET6_ADDRSTRLEN + 10]; /* as http_try_peer() writes it, when it is needed */

    int status;                  /* of the answer now coming in; 0 before */
    size_t header_len, body_len; /* bytes received, before decoding */
    struct decoder
        *decoder; /* of a coded body; NULL: the body is not coded, or this is not yet known */
    struct err body_err; /* what is wrong with the body; RC_OK: nothing */
    struct http_field *answer;
    size_t n_answer;
    bool header_over, redirect_cut, refused, is_tls_failure, is_no_name;
    char curl_text[CURL_ERROR_SIZE];
};

struct http_client {
    struct http_client_cfg cfg;
    struct event_base *base;
    struct resolver *resolver;
    struct http_multi *multi;
    struct http_auth *auth;
    const char *ca_file; /* SSL_CERT_FILE of the environment, as for every program with OpenSSL;
                            NULL: the authorities of the system */
    struct event *kick;  /* starts and ends calls from the loop, never from inside a caller */
    struct call_queue waiting, running, cancelled;
    uint64_t last_number;
    bool in_callback; /* the client must not be freed now */
    struct transfer *spare[SPARE_TRANSFERS];
    size_t n_spare;
};

/* ---- http_client.c ---- */

/* Run the callback of a call, and free the call. */
void http_call_end(struct call *k, enum rc rc, const struct err *err);

/* The same for a failure. The URL is put in front of the text. http_call_fail_late() is for a call
 * whose time is over. */
void http_call_fail(struct call *k, enum rc rc, const char *fmt, ...) PRINTF_LIKE(3, 4);
void http_call_fail_late(struct call *k);

/* How many milliseconds are left for the call; 0: its time is over. */
int64_t http_time_left_ms(const struct transfer *t);

/* See to the call after so many milliseconds, instead of when it was to be seen to before: if it
 * runs yet, then http_try_late() is called, or the call ends because its host was not resolved. */
void http_deadline_set(struct call *k, int64_t ms);

/* ---- http_hop.c ---- */

/* Start a hop to the transfer's `url` and `parts`. May end the call. */
void http_hop_start(struct call *k);

/* http_multi calls this when a try has ended. */
void http_hop_done(void *ctx, CURL *easy, CURLcode code);

/* "http://host:80": the scheme, host and port of a URL. */
struct str http_origin(struct arena *a, const struct url_parts *p);

/* ---- http_try.c ---- */

/* Try the next address. May end the call when its time is over. */
void http_try_start(struct call *k);

/* The time for connecting is over, or that of the call. May end the call. */
void http_try_late(struct call *k);

/* Free what a transfer has kept. */
void http_try_release(struct transfer_kept *kept);

/* Is the answer a redirect that must be followed, or counted as one too many? */
bool http_try_redirects(const struct transfer *t);

/* The first field of the answer with this lower-case name; null: there is none. */
struct str http_try_field(const struct transfer *t, const char *name);

/* Note how the server of a try that has ended wants to be told the credential. true: not as it was
 * told, so the request is to be made again. */
bool http_try_learn(struct call *k);

/* Drop the part of the body that has come so far. */
void http_try_forget_body(struct transfer *t);

/* Write the address of this try to t->peer. */
void http_try_peer(struct transfer *t);

/* Write the address as text: "10.0.0.1:80", "[::1]:80". */
void http_address_text(const union address *addr, int port, char *out, size_t size);
