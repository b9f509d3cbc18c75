/* storage/apply_hub.c - stores the requests of subscribers at our hub and our cloud, and begins,
 * renews and ends their leases. */
#include <inttypes.h>

#include "base/clock.h"
#include "storage/apply_parts.h"
#include "storage/rows_hub.h"
#include "storage/rows_places.h"
#include "storage/rows_subs.h"
#include "storage/rows_tokens.h"

#define RENEW_LEFT 4      /* a lease is renewed when 1/4 of it is left */
#define RENEW_AGAIN_MIN 5 /* seconds */

/* Does it belong to a token that was deleted? Then whoever has the callback may renew and end it.
 */
static bool is_orphan(struct txn *t, const struct held_sub *sub)
{
    const struct held_token *token =
        sub->row.owner > 0 ? rows_token(&t->rows, sub->row.owner) : NULL;

    return token != NULL && !token->held.exists;
}

/* May the caller of the request change what there is already? That it names the same callback is
 * not enough. */
static bool may_change(struct txn *t, const struct hub_intent *in)
{
    struct hub_intent part;
    size_t i = 0;

    while (!in->by_admin && hub_intent_part(in, &i, &part)) {
        int64_t sub_id = rows_find_lease(&t->rows, &part);
        const struct held_sub *sub = sub_id == 0 ? NULL : rows_sub(&t->rows, sub_id);

        if (sub != NULL && sub->row.owner != in->owner && !is_orphan(t, sub))
            return false;
    }
    return true;
}

enum rc apply_hub_request(struct txn *t, struct op *op)
{
    struct hub_intent *in = &op->as.hub_request;

    if (t->rows.n_intents >= HUB_PENDING_MAX)
        return err_set(&op->err, RC_FULL, "%d requests wait for their verification",
                       HUB_PENDING_MAX);
    if (!may_change(t, in))
        return err_set(&op->err, RC_CONFLICT, "the subscription belongs to another caller");
    in->id = rows_draw(&t->rows, NEW_INTENT);
    rows_new_intent(&t->rows, in);
    t->has_hub_news = true;
    op->result.id = in->id;
    return RC_OK;
}

/* ---- confirmed ------------------------------------------------------------------------------- */

/* Add a feed to the subscription. Feeds may have merged since the request, so a missing feed is
 * looked up by its URL. */
static void take_feed(struct txn *t, struct held_sub *sub, size_t index,
                      const struct sub_feed *asked)
{
    struct sub_feed feed = {.feed_id = asked->feed_id, .url = asked->url};
    const struct held_feed *f = rows_feed(&t->rows, feed.feed_id);

    if (f->is_missing)
        feed.feed_id = place_find(&t->rows, feed.url, STR_NULL);
    if (feed.feed_id == 0)
        return;
    txn_feed(t, feed.feed_id);
    rows_join_feed(&t->rows, sub, (int64_t)index, &feed);
}

/* Is it the sink of the hub, or of the cloud? */
static struct str sink_of(const struct hub_intent *in)
{
    return in->protocol == HUB_WEBSUB ? STR(HUB_SINK) : STR(CLOUD_SINK);
}

/* Returns its id. */
static int64_t make_sub(struct txn *t, const struct hub_intent *in)
{
    struct held_sub *sub = rows_new_sub(&t->rows);

    sub->row.endpoint = in->callback;
    sub->row.sink = sink_of(in);
    sub->row.state = SUB_ACTIVE;
    sub->row.events =
        in->protocol == HUB_WEBSUB ? SUB_EVENTS_DEFAULT : SUB_NEW | SUB_CHANGED | SUB_DELETED;
    sub->row.position = t->last_seq;
    sub->row.chain = (struct log_mark){t->last_seq, t->last_at_us};
    sub->row.created_at = clock_now_s();
    sub->row.owner = in->owner;
    sub->row.filter = in->filter;
    sub->row.asks = in->asks;
    sub->credential = in->credential;
    for (size_t i = 0; i < in->n_feeds; i++)
        take_feed(t, sub, i, &in->feeds[i]);
    return sub->row.id;
}

/* Renew an existing subscription; its position stays. */
static void revive_sub(struct txn *t, const struct hub_intent *in, int64_t id)
{
    struct held_sub *sub = rows_sub(&t->rows, id);

    rows_change(&t->rows, ROW_SUB, sub, SUB_WRITES_PROGRESS | SUB_WRITES_TERMS);
    apply_sub_active(&sub->row);
    sub->row.filter = in->filter;
    sub->row.asks = in->asks;
    sub->credential = in->credential;
}

static enum rc confirm(struct txn *t, struct op *op, const struct hub_intent *in)
{
    struct hub_lease lease = {.sub_id = rows_find_lease(&t->rows, in),
                              .protocol = in->protocol,
                              .procedure = in->procedure,
                              .topic = in->topic,
                              .secret = in->secret,
                              .verify_token = in->verify_token,
                              .legacy = in->legacy,
                              .renews = in->renews,
                              .lease_s = in->lease_s,
                              .ends_at = clock_now_s() + in->lease_s,
                              .renew_at = TIME_UNKNOWN};

