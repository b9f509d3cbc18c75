/* net/component_link.h - the connection of a component to its server; for component.c alone.
 *
 * It resolves the server's name, connects to one address after the other, and connects again, with
 * growing pauses, when the connection is lost. libstrophe speaks the protocol. Nothing here waits,
 * but for component_link_run(). Belongs to the component's thread, but for init and release.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <strophe.h>

#include "net/component.h"
#include "net/resolver.h"

#define COMPONENT_LINK_LOW 8 /* descriptors kept for select() */

struct component_link {
    const struct component_cfg *cfg;              /* borrowed */
    void (*opened)(void *ctx, xmpp_conn_t *conn); /* the server has accepted us */
    void (*lost)(void *ctx);                      /* what was sent and not confirmed is lost */
    void *ctx;

    xmpp_ctx_t *strophe;
    xmpp_conn_t *conn; /* NULL: not connected, and not trying to */
    bool is_open;      /* the server has accepted us */
    bool is_lost;      /* `conn` has ended and must be released */
    char *lost_why;
    int64_t heard_ms; /* when the server was heard last, or the connection was begun; monotonic */
    int64_t try_at_ms, pause_ms;
    int low[COMPONENT_LINK_LOW]; /* -1: none */

    struct event_base *base;   /* of the resolver; NULL: it was not needed yet */
    struct resolver *resolver; /* the same */
    struct resolver_query *query;
    union address addrs[RESOLVER_ADDRS];
    size_t n_addrs, next_addr; /* those from next_addr on were not tried */
};

/* Make it ready; it does not connect yet. The caller has set what stands before `strophe`. */
void component_link_init(struct component_link *l);
void component_link_release(struct component_link *l);

/* If there is no connection and it is time to, begin one, or go on with it. */
void component_link_try(struct component_link *l);

/* Let libstrophe work, and wait at most `ms` for the server. Callbacks of libstrophe run here. */
void component_link_run(struct component_link *l, unsigned long ms);

/* The connection is of no use any more, for the first reason that is given. */
void component_link_lose(struct component_link *l, const char *why);

/* After a loss: call lost(), and plan the next try. */
void component_link_drop_lost(struct component_link *l);

/* Give libstrophe a stanza. */
void component_link_send(struct component_link *l, const char *xml, size_t len);

/* Have no connection until the next component_link_try(), which makes one at once. */
void component_link_rest(struct component_link *l);

/* End the stream, give the server a moment to end its own, and free what the thread has made. */
void component_link_end(struct component_link *l);
