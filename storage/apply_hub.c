/* storage/apply_hub.c - stores the requests of subscribers at our hub and our cloud, and begins,
 * renews and ends their leases. */
#include "base/clock.h"
#include "storage/apply_parts.h"
#include "storage/rows_subs.h"
#include "storage/sqlite/held_subs.h"
#include "storage/sqlite/hub.h"
#include "storage/sqlite/subscriptions.h"
#include "storage/sqlite/feeds.h"

#define SWEEP_MAX 500     /* leases that one operation ends or renews */
#define RENEW_LEFT 4      /* a lease is renewed when 1/4 of it is left */
#define RENEW_AGAIN_MIN 5 /* seconds */

enum rc apply_hub_request(struct txn *t, struct op *op)
{
    struct hub_intent *in = &op->as.hub_request;
    int64_t n;
    enum rc rc = hub_intent_count(t->db, &n, &op->err);

    if (rc == RC_OK && n >= HUB_PENDING_MAX)
        return err_set(&op->err, RC_FULL, "%d requests wait for their verification",
                       HUB_PENDING_MAX);
    if (rc == RC_OK)
        rc = hub_intent_insert(t->db, in, &op->err);
    t->has_hub_news = true;
    op->result.id = in->id;
    return rc;
}

/* ---- confirmed ------------------------------------------------------------------------------- */

/* Add a feed to the subscription. Feeds may have merged since the request, so a missing feed is
 * looked up by its URL. */
static enum rc take_feed(struct txn *t, int64_t sub_id, size_t index, const struct sub_feed *asked,
                         struct op *op)
{
    struct sub_feed feed = *asked;
    struct feed_row row;
    enum rc rc = feeds_load(t->db, feed.feed_id, false, &op->arena, &row, &op->err);

    if (rc == RC_NOT_FOUND)
        rc = feeds_find(t->db, feed.url, STR_NULL, &feed.feed_id, &op->err);
    if (rc != RC_OK || feed.feed_id == 0)
        return rc;
    txn_feed(t, feed.feed_id);
    return sub_feeds_add(t->db, sub_id, index, &feed, &op->err);
}

/* Is it the sink of the hub, or of the cloud? */
static struct str sink_of(const struct hub_intent *in)
{
    return in->protocol == HUB_WEBSUB ? STR(HUB_SINK) : STR(CLOUD_SINK);
}

static enum rc make_sub(struct txn *t, struct op *op, const struct hub_intent *in, int64_t *id)
{
    struct subscription sub = {.endpoint = in->callback,
                               .sink = sink_of(in),
                               .state = SUB_ACTIVE,
                               .events = in->protocol == HUB_WEBSUB
                                             ? SUB_EVENTS_DEFAULT
                                             : SUB_NEW | SUB_CHANGED | SUB_DELETED,
                               .position = t->last_seq,
                               .chain = {t->last_seq, t->last_at_us},
                               .created_at = clock_now_s()};
    enum rc rc = subs_insert(t->db, &sub, in->credential, STR_NULL, &op->err);

    *id = sub.id;
    for (size_t i = 0; rc == RC_OK && i < in->n_feeds; i++)
        rc = take_feed(t, sub.id, i, &in->feeds[i], op);
    return rc;
}

/* Renew an existing subscription; its position stays. */
static enum rc revive_sub(struct txn *t, struct op *op, const struct hub_intent *in, int64_t id)
{
    enum rc rc = apply_sub_revive(t, id, &op->err);
    struct held_sub *sub = rows_sub(&t->rows, id);

    if (rc != RC_OK)
        return rc;
    rows_change(&t->rows, ROW_SUB, sub, SUB_WRITES_TERMS);
    sub->credential = in->credential;
    return RC_OK;
}

/* End a subscription of which nothing need be told. What follows reads by statements. */
static enum rc end_sub(struct txn *t, struct op *op, int64_t id)
{
    enum rc rc = apply_sub_end(t, id, STR_NULL, &op->arena, &op->err);

    return rc == RC_OK ? txn_use_statements(t, &op->err) : rc;
}

static enum rc confirm(struct txn *t, struct op *op, const struct hub_intent *in)
{
    struct hub_lease lease = {.protocol = in->protocol,
                              .procedure = in->procedure,
                              .topic = in->topic,
                              .secret = in->secret,
                              .verify_token = in->verify_token,
                              .legacy = in->legacy,
                              .renews = in->renews,
                              .lease_s = in->lease_s,
                              .ends_at = clock_now_s() + in->lease_s,
                              .renew_at = TIME_UNKNOWN};
    enum rc rc =
        hub_lease_find(t->db, in->protocol, in->callback, in->topic, &lease.sub_id, &op->err);

