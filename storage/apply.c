/* storage/apply.c - the smaller operations: records, subscriptions, positions, levels. */
#include "storage/op.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "storage/sqlite/feeds.h"
#include "storage/sqlite/subscriptions.h"
#include "storage/sqlite/upstreams.h"

void op_free(struct op *op)
{
    if (op == NULL)
        return;
    arena_release(&op->arena);
    mem_free(op);
}

/* ---- feeds ----------------------------------------------------------------------------------- */

/* A new record is called what the list that named it calls it, until its document says. */
static enum rc set_first_texts(struct txn *t, int64_t id, const struct feed_wish *wish,
                               struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed_row row;
    enum rc rc = feeds_load(t->db, id, false, &a, &row, err);

    if (rc != RC_OK)
        return rc;
    row.rec.title = wish->title;
    row.rec.site_url = wish->site_url;
    return feeds_save(t->db, &row, err);
}

static enum rc find_or_insert(struct txn *t, const struct feed_ref *ref, int64_t *id,
                              struct err *err)
{
    enum rc rc = feeds_find(t->db, ref->url, ref->credential, id, err);

    if (rc != RC_OK || *id != 0)
        return rc;
    rc =
        feeds_insert(t->db, ref->url, ref->credential, clock_now_s(), txn_next_version(t), id, err);
    if (rc == RC_OK)
        txn_feed(t, *id)->is_new = true;
    if (rc == RC_OK && (ref->wish.title.len > 0 || ref->wish.site_url.len > 0))
        rc = set_first_texts(t, *id, &ref->wish, err);
    return rc;
}

static enum rc apply_add_feed(struct txn *t, struct op *op)
{
    return find_or_insert(t, &op->as.add, &op->result.id, &op->err);
}

/* The next fetch after a new level or period. A publisher's refusal (backoff, Retry-After, 410) is
 * not overruled by a subscriber, and his wish for longer pauses only by an exact period. */
static void reschedule(const struct txn *t, struct feed_record *r)
{
    int64_t period = r->level == LEVEL_EXACT ? r->period_s : t->level_period_s[r->level];
    int64_t now = clock_now_s();
    int64_t due = r->last_check_at == TIME_UNKNOWN ? now : r->last_check_at + period;

    if (r->state == FEED_GONE || r->next_reason == REASON_BACKOFF ||
        r->next_reason == REASON_RETRY_AFTER)
        return;
    if (r->next_fetch_at != TIME_UNKNOWN && r->level != LEVEL_EXACT && r->next_fetch_at > due &&
        (r->next_reason == REASON_MAX_AGE || r->next_reason == REASON_TTL ||
         r->next_reason == REASON_SKIP))
        return;
    if ((r->next_reason == REASON_NEW || r->next_reason == REASON_PING) &&
        r->next_fetch_at != TIME_UNKNOWN)
        return;
    r->next_fetch_at = due > now ? due : now;
    r->next_reason = REASON_PERIOD;
}

/* What comes next is read whole, for what is stored was read under the other setting. */
static bool set_sanitize(struct feed_record *r, enum sanitize_setting sanitize)
{
    bool raw = sanitize == SANITIZE_OFF;

    if (sanitize == SANITIZE_KEEP || r->raw_html == raw)
        return false;
    r->raw_html = raw;
    r->etag = r->last_modified = STR_NULL;
    r->has_body_hash = false;
    if (!str_is_null(r->cursor))
        r->cursor = STR("");
    return true;
}

static enum rc set_level(struct txn *t, int64_t feed_id, int level, int64_t period_s,
                         enum sanitize_setting sanitize, struct arena *a, struct err *err)
{
    struct feed_row row;
    enum rc rc = feeds_load(t->db, feed_id, false, a, &row, err);
    bool changed;

    if (rc != RC_OK)
        return rc;
    changed = set_sanitize(&row.rec, sanitize);
    if (level != LEVEL_KEEP) {
        row.rec.level = level;
        row.rec.period_s = level == LEVEL_EXACT ? period_s : 0;
        reschedule(t, &row.rec);
    } else if (row.rec.next_fetch_at == TIME_UNKNOWN) {
        reschedule(t, &row.rec); /* nobody had asked for it for long; now somebody does */
    } else if (!changed) {
        return RC_OK;
    }
    txn_feed(t, feed_id);
    return feeds_save(t->db, &row, err);
}

