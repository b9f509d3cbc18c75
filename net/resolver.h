/* net/resolver.h - names to addresses with c-ares on one loop, with a small cache.
 *
 * /etc/hosts and /etc/resolv.conf are used. Queries for the same name share one look-up. Answers
 * are kept for their TTL (at least 5 s, at most 5 min), and the answer "no such name" for 10 s.
 * Failures are not kept. All functions are called on the loop's own thread, and callbacks run
 * there. ares_library_init() must have been called before the first resolver is made;
 * http_client_global_init() does so.
 */
#pragma once

#include <netinet/in.h>

#include "base/err.h"
#include "base/str.h"

struct event_base;
struct resolver;
struct resolver_query;

#define RESOLVER_ADDRS 8 /* most addresses that are kept of one name, best first */

union address {
    struct sockaddr sa;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* RC_OK: the name has `n` addresses, at least one. They have port 0, and are borrowed for the
 * callback. RC_NOT_FOUND: the name servers answered that the name does not exist, or has no
 * address; RC_PEER: they do not answer. *err says why. */
typedef void resolver_fn(void *ctx, enum rc rc, const union address *addrs, size_t n,
                         const struct err *err);

/* `servers`: the name servers to ask ("127.0.0.1:5353"); NULL: those in /etc/resolv.conf. */
struct resolver *resolver_new(struct event_base *base, const char *servers);

/* Free a resolver. All its queries must have been answered or cancelled before. */
void resolver_free(struct resolver **rp);

/* Is `host` an address itself ("10.0.0.1", "[::1]")? Pure. */
bool resolver_numeric(struct str host, union address *out);

/* Look a name up. The callback runs once, after this function has returned, unless the query is
 * cancelled first. */
struct resolver_query *resolver_ask(struct resolver *r, struct str host, resolver_fn *fn,
                                    void *ctx);
void resolver_cancel(struct resolver_query **qp);
