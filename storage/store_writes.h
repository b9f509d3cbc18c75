/* storage/store_writes.h - the writes that are neither subscriptions nor outcomes of sources: a part of storage/store.h,
 * which everybody includes. What is said there of writes holds here.
 */
#pragma once

#include "storage/store.h"

/* How many errors in a row a feed had before the failures that are taken back. */
struct feed_errors {
    int64_t feed_id;
    int n_errors;
};

/* The failures of these feeds since `since` were ours (ETIQ-04). A feed that was fetched since then
 * and has more errors has as many as before, and is due again. Others are left as they are. Any
 * thread. */
enum rc store_take_back(struct store *s, const struct feed_errors *feeds, size_t n,
                        int64_t since) NODISCARD;

/* Note that a client asks for these feeds now, so that they continue to be fetched. For each feed
 * this is written at most once an hour. */
void store_touch(struct store *s, const int64_t *ids, size_t n);

/* Ids of feeds that never were one (no document was ever stored), that nobody has subscribed, and
 * that were neither made nor asked for since `before`: into ids[max]; returns how many. It looks at
 * `max` records from *at on, and moves *at, which is 0 again at the end. Any thread. */
size_t store_strays(struct store *s, int64_t before, size_t *at, int64_t *ids, size_t max);

/* Delete those of these feeds of which that is still so. */
enum rc store_forget(struct store *s, const int64_t *ids, size_t n, int64_t before) NODISCARD;

/* Delete a feed with all that it has: entries, revisions, its past, its events, dead letters. It is
 * taken out of all subscriptions; one that has no other feed, and follows nothing that may give it
 * one, ends. The numbers of the log go on as they were. RC_NOT_FOUND: there is no such feed.
 * RC_CONFLICT: it is a list that subscriptions follow. */
enum rc store_forget_feed(struct store *s, int64_t id, store_done_fn *done, void *ctx) NODISCARD;

/* Retention: take some revisions of the feed that are older than what is to be kept, those after
 * `after` and up to the seq `limit`. What some subscription has not been given stays, and so does
 * what the publisher's document shows (storage/retention.h). After `budget_us` no more are begun,
 * so that others have their turn. result.n_deleted: how many revisions went. result.has_more: there
 * may be more, after result.last_seq. */
enum rc store_retain(struct store *s, int64_t feed_id, int64_t after, int64_t limit,
                     int64_t budget_us, store_done_fn *done, void *ctx) NODISCARD;

/* Forget who the entries of the feed were that are gone for so long that this does not matter any
 * more (storage/retention.h). result.n_deleted: how many they were. */
enum rc store_end_entries(struct store *s, int64_t feed_id, store_done_fn *done,
                          void *ctx) NODISCARD;

/* Give a little of what is free in the database's file back to the file system.
 * result.n_deleted: so many bytes. */
enum rc store_give_back(struct store *s, store_done_fn *done, void *ctx) NODISCARD;

/* A ping named these feeds. They are due now, with REASON_PING, until a fetch that begins after the
 * ping has ended. Feeds that are gone are left out. */
enum rc store_ping(struct store *s, const int64_t *ids, size_t n, store_done_fn *done,
                   void *ctx) NODISCARD;

/* The upstream cloud of the feed has sent a notification. It is a ping, and the time of it is kept.
 */
enum rc store_announced(struct store *s, int64_t feed_id, store_done_fn *done, void *ctx) NODISCARD;

/* With several nodes: somebody waits here for a fetch of this feed, which another node must do; and
 * the answer to such a wish, which says how a fetch has ended. Both only become a notice, and
 * change nothing. */
enum rc store_wish(struct store *s, int64_t feed_id) NODISCARD;
enum rc store_answer_wish(struct store *s, int64_t feed_id, enum rc rc) NODISCARD;

/* Keep it for who fetches from that host after a restart, or at another node. A rest that is longer
 * already stays. It is forgotten when it is over. The name is copied. */
enum rc store_host_rest(struct store *s, const struct host_rest *rest) NODISCARD;