static bool is_level(int level, int64_t period_s)
{
    return level == LEVEL_KEEP || (level >= 0 && level <= 2) ||
           (level == LEVEL_EXACT && period_s > 0);
}

static enum rc bad_level(struct err *err, int level, int64_t period_s)
{
    return err_set(err, RC_INPUT,
                   "level %d with a period of %lld s: there are levels 0 to 2, or "
                   "-1 with a period of at least a second",
                   level, (long long)period_s);
}

static enum rc apply_set_level(struct txn *t, struct op *op)
{
    int level = op->as.set_level.level;
    int64_t period_s = op->as.set_level.period_s;

    if (!is_level(level, period_s))
        return bad_level(&op->err, level, period_s);
    op->result.id = op->as.set_level.feed_id;
    return set_level(t, op->result.id, level, period_s, SANITIZE_KEEP, &op->arena, &op->err);
}

static enum rc apply_touch(struct txn *t, struct op *op)
{
    int64_t now = clock_now_s();
    enum rc rc = RC_OK;
    size_t i;

    for (i = 0; i < op->as.touch.n && rc == RC_OK; i++) {
        rc = feeds_touch(t->db, op->as.touch.ids[i], now, &op->err);
        txn_feed(t, op->as.touch.ids[i]);
    }
    return rc;
}

static enum rc apply_ping(struct txn *t, struct op *op)
{
    int64_t now = clock_now_s();
    enum rc rc = RC_OK;
    bool found;

    for (size_t i = 0; i < op->as.ping.n && rc == RC_OK; i++) {
        rc = feeds_ping(t->db, op->as.ping.ids[i], now, &found, &op->err);
        if (rc == RC_OK && found)
            txn_feed(t, op->as.ping.ids[i])->is_pinged = true;
    }
    return rc;
}

/* ---- subscriptions --------------------------------------------------------------------------- */

/* What subscriptions asked for ends with the last of them: a pace, and HTML that is not made safe.
 */
static enum rc give_up_settings(struct txn *t, int64_t feed_id, struct arena *a, struct err *err)
{
    struct feed_row row;
    enum rc rc = feeds_load(t->db, feed_id, false, a, &row, err);
    bool paced;

    if (rc != RC_OK || row.rec.n_subscriptions > 0)
        return rc;
    paced = row.rec.level == LEVEL_EXACT || row.rec.level == 2;
    if (!paced && !row.rec.raw_html)
        return RC_OK;
    return set_level(t, feed_id, paced ? 1 : LEVEL_KEEP, 0, SANITIZE_ON, a, err);
}

/* The subscription as it is now, for the caller. */
static enum rc show_sub(struct txn *t, struct op *op, int64_t id)
{
    struct subscription *sub = ARENA_NEW(&op->arena, struct subscription);
    enum rc rc = subs_load(t->db, id, true, &op->arena, sub, &op->err);

    op->result.id = id;
    op->result.sub = rc == RC_OK ? sub : NULL;
    return rc;
}

/* Take the feed of the request's place `i` in. */
static enum rc subscribe_feed(struct txn *t, struct op *op, int64_t sub_id, size_t i)
{
    const struct sub_request *req = &op->as.subscribe;
    const struct feed_ref *ref = &req->feeds[i];
    const struct feed_wish *wish = &ref->wish;
    struct sub_feed feed = {.url = str_is_null(ref->shown_url) ? ref->url : ref->shown_url,
                            .name = wish->name,
                            .folder = wish->folder,
                            .category = wish->category};
    enum rc rc = find_or_insert(t, ref, &feed.feed_id, &op->err);

    if (rc == RC_OK)
        rc = sub_feeds_add(t->db, sub_id, i, &feed, &op->err);
    if (rc == RC_OK)
        rc = set_level(t, feed.feed_id, wish->has_level ? wish->level : req->level,
                       wish->has_level ? wish->period_s : req->period_s,
                       wish->sanitize != SANITIZE_KEEP ? wish->sanitize : req->sanitize, &op->arena,
                       &op->err);
    if (rc == RC_OK)
        txn_feed(t, feed.feed_id);
    return rc;
}