    if (rc != RC_OK || (in->mode == HUB_UNSUBSCRIBE && lease.sub_id == 0))
        return rc;
    if (in->mode == HUB_UNSUBSCRIBE)
        return end_sub(t, op, lease.sub_id);
    if (lease.renews)
        lease.renew_at = lease.ends_at - lease.lease_s / RENEW_LEFT - 1;
    rc = lease.sub_id == 0 ? make_sub(t, op, in, &lease.sub_id)
                           : revive_sub(t, op, in, lease.sub_id);
    if (rc == RC_OK)
        rc = hub_lease_save(t->db, &lease, in->callback, &op->err);
    txn_sub(t, lease.sub_id);
    t->has_hub_news = true;
    return rc;
}

/* A registration at the cloud: each of its URLs is a topic, with a subscription of its own. The
 * feeds of one URL stand together. */
static enum rc confirm_cloud(struct txn *t, struct op *op, const struct hub_intent *in)
{
    enum rc rc = RC_OK;

    for (size_t i = 0, n; rc == RC_OK && i < in->n_feeds; i += n) {
        struct hub_intent one = *in;

        for (n = 1; i + n < in->n_feeds && str_eq(in->feeds[i + n].url, in->feeds[i].url);)
            n++;
        one.topic = in->feeds[i].url;
        one.feeds = in->feeds + i;
        one.n_feeds = n;
        rc = confirm(t, op, &one);
    }
    return rc;
}

/* The callback did not answer a renewal. Try again when half of the time that is left has passed.
 */
static enum rc renew_later(struct txn *t, struct op *op, const struct hub_intent *in)
{
    struct hub_lease lease;
    int64_t sub_id, now = clock_now_s(), wait_s;
    enum rc rc = hub_lease_find(t->db, in->protocol, in->callback, in->topic, &sub_id, &op->err);

    if (rc != RC_OK || sub_id == 0)
        return rc;
    rc = hub_lease_load(t->db, sub_id, &op->arena, &lease, &op->err);
    if (rc != RC_OK)
        return rc;
    wait_s = (lease.ends_at - now) / 2;
    if (lease.renew_at != TIME_UNKNOWN || wait_s < RENEW_AGAIN_MIN)
        return RC_OK;
    t->has_hub_news = true;
    return hub_lease_renew_at(t->db, sub_id, now + wait_s, &op->err);
}

enum rc apply_hub_settle(struct txn *t, struct op *op)
{
    struct hub_settled settled = op->as.hub_settle;
    struct hub_intent in;
    enum rc rc = hub_intent_load(t->db, settled.intent_id, &op->arena, &in, &op->err);

    if (rc == RC_OK)
        rc = hub_intent_delete(t->db, in.id, &op->err);
    if (rc == RC_OK && settled.confirmed && in.mode != HUB_DENIED)
        rc = in.protocol == HUB_WEBSUB ? confirm(t, op, &in) : confirm_cloud(t, op, &in);
    else if (rc == RC_OK && settled.unreached && in.mode == HUB_SUBSCRIBE && in.renews)
        rc = renew_later(t, op, &in);
    if (rc == RC_OK)
        txn_settled(t, settled);
    op->result.id = settled.intent_id;
    return rc;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static enum rc renew(struct txn *t, struct op *op, int64_t sub_id)
{
    struct hub_intent in = {.mode = HUB_SUBSCRIBE};
    struct held_sub *held;
    struct subscription sub;
    struct hub_lease lease;
    enum rc rc = hub_lease_load(t->db, sub_id, &op->arena, &lease, &op->err);

    if (rc == RC_OK)
        rc = subs_load(t->db, sub_id, true, &op->arena, &sub, &op->err);
    if (rc == RC_OK)
        rc = held_sub_load(t->db, &t->rows, &(struct want_sub){.id = sub_id}, &held, &op->err);
    if (rc == RC_OK)
        rc = hub_lease_renew_at(t->db, sub_id, TIME_UNKNOWN, &op->err);
    if (rc != RC_OK)
        return rc;
    in.topic = lease.topic;
    in.callback = sub.endpoint;
    in.credential = held->credential;
    in.secret = lease.secret;
    in.verify_token = lease.verify_token;
    in.legacy = lease.legacy;
    in.renews = lease.renews;
    in.lease_s = lease.lease_s;
    in.feeds = sub.feeds;
    in.n_feeds = sub.n_feeds;
    return hub_intent_insert(t->db, &in, &op->err);
}

/* result.id: when this must be called again. */
enum rc apply_hub_sweep(struct txn *t, struct op *op)
{
    int64_t now = clock_now_s(), *ids;
    enum rc rc;
    size_t n;

    rc = hub_leases_ended(t->db, now, SWEEP_MAX, &op->arena, &ids, &n, &op->err);
    for (size_t i = 0; rc == RC_OK && i < n; i++)
        rc = end_sub(t, op, ids[i]);
    if (rc == RC_OK)
        rc = hub_leases_to_renew(t->db, now, SWEEP_MAX, &op->arena, &ids, &n, &op->err);
    for (size_t i = 0; rc == RC_OK && i < n; i++) {
        rc = renew(t, op, ids[i]);
        t->has_hub_news = true;
    }
    return rc == RC_OK ? hub_next_due(t->db, &op->result.id, &op->err) : rc;
}
