/* storage/op.h - one queued write: a copy of the caller's request, and what came of it.
 *
 * Made by the calls of store.h on any thread (writes.c), carried out by the storer (apply.c,
 * apply_outcome.c), answered and freed by it after the commit.
 */
#pragma once

#include "storage/sqlite/feeds.h"
#include "storage/sqlite/revisions.h"
#include "storage/store.h"
#include "storage/txn.h"

enum op_kind {
    OP_ADD_FEED,
    OP_SUBSCRIBE,
    OP_UNSUBSCRIBE,
    OP_PUSH_OUTCOME,
    OP_RESUME,
    OP_FETCH_OUTCOME,
    OP_CONTENT_OUTCOME,
    OP_TOUCH,
    OP_PING,
    OP_SET_LEVEL,
    OP_UPSTREAM_PUT,
    OP_UPSTREAM_DROP,
    OP_HUB_REQUEST,
    OP_HUB_SETTLE,
    OP_HUB_SWEEP,
    OP_COUNT_
};

struct op {
    enum op_kind kind;
    struct arena arena; /* all that the request and the result point to */
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
        struct push_outcome push;
        struct {
            int64_t sub_id, position;
        } resume;
        struct fetch_outcome outcome;
        struct content_outcome content;
        struct {
            int64_t *ids;
            size_t n;
        } touch, ping;
        struct {
            int64_t feed_id, period_s;
            int level;
        } set_level;
        struct upstream upstream; /* OP_UPSTREAM_DROP: its token */
        struct hub_intent hub_request;
        struct hub_settled hub_settle;
    } as;
    enum rc rc;
    struct err err;
    struct store_result result;
};

void op_free(struct op *op);

/* Carry out one operation inside the transaction. What it noted and wrote is to be undone when this
 * is not RC_OK. */
enum rc op_apply(struct txn *t, struct op *op) NODISCARD;

/* The one for OP_FETCH_OUTCOME. */
enum rc apply_outcome(struct txn *t, struct op *op) NODISCARD;

/* End a subscription, and what it had asked for its feeds. */
enum rc apply_sub_end(struct txn *t, int64_t id, struct arena *a, struct err *err) NODISCARD;

/* The ones for OP_HUB_REQUEST, OP_HUB_SETTLE, OP_HUB_SWEEP. */
enum rc apply_hub_request(struct txn *t, struct op *op) NODISCARD;
enum rc apply_hub_settle(struct txn *t, struct op *op) NODISCARD;
enum rc apply_hub_sweep(struct txn *t, struct op *op) NODISCARD;

/* The subscriber is told that it gets nothing more; its subscription is for the caller to end. */
enum rc hub_deny(struct txn *t, int64_t sub_id, struct str reason, struct arena *a,
                 struct err *err) NODISCARD;

/* The publisher has ended the feed: so end the leases of those who have no other. */
enum rc hub_feed_gone(struct txn *t, int64_t feed_id, struct arena *a, struct err *err) NODISCARD;

/* The changes of an outcome become revisions of the record. *visible: something is shown anew. */
enum rc apply_changes(struct txn *t, struct op *op, struct feed_row *row, int64_t received,
                      bool merged, bool *visible) NODISCARD;

/* Append r to the log as the newest revision of *e, which is made when its id is 0, and write what
 * the caller has set of it: all but seq, first_seq, sort_at, deleted, iri_hash, which follow. */
enum rc apply_revision(struct txn *t, struct feed_row *row, struct entry_row *e,
                       const struct revision *r, struct err *err) NODISCARD;

/* The one for OP_CONTENT_OUTCOME. */
enum rc apply_content(struct txn *t, struct op *op) NODISCARD;

/* The same outcome where it is of a document of the feed's past; and what the feed's own document
 * says of its past, after its changes. */
enum rc apply_archive(struct txn *t, struct op *op) NODISCARD;
enum rc apply_past(struct txn *t, struct op *op, struct feed_row *row, int64_t received,
                   bool *visible) NODISCARD;
