/* fetcher/upstream_subs.h - our subscriptions at the hubs and clouds of publishers. It follows
 * WebSub (W3C 2018), and PubSubHubbub 0.3 and 0.4 where their messages differ; and rssCloud (RSS
 * Advisory Board).
 *
 * The hub and topic that a fetch found (upstream_links.h) become a row (struct upstream). The row
 * has a state (upstream_rules.h) and the time of its next action. Every step is written to the
 * database, so work goes on after a restart. One lock guards the rows, and is held only briefly.
 * Requests to hubs run on the fetch loop. Calls from hubs come in on any thread. Deliveries are
 * handled in delivery.h.
 */
#pragma once

#include "base/arena.h"
#include "fetcher/fetcher.h"
#include "fetcher/upstream_links.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "storage/store.h"

struct upstream_subs;

struct upstream_subs_cfg {
    struct str base_url; /* public origin of our callbacks; empty: only hubs on this machine can
                            reach us */
    int64_t unused_s;    /* for this time after a reader asked for it, a feed is wanted */
    int64_t timeout_ms;  /* one request to a hub */
};

struct upstream_subs *upstream_subs_new(struct store *store, struct loop *loop,
                                        const struct upstream_subs_cfg *cfg);
void upstream_subs_free(struct upstream_subs **sp);

/* Several nodes share the rows: this one does what is to be done for the feeds that `owns` names.
 * Call it before upstream_subs_load(). Then upstream_subs_read() reads the rows anew, because other
 * nodes may have changed them; `done` (may be NULL) is called once, perhaps on another thread.
 * False: they could not be read. Any thread. */
typedef bool upstream_owns_fn(void *ctx, int64_t feed_id);
void upstream_subs_share(struct upstream_subs *s, upstream_owns_fn *owns, void *ctx);
typedef void upstream_read_fn(void *ctx, bool is_read);
void upstream_subs_read(struct upstream_subs *s, upstream_read_fn *done, void *ctx);

/* The same for the row with this token only, which is found by its key. Many that are asked for at
 * once are read together. The token must live until `done`. */
void upstream_subs_read_one(struct upstream_subs *s, struct str token, upstream_read_fn *done,
                            void *ctx);

/* Slots were lost: forget the rows of feeds that are not ours any more, without reading. Another
 * node changes them from now on. Any thread. */
void upstream_subs_forget_others(struct upstream_subs *s);

/* Load the rows from the database. Call it before upstream_subs_run(). */
enum rc upstream_subs_load(struct upstream_subs *s, struct reader *r, struct err *err) NODISCARD;

/* Set the URL at which hubs on this machine reach us: "http://127.0.0.1:8080". */
void upstream_subs_local(struct upstream_subs *s, struct str url);

/* Take over new settings. When these change the origin of a callback, its subscription is requested
 * again. Any thread. */
void upstream_subs_set(struct upstream_subs *s, const struct upstream_subs_cfg *cfg);

/* upstream_subs_run() starts the requests to hubs, by this client (borrowed). upstream_subs_stop()
 * ends them; call it before the client is freed. Both run on the fetch loop. */
void upstream_subs_run(struct upstream_subs *s, struct http_client *client);
void upstream_subs_stop(struct upstream_subs *s);

/* Take over the links that a fetch of the feed found. The fetch has been committed. Any thread. */
void upstream_subs_found(struct upstream_subs *s, int64_t feed_id,
                         const struct upstream_links *links);

/* Take notice of a commit, after which feeds may be wanted that were not, or the other way round.
 * Any thread. */
void upstream_subs_notice(struct upstream_subs *s, const struct commit_notice *notice);

/* Handle a hub's GET at a callback. VERDICT_PENDING: `done` gets the verdict when it is on disk.
 * Any thread. */
enum upstream_verdict upstream_subs_verify(struct upstream_subs *s,
                                           const struct upstream_verification *v,
                                           upstream_done_fn *done, void *ctx);

/* Handle a cloud's call of a handler. VERDICT_TAKEN: we want the notifications, and this was none;
 * VERDICT_PENDING: `done` gets the verdict when it is on disk that the feed must be fetched. Any
 * thread. */
enum upstream_verdict upstream_subs_notify(struct upstream_subs *s,
                                           const struct upstream_notification *n,
                                           upstream_done_fn *done, void *ctx);

/* Find the subscription at a hub whose callback has this token. VERDICT_TAKEN: *out has copies in
 * the arena. Any other verdict says why a delivery is refused. Any thread. */
struct upstream_key {
    int64_t feed_id;
    struct str topic, secret;
};
enum upstream_verdict upstream_subs_admit(struct upstream_subs *s, struct str token,
                                          struct arena *a, struct upstream_key *out);
