/* net/resolver.h - names to addresses with c-ares on one loop, behind a small cache.
 *
 * /etc/hosts and /etc/resolv.conf are honoured. Askers for one name share one look-up. Answers are
 * kept for their TTL (5 s to 5 min), "no such name" for 10 s, failures not at all. All calls and
 * callbacks on the loop's own thread. ares_library_init() before the first
 * (http_client_global_init).
 */
#pragma once

#include <netinet/in.h>

#include "base/err.h"
#include "base/str.h"

struct event_base;
struct resolver;
struct resolver_query;

#define RESOLVER_ADDRS 8 /* of one name that are kept, best first */

union address {
    struct sockaddr sa;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* RC_OK with n >= 1 addresses (port 0), borrowed; RC_PEER: *err says why there is none. */
typedef void resolver_fn(void *ctx, enum rc rc, const union address *addrs, size_t n,
                         const struct err *err);

/* `servers`: "127.0.0.1:5353" instead of those of /etc/resolv.conf, or NULL. */
struct resolver *resolver_new(struct event_base *base, const char *servers);

/* Outstanding queries must have been answered or cancelled. */
void resolver_free(struct resolver **rp);

/* Is `host` an address itself ("10.0.0.1", "[::1]")? Pure. */
bool resolver_numeric(struct str host, union address *out);

/* Ask; the callback comes once, later, unless the query is cancelled before. */
struct resolver_query *resolver_ask(struct resolver *r, struct str host, resolver_fn *fn,
                                    void *ctx);
void resolver_cancel(struct resolver_query **qp);