    if (in->mode == HUB_UNSUBSCRIBE)
        return lease.sub_id == 0 ? RC_OK
                                 : apply_sub_end(t, lease.sub_id, STR_NULL, &op->arena, &op->err);
    if (lease.renews)
        lease.renew_at = lease.ends_at - lease.lease_s / RENEW_LEFT - 1;
    if (lease.sub_id == 0)
        lease.sub_id = make_sub(t, in);
    else
        revive_sub(t, in, lease.sub_id);
    rows_put_lease(&t->rows, &lease, in->callback);
    txn_sub(t, lease.sub_id);
    t->has_hub_news = true;
    return RC_OK;
}

/* The callback did not answer a renewal. Try again when half of the time that is left has passed.
 */
static void renew_later(struct txn *t, const struct hub_intent *in)
{
    int64_t sub_id = rows_find_lease(&t->rows, in), now = clock_now_s(), wait_s;
    struct held_lease *lease;

    if (sub_id == 0)
        return;
    lease = rows_lease(&t->rows, sub_id);
    wait_s = (lease->row.ends_at - now) / 2;
    if (lease->row.renew_at != TIME_UNKNOWN || wait_s < RENEW_AGAIN_MIN)
        return;
    t->has_hub_news = true;
    rows_renew_at(&t->rows, lease, now + wait_s);
}

enum rc apply_hub_settle(struct txn *t, struct op *op)
{
    struct hub_settled settled = op->as.hub_settle;
    struct held_intent *held = rows_intent(&t->rows, settled.intent_id);
    struct hub_intent in, part;
    enum rc rc = RC_OK;
    size_t i = 0;

    if (!held->held.exists || !held->held.is_stored) /* what it leads to was not loaded */
        return err_set(&op->err, RC_NOT_FOUND, "there is no hub request %" PRId64,
                       settled.intent_id);
    in = held->row;
    rows_drop_intent(&t->rows, held);
    if (settled.confirmed && in.mode != HUB_DENIED && !may_change(t, &in)) {
        settled.confirmed = false;
        settled.rc = RC_CONFLICT;
    }
    if (settled.confirmed && in.mode != HUB_DENIED)
        while (rc == RC_OK && hub_intent_part(&in, &i, &part))
            rc = confirm(t, op, &part);
    else if (settled.unreached && in.mode == HUB_SUBSCRIBE && in.renews &&
             in.protocol == HUB_WEBSUB)
        renew_later(t, &in);
    if (rc == RC_OK)
        txn_settled(t, settled);
    op->result.id = settled.intent_id;
    return rc;
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* The feeds of a subscription. Arena. */
static const struct sub_feed *feeds_of(const struct held_sub *sub, struct arena *a, size_t *n_out)
{
    struct sub_feed *feeds = ARENA_ARRAY(a, struct sub_feed, sub->n_feeds + 1);
    size_t n = 0;

    for (size_t i = 0; i < sub->n_feeds; i++)
        if (sub->feeds[i]->held.exists)
            feeds[n++] = sub->feeds[i]->row;
    *n_out = n;
    return feeds;
}

static void renew(struct txn *t, struct op *op, const struct held_sub *sub,
                  struct held_lease *lease)
{
    struct hub_intent in = {.id = rows_draw_free(&t->rows, NEW_INTENT),
                            .mode = HUB_SUBSCRIBE,
                            .topic = lease->row.topic,
                            .callback = sub->row.endpoint,
                            .credential = sub->credential,
                            .secret = lease->row.secret,
                            .verify_token = lease->row.verify_token,
                            .legacy = lease->row.legacy,
                            .renews = lease->row.renews,
                            .lease_s = lease->row.lease_s,
                            .owner = sub->row.owner,
                            .filter = sub->row.filter,
                            .asks = sub->row.asks};

    in.feeds = feeds_of(sub, &op->arena, &in.n_feeds);
    rows_new_intent(&t->rows, &in);
    rows_renew_at(&t->rows, lease, TIME_UNKNOWN);
    t->has_hub_news = true;
}

/* The lease, if it and its subscription are still there. */
static struct held_lease *live_lease(struct txn *t, int64_t sub_id)
{
    const struct held_sub *sub = rows_sub(&t->rows, sub_id);
    struct held_lease *lease = rows_lease(&t->rows, sub_id);

    return sub->held.exists && lease->held.exists ? lease : NULL;
}

/* result.id: when this must be called again. */
enum rc apply_hub_sweep(struct txn *t, struct op *op)
{
    const struct hub_due *due = t->rows.hub_due;
    struct held_lease *lease;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < due->n_ended && rc == RC_OK; i++) {
        lease = live_lease(t, due->ended[i]);
        if (lease != NULL && lease->row.ends_at <= due->now)
            rc = apply_sub_end(t, due->ended[i], STR_NULL, &op->arena, &op->err);
    }
    for (size_t i = 0; i < due->n_to_renew && rc == RC_OK; i++) {
        lease = live_lease(t, due->to_renew[i]);
        if (lease != NULL && lease->row.renew_at != TIME_UNKNOWN && lease->row.renew_at <= due->now)
            renew(t, op, rows_sub(&t->rows, due->to_renew[i]), lease);
    }
    op->result.id = rows_next_due(&t->rows);
    return rc;
}
