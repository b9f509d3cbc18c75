/* storage/op.h - one queued write: a copy of the caller's request, and its result.
 *
 * The writing calls of store.h make it, on any thread (writes.c). The storer carries it out
 * (apply*.c). After the commit the storer calls `done`, and frees it.
 */
#pragma once

#include "model/named_view.h"
#include "storage/index.h"
#include "storage/mirrors.h"
#include "storage/pushes.h"
#include "storage/txn.h"

enum op_kind {
    OP_ADD_FEED,
    OP_SUBSCRIBE,
    OP_UNSUBSCRIBE,
    OP_PUSH_OUTCOMES,
    OP_CHANGE_SUB,
    OP_FOLLOW_SUB,
    OP_DEAD_RETRY,
    OP_DEAD_DROP,
    OP_POLL_OUTCOME,
    OP_STREAM_OUTCOME,
    OP_ARCHIVE_OUTCOME,
    OP_DELIVERY_OUTCOME,
    OP_LIST_OUTCOME,
    OP_CONTENT_OUTCOME,
    OP_TOUCH,
    OP_PING,
    OP_TAKE_BACK,
    OP_WISH,
    OP_CHANGE_FEED,
    OP_FORGET,
    OP_FORGET_FEED,
    OP_RETAIN,
    OP_END_ENTRIES,
    OP_HOST_REST,
    OP_UPSTREAM_PUT,
    OP_UPSTREAM_DROP,
    OP_HUB_REQUEST,
    OP_HUB_SETTLE,
    OP_HUB_SWEEP,
    OP_TOKEN_ADD,
    OP_TOKEN_USED,
    OP_TOKEN_DROP,
    OP_VIEW_PUT,
    OP_VIEW_DROP,
    OP_INDEX,     /* carried out alone, by writes->index() */
    OP_MIRROR,    /* the same, by writes->mirror() */
    OP_GIVE_BACK, /* the same, by writes->give_back() */
    OP_COUNT_
};

struct op {
    enum op_kind kind;
    struct arena arena; /* has everything to which the request and the result point */
    store_done_fn *done;
    void *ctx;
    union {
        struct feed_ref add;
        struct sub_request subscribe;
        struct {
            int64_t sub_id;
            struct str *urls;
            size_t n;
        } unsubscribe;
        struct {
            const struct push_outcome *outcomes;
            size_t n;
        } push;
        struct sub_change change_sub;
        struct sub_following follow;
        struct {
            int64_t sub_id, id; /* 0: all */
        } dead;
        struct poll_outcome poll;
        struct stream_outcome stream;
        struct archive_outcome archive;
        struct delivery_outcome delivery;
        struct content_outcome content;
        struct list_outcome list;
        struct {
            int64_t *ids;
            size_t n;
            bool by_cloud; /* the ping is the notification of an upstream cloud */
        } touch, ping;
        struct {
            const struct feed_errors *feeds;
            int64_t *ids; /* theirs */
            size_t n;
            int64_t since;
        } take_back;
        struct {
            int64_t *ids;
            size_t n;
            int64_t before;
        } forget;
        int64_t forget_feed; /* its id */
        struct {
            int64_t feed_id, after, limit, budget_us;
        } retain;
        int64_t end_entries; /* the id of the feed */
        struct {
            int64_t feed_id;
            bool is_answer;
            enum rc rc; /* is_answer: how the fetch ended */
        } wish;
        struct feed_change change_feed;
        struct {
            struct str host;
            int64_t cool_until_ms, gentle_until_ms; /* monotonic */
        } rest;
        struct {
            struct upstream row; /* OP_UPSTREAM_DROP: its token */
            uint64_t known;      /* as of store_upstream_put() */
        } upstream;
        struct hub_intent hub_request;
        struct hub_settled hub_settle;
        struct token token; /* OP_TOKEN_USED: id and used_at; OP_TOKEN_DROP: its id */
        struct {
            struct named_view row; /* OP_VIEW_DROP: its name, and the owner of who asks */
            bool by_admin;
            bool only_new; /* OP_VIEW_PUT: one that is there stays as it is */
        } view;
        struct index_group index;
        struct mirror_change mirror;
    } as;
    enum rc rc;
    struct err err;
    struct store_result result; /* result.sub is in the arena */
    int64_t *published_at; /* of the new entries with a date that were not there before; arena */
    size_t n_published;
};