/* Store our subscription at an upstream hub or cloud, under its token. `trust` and `delivered_at`
 * are not stored: the storer keeps its own. store_upstream_drop() deletes the one with this token.
 * If after one of these calls the feed has no active current subscription, but was polled less
 * because of one, it gets its own pace again.
 *
 * `known` is the mark of the row that the caller takes for the stored one; UPSTREAM_ANY: it does
 * not matter what is stored, as for a new row. If another node has changed or deleted the row since
 * then, nothing is done, and `done` gets RC_CONFLICT: read it again. */
#define UPSTREAM_ANY 0
enum rc store_upstream_put(struct store *s, const struct upstream *u, uint64_t known,
                           store_done_fn *done, void *ctx) NODISCARD;
enum rc store_upstream_drop(struct store *s, int64_t feed_id, struct str token, uint64_t known,
                            store_done_fn *done, void *ctx) NODISCARD;

/* What store_upstream_put() compares: a hash of all that it stores, for this process only. Never
 * UPSTREAM_ANY. Pure; any thread. */
uint64_t store_upstream_mark(const struct upstream *u);

/* Keep the request of a WebSub subscriber until it is settled. result.id: the intent's id. `done`
 * gets RC_FULL when too many wait. */
enum rc store_hub_request(struct store *s, const struct hub_intent *in, store_done_fn *done,
                          void *ctx) NODISCARD;

/* The subscriber has confirmed its request, or not. If it has, the lease begins, is replaced, or
 * ends. The intent is gone in any case. The position of a new lease is the end of the log; that of
 * a replaced one stays. RC_NOT_FOUND: it was settled before. */
enum rc store_hub_settle(struct store *s, struct hub_settled settled, store_done_fn *done,
                         void *ctx) NODISCARD;

/* End the leases whose time is over, and make an intent for each that is to be renewed. result.id:
 * when to call it again (Unix seconds); TIME_UNKNOWN: not before there is a new lease. */
enum rc store_hub_sweep(struct store *s, store_done_fn *done, void *ctx) NODISCARD;

/* Make a token of a caller; its id and used_at are not read. result.id: its id. */
enum rc store_token_add(struct store *s, const struct token *token, store_done_fn *done,
                        void *ctx) NODISCARD;

/* It was used at this time. RC_NOT_FOUND: it was deleted. */
enum rc store_token_used(struct store *s, int64_t id, int64_t used_at) NODISCARD;

/* Delete it. What was made with it stays. RC_NOT_FOUND: there is no such token. */
enum rc store_token_drop(struct store *s, int64_t id, store_done_fn *done, void *ctx) NODISCARD;

/* What is changed of a feed itself, whoever has subscribed to it. A feed that is paused is fetched
 * only when `fetches` is set; it goes on where it was when it is not paused any more. RC_NOT_FOUND:
 * there is no such feed. */
struct feed_change {
    int64_t feed_id;
    bool has_pause, is_paused;
    bool fetches;       /* it is due now, by hand */
    struct str secrets; /* as in struct sub_request */
    int level;          /* 0..2, LEVEL_EXACT, or LEVEL_KEEP */
    int64_t period_s;   /* for LEVEL_EXACT */
    struct keep keep;   /* a change (model/keep.h) */
};
enum rc store_change_feed(struct store *s, const struct feed_change *change, store_done_fn *done,
                          void *ctx) NODISCARD;

/* Make or replace a named view. `by_admin`: whoever made it, it is changed; what is its maker's
 * stays. `only_new`: RC_CONFLICT if there is one of this name. result.id: 1 if it was made, 0 if it
 * was there. RC_DENIED: it is somebody else's.
 * RC_NOT_FOUND: it names a view that is not there. RC_INPUT: it would name itself in a circle, or
 * too deep. RC_LIMIT: there are too many. */
enum rc store_view_put(struct store *s, const struct named_view *view, bool by_admin, bool only_new,
                       store_done_fn *done, void *ctx) NODISCARD;

/* Delete it. RC_NOT_FOUND: there is none. RC_DENIED: it is somebody else's. RC_CONFLICT: it is in
 * use. */
enum rc store_view_drop(struct store *s, struct str name, int64_t owner, bool by_admin,
                        store_done_fn *done, void *ctx) NODISCARD;