static enum rc apply_subscribe(struct txn *t, struct op *op)
{
    const struct sub_request *req = &op->as.subscribe;
    struct subscription sub = {.endpoint = req->endpoint,
                               .sink = req->sink,
                               .state = SUB_ACTIVE,
                               .position = req->from_given ? req->from_seq : t->last_seq,
                               .with_initial = req->from_given,
                               .created_at = clock_now_s()};
    enum rc rc;
    size_t i;

    if (req->n_feeds == 0)
        return err_set(&op->err, RC_INPUT, "a subscription needs at least one feed");
    if (!is_level(req->level, req->period_s))
        return bad_level(&op->err, req->level, req->period_s);
    for (i = 0; i < req->n_feeds; i++) {
        const struct feed_wish *w = &req->feeds[i].wish;

        if (w->has_level && !is_level(w->level, w->period_s))
            return bad_level(&op->err, w->level, w->period_s);
    }
    rc = subs_insert(t->db, &sub, req->endpoint_credential, &op->err);
    for (i = 0; i < req->n_feeds && rc == RC_OK; i++) {
        rc = subscribe_feed(t, op, sub.id, i);
    }
    if (rc != RC_OK)
        return rc;
    txn_sub(t, sub.id);
    return show_sub(t, op, sub.id);
}

static enum rc drop_matches(struct txn *t, struct op *op, int64_t sub_id)
{
    int64_t *ids;
    size_t i, k, n;
    enum rc rc = RC_OK;

    for (i = 0; i < op->as.unsubscribe.n && rc == RC_OK; i++) {
        rc = sub_feeds_match(t->db, sub_id, op->as.unsubscribe.urls[i], &op->arena, &ids, &n,
                             &op->err);
        for (k = 0; rc == RC_OK && k < n; k++) {
            rc = sub_feeds_drop(t->db, sub_id, ids[k], &op->err);
            txn_feed(t, ids[k]);
            op->result.n_deleted++;
        }
    }
    return rc;
}

enum rc apply_sub_end(struct txn *t, int64_t id, struct arena *a, struct err *err)
{
    struct subscription sub;
    enum rc rc = subs_load(t->db, id, true, a, &sub, err);

    if (rc == RC_OK)
        rc = subs_delete(t->db, id, err);
    if (rc != RC_OK)
        return rc;
    txn_sub(t, id);
    for (size_t i = 0; i < sub.n_feeds && rc == RC_OK; i++) {
        txn_feed(t, sub.feeds[i].feed_id);
        rc = give_up_settings(t, sub.feeds[i].feed_id, a, err);
    }
    return rc;
}

static enum rc apply_unsubscribe(struct txn *t, struct op *op)
{
    int64_t id = op->as.unsubscribe.sub_id;
    enum rc rc = show_sub(t, op, id);
    const struct subscription *before = op->result.sub;
    size_t i;

    if (rc == RC_OK)
        rc = drop_matches(t, op, id);
    if (rc == RC_OK)
        rc = show_sub(t, op, id);
    if (rc != RC_OK)
        return rc;
    txn_sub(t, id);
    if (op->as.unsubscribe.n == 0 || op->result.sub->n_feeds == 0) {
        if (op->as.unsubscribe.n == 0)
            op->result.n_deleted = (int64_t)before->n_feeds;
        op->result.sub = NULL;
        if (str_eqz(before->sink, HUB_SINK)) /* the subscriber did not ask for it */
            rc = hub_deny(t, id, STR("the subscription was ended here"), &op->arena, &op->err);
        if (rc == RC_OK)
            rc = subs_delete(t->db, id, &op->err);
    }
    for (i = 0; i < before->n_feeds && rc == RC_OK; i++) {
        txn_feed(t, before->feeds[i].feed_id);
        rc = give_up_settings(t, before->feeds[i].feed_id, &op->arena, &op->err);
    }
    return rc;
}