void op_free(struct op *op);

/* Carry out one operation inside the transaction. If it does not return RC_OK, the caller must undo
 * its notes and writes. */
enum rc op_apply(struct txn *t, struct op *op) NODISCARD;

/* Carry it out on rows, which must be held. If it fails, its notes and changes are undone. False:
 * they cannot be, because it has used statements for a part of its work or could not read a row;
 * then the transaction must not be committed. */
bool op_compute(struct txn *t, struct op *op) NODISCARD;

/* After the commit: make numbers of the log of what the result has (storage/txn.h). */
void op_settle(struct op *op, const struct txn_base *base);

/* Are feeds, revisions or entries deleted by it, with statements? */
bool op_deletes_feeds(const struct op *op);

/* Is it the outcome of a source of news? */
bool op_brings_news(const struct op *op);

/* The outcomes of sources: each in a file of its name. */
enum rc apply_poll(struct txn *t, struct op *op) NODISCARD;
enum rc apply_stream(struct txn *t, struct op *op) NODISCARD;
enum rc apply_archive(struct txn *t, struct op *op) NODISCARD;
enum rc apply_delivery(struct txn *t, struct op *op) NODISCARD;
enum rc apply_content(struct txn *t, struct op *op) NODISCARD;
enum rc apply_list(struct txn *t, struct op *op) NODISCARD;

/* Feeds, hosts and upstream hubs (apply_feeds.c). */
enum rc apply_add_feed(struct txn *t, struct op *op) NODISCARD;
enum rc apply_touch(struct txn *t, struct op *op) NODISCARD;
enum rc apply_take_back(struct txn *t, struct op *op) NODISCARD;
enum rc apply_change_feed(struct txn *t, struct op *op) NODISCARD;
enum rc apply_ping(struct txn *t, struct op *op) NODISCARD;
enum rc apply_wish(struct txn *t, struct op *op) NODISCARD;
enum rc apply_forget(struct txn *t, struct op *op) NODISCARD;
enum rc apply_forget_feed(struct txn *t, struct op *op) NODISCARD;
/* What is too old (apply_retain.c). */
enum rc apply_retain(struct txn *t, struct op *op) NODISCARD;
enum rc apply_end_entries(struct txn *t, struct op *op) NODISCARD;
enum rc apply_host_rest(struct txn *t, struct op *op) NODISCARD;
enum rc apply_upstream_put(struct txn *t, struct op *op) NODISCARD;
enum rc apply_upstream_drop(struct txn *t, struct op *op) NODISCARD;

/* Subscriptions (apply_subs.c). */
enum rc apply_subscribe(struct txn *t, struct op *op) NODISCARD;
enum rc apply_unsubscribe(struct txn *t, struct op *op) NODISCARD;
enum rc apply_change_sub(struct txn *t, struct op *op) NODISCARD;
enum rc apply_follow_sub(struct txn *t, struct op *op) NODISCARD;

/* What became of deliveries (apply_push.c). */
enum rc apply_push_outcomes(struct txn *t, struct op *op) NODISCARD;
enum rc apply_dead_retry(struct txn *t, struct op *op) NODISCARD;
enum rc apply_dead_drop(struct txn *t, struct op *op) NODISCARD;

/* Requests of WebSub subscribers, and their leases (apply_hub.c). */
enum rc apply_hub_request(struct txn *t, struct op *op) NODISCARD;
enum rc apply_hub_settle(struct txn *t, struct op *op) NODISCARD;
enum rc apply_hub_sweep(struct txn *t, struct op *op) NODISCARD;

/* Tokens of callers (apply_tokens.c). */
enum rc apply_token_add(struct txn *t, struct op *op) NODISCARD;
enum rc apply_token_used(struct txn *t, struct op *op) NODISCARD;
enum rc apply_token_drop(struct txn *t, struct op *op) NODISCARD;

/* Named views (apply_views.c). */
enum rc apply_view_put(struct txn *t, struct op *op) NODISCARD;
enum rc apply_view_drop(struct txn *t, struct op *op) NODISCARD;
