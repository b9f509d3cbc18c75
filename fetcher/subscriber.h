/* fetcher/subscriber.h - Feedmill as a subscriber of publishers' hubs (WebSub, W3C 2018;
 * PubSubHubbub 0.3 and 0.4 where they differ in what is sent).
 *
 * What a fetch found (hub_links.h) becomes a row (struct upstream) that goes idle -> asking ->
 * active and round again, or to failed, with times at which something is to be done; every step is
 * put into the database and taken up again after a restart. One short lock; requests to hubs run on
 * the fetch loop, callbacks of hubs on any thread. Deliveries themselves are in delivery.h.
 */
#pragma once

#include "base/arena.h"
#include "fetcher/fetcher.h"
#include "fetcher/hub_links.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "storage/store.h"

struct subscriber;

struct subscriber_cfg {
    struct str base_url; /* public origin of our callbacks; empty: hubs on this machine only */
    int64_t unused_s;    /* readers keep a feed wanted so long */
    int64_t timeout_ms;  /* one request to a hub */
};

struct subscriber *subscriber_new(struct store *store, struct loop *loop,
                                  const struct subscriber_cfg *cfg);
void subscriber_free(struct subscriber **sp);

/* Take up what stands in the database. Before subscriber_run(). */
enum rc subscriber_load(struct subscriber *s, struct reader *r, struct err *err) NODISCARD;

/* Where this machine reaches us: "http://127.0.0.1:8080". */
void subscriber_local(struct subscriber *s, struct str url);

/* New settings; who called back elsewhere is asked anew. Any thread. */
void subscriber_set(struct subscriber *s, const struct subscriber_cfg *cfg);

/* Begin to call hubs by this client (borrowed), end it before the client is freed. Loop. */
void subscriber_run(struct subscriber *s, struct http_client *client);
void subscriber_stop(struct subscriber *s);

/* A fetch of the feed has ended, and is committed. Any thread. */
void subscriber_found(struct subscriber *s, int64_t feed_id, const struct hub_links *links);

/* A commit: interest in feeds may have come or gone. Any thread. */
void subscriber_notice(struct subscriber *s, const struct commit_notice *notice);

/* A hub's GET at a callback. The HTTP status to answer with, or 0: `done` runs when it is on disk.
 * Any thread. */
int subscriber_verify(struct subscriber *s, const struct hub_verification *v, hub_done_fn *done,
                      void *ctx);

/* Whose callback is this? 0 and copies in the arena, or the HTTP status to refuse a delivery with.
 * Any thread. */
struct upstream_key {
    int64_t feed_id;
    struct str topic, secret;
};
int subscriber_admit(struct subscriber *s, struct str token, struct arena *a,
                     struct upstream_key *out);