static enum rc apply_push_outcome(struct txn *t, struct op *op)
{
    const struct push_outcome *o = &op->as.push;
    struct subscription sub;
    enum rc rc = subs_load(t->db, o->sub_id, false, &op->arena, &sub, &op->err);

    op->result.id = o->sub_id;
    if (rc == RC_OK && o->ended)
        return apply_sub_end(t, sub.id, &op->arena, &op->err);
    if (rc != RC_OK)
        return rc;
    if (sub.state != o->state)
        txn_sub(t, sub.id);
    sub.state = o->state;
    if (o->position != 0)
        sub.position = o->position;
    sub.next_try_at = o->next_try_at;
    sub.n_delivered += o->n_entries;
    sub.n_faults += o->fault;
    if (o->failed) {
        sub.n_failures++;
        if (sub.failing_since == TIME_UNKNOWN)
            sub.failing_since = clock_now_s();
    } else {
        sub.n_failures = 0;
        sub.failing_since = TIME_UNKNOWN;
    }
    sub.last_error = o->failed || o->fault ? o->error : STR_NULL;
    return subs_save(t->db, &sub, &op->err);
}

static enum rc apply_resume(struct txn *t, struct op *op)
{
    struct subscription sub;
    enum rc rc = subs_load(t->db, op->as.resume.sub_id, false, &op->arena, &sub, &op->err);

    if (rc != RC_OK)
        return rc;
    sub.state = SUB_ACTIVE;
    sub.next_try_at = TIME_UNKNOWN;
    sub.failing_since = TIME_UNKNOWN;
    sub.n_failures = 0;
    if (op->as.resume.position >= 0)
        sub.position = op->as.resume.position;
    rc = subs_save(t->db, &sub, &op->err);
    if (rc != RC_OK)
        return rc;
    txn_sub(t, sub.id);
    return show_sub(t, op, sub.id);
}

/* ---- hubs of publishers ---------------------------------------------------------------------- */

static enum rc apply_upstream_put(struct txn *t, struct op *op)
{
    const struct upstream *u = &op->as.upstream;
    struct feed_row row;
    enum rc rc = upstreams_put(t->db, u, &op->err);

    if (rc != RC_OK || !u->is_current || u->state == UPSTREAM_ACTIVE)
        return rc;
    rc = feeds_load(t->db, u->feed_id, false, &op->arena, &row, NULL);
    if (rc == RC_NOT_FOUND || (rc == RC_OK && row.rec.next_reason != REASON_HUB))
        return RC_OK;
    if (rc != RC_OK)
        return err_set(&op->err, rc, "the feed of a hub cannot be read");
    reschedule(t, &row.rec);
    txn_feed(t, u->feed_id);
    return feeds_save(t->db, &row, &op->err);
}

static enum rc apply_upstream_drop(struct txn *t, struct op *op)
{
    return upstreams_drop(t->db, op->as.upstream.token, &op->err);
}

/* ---- all ------------------------------------------------------------------------------------- */

typedef enum rc apply_fn(struct txn *t, struct op *op);

static apply_fn *const appliers[OP_COUNT_] = {
    [OP_ADD_FEED] = apply_add_feed,
    [OP_SUBSCRIBE] = apply_subscribe,
    [OP_UNSUBSCRIBE] = apply_unsubscribe,
    [OP_PUSH_OUTCOME] = apply_push_outcome,
    [OP_RESUME] = apply_resume,
    [OP_FETCH_OUTCOME] = apply_outcome,
    [OP_CONTENT_OUTCOME] = apply_content,
    [OP_TOUCH] = apply_touch,
    [OP_PING] = apply_ping,
    [OP_SET_LEVEL] = apply_set_level,
    [OP_UPSTREAM_PUT] = apply_upstream_put,
    [OP_UPSTREAM_DROP] = apply_upstream_drop,
    [OP_HUB_REQUEST] = apply_hub_request,
    [OP_HUB_SETTLE] = apply_hub_settle,
    [OP_HUB_SWEEP] = apply_hub_sweep,
};

enum rc op_apply(struct txn *t, struct op *op)
{
    ASSERT(op->kind < OP_COUNT_);
    return appliers[op->kind](t, op);
}
