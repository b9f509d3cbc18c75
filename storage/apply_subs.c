/* storage/apply_subs.c - makes, changes and ends subscriptions.
 *
 * All subscriptions end by apply_sub_end(), whatever the reason: somebody unsubscribes, the
 * endpoint is gone, a WebSub lease is over, or the publisher has ended the only feed. */
#include <inttypes.h>

#include "base/clock.h"
#include "model/known_loss.h"
#include "storage/apply_parts.h"
#include "storage/placed.h"
#include "storage/rows_hub.h"
#include "storage/rows_subs.h"
#include "storage/wants.h"

/* A copy of the string in the arena; null stays null. */
static struct str keep(struct arena *a, struct str s)
{
    return str_is_null(s) ? s : str_dup(a, s);
}

/* A subscription with its feeds, for the result. */
static struct subscription *copy_sub(const struct held_sub *sub, struct arena *a)
{
    struct subscription *copy = ARENA_NEW(a, struct subscription);

    *copy = sub->row;
    copy->endpoint = keep(a, sub->row.endpoint);
    copy->sink = keep(a, sub->row.sink);
    copy->last_error = keep(a, sub->row.last_error);
    copy->filter = keep(a, sub->row.filter);
    copy->asks = keep(a, sub->row.asks);
    copy->feeds = ARENA_ARRAY(a, struct sub_feed, sub->n_feeds + 1);
    copy->n_feeds = 0;
    for (size_t i = 0; i < sub->n_feeds; i++) {
        const struct sub_feed *feed = &sub->feeds[i]->row;

        if (sub->feeds[i]->held.exists)
            copy->feeds[copy->n_feeds++] = (struct sub_feed){
                feed->feed_id,         keep(a, feed->url),      keep(a, feed->name),
                keep(a, feed->folder), keep(a, feed->category), feed->listed};
    }
    sub_take_list(copy);
    return copy;
}

/* Get the subscription, held as `want` says. RC_NOT_FOUND: there is none. */
static enum rc get_sub(struct txn *t, const struct want_sub *want, struct held_sub **out,
                       struct err *err)
{
    enum rc rc = txn_hold_sub(t, want, out, err);

    return rc == RC_OK && !(*out)->held.exists
               ? err_set(err, RC_NOT_FOUND, "there is no subscription %" PRId64, want->id)
               : rc;
}

enum rc apply_show_sub(struct txn *t, struct op *op, int64_t id)
{
    struct held_sub *sub;
    enum rc rc = get_sub(t, &(struct want_sub){.id = id, .with_feeds = true}, &sub, &op->err);

    op->result.id = id;
    op->result.sub = rc == RC_OK ? copy_sub(sub, &op->arena) : NULL;
    return rc;
}

/* ---- subscribing ----------------------------------------------------------------------------- */

/* The settings that the request has for its feed `i`. */
static struct feed_settings settings_of(const struct sub_request *req, size_t i)
{
    const struct feed_details *details = &req->feeds[i].details;

    return (struct feed_settings){
        .level = details->has_level ? details->level : req->level,
        .period_s = details->has_level ? details->period_s : req->period_s,
        .sanitize = details->sanitize != SANITIZE_KEEP ? details->sanitize : req->sanitize,
        .mirror = req->mirror,
        .secrets = req->secrets};
}

static enum rc check_level(int level, int64_t period_s, struct err *err)
{
    if (level == LEVEL_KEEP || (level >= 0 && level <= 2) || (level == LEVEL_EXACT && period_s > 0))
        return RC_OK;
    return err_set(err, RC_INPUT,
                   "level %d with a period of %" PRId64 " s is not allowed: use a level from 0 "
                   "to 2, or -1 with a period of at least 1 s",
                   level, period_s);
}

static enum rc check_request(const struct sub_request *req, struct err *err)
{
    enum rc rc = check_level(req->level, req->period_s, err);

    if (req->n_feeds == 0 && req->list == NULL && str_is_null(req->asks))
        return err_set(err, RC_INPUT, "a subscription needs at least one feed");
    for (size_t i = 0; i < req->n_feeds && rc == RC_OK; i++) {
        struct feed_settings s = settings_of(req, i);

        rc = check_level(s.level, s.period_s, err);
    }
    return rc;
}

/* Add feed `i` of the request to the subscription. */
static enum rc subscribe_feed(struct txn *t, struct op *op, struct held_sub *sub, size_t i)
{
    const struct feed_ref *ref = &op->as.subscribe.feeds[i];
    struct feed_settings settings = settings_of(&op->as.subscribe, i);
    struct sub_feed feed = {.feed_id = apply_find_or_make(t, ref),
                            .url = str_is_null(ref->shown_url) ? ref->url : ref->shown_url,
                            .name = ref->details.name,
                            .folder = ref->details.folder,
                            .category = ref->details.category};
    const struct held_feed *held;
    enum rc rc;

    rows_join_feed(&t->rows, sub, (int64_t)i, &feed);
    txn_feed(t, feed.feed_id);
    rc = apply_settings(t, feed.feed_id, &settings, &op->arena, &op->err);
    held = rows_feed(&t->rows, feed.feed_id);
    /* so far it was only asked whether it is a list */
    if (rc == RC_OK && held->row.feed.is_list && !held->row.fetched)
        rc = apply_list_due(t, feed.feed_id, &op->arena, &op->err);
    return rc;
}

/* The subscription follows the list of the request. */
static enum rc follow_list(struct txn *t, struct op *op, struct held_sub *sub)
{
    const struct sub_request *req = &op->as.subscribe;
    const struct feed_ref *ref = req->list;
    struct feed_settings settings = {
        .level = req->level, .period_s = req->period_s, .sanitize = SANITIZE_KEEP};
    struct sub_feed list = {.feed_id = apply_find_or_make(t, ref),
                            .url = str_is_null(ref->shown_url) ? ref->url : ref->shown_url,
                            .name = ref->details.name,
                            .folder = ref->details.folder,
                            .listed = LISTED_LIST};
    enum rc rc;

    rows_join_feed(&t->rows, sub, LIST_PLACE, &list);
    txn_feed(t, list.feed_id);
    rc = apply_settings(t, list.feed_id, &settings, &op->arena, &op->err);
    return rc == RC_OK ? apply_list_due(t, list.feed_id, &op->arena, &op->err) : rc;
}

/* Where a new subscription begins: at the end of the log, or after the seq of the request. */
static void set_start(struct txn *t, const struct sub_request *req, struct subscription *sub)
{
    int64_t seq = known_loss_seq(req->from_seq);
    const struct held_time *time;

    sub->position = t->last_seq;
    sub->chain = (struct log_mark){t->last_seq, t->last_at_us};
    if (!req->from_given)
        return;
    time = rows_find(&t->rows, ROW_TIME, seq, STR_NULL);
    sub->position = seq;
    sub->chain = (struct log_mark){seq, time->at_us};
    sub->with_initial = true;
}

/* What was taken from its feeds cannot be delivered any more. Their rows are held, so nothing is
 * taken meanwhile. */
static enum rc check_position(struct txn *t, const struct held_sub *sub, int64_t position,
                              struct op *op)
{
    int64_t floor = known_loss_floor(position), seq = known_loss_seq(position);
    bool lacks = false;

    for (size_t i = 0; i < sub->n_feeds; i++) {
        const struct feed *feed = &rows_feed(&t->rows, sub->feeds[i]->row.feed_id)->row.feed;

        if (!sub->feeds[i]->held.exists)
            continue;
        lacks |= feed->horizon > seq && feed->horizon > floor;
        if (feed->horizon > op->result.last_seq)
            op->result.last_seq = feed->horizon;
    }
    if (!lacks)
        return RC_OK;
    return err_set(&op->err, RC_GONE,
                   "A part of what follows this position was taken away, because it was old. What "
                   "is kept follows the cursor `horizon`.");
}

enum rc apply_subscribe(struct txn *t, struct op *op)
{
    const struct sub_request *req = &op->as.subscribe;
    enum rc rc = check_request(req, &op->err);
    struct held_sub *sub;

    if (rc != RC_OK)
        return rc;
    sub = rows_new_sub(&t->rows);
    sub->row.endpoint = req->endpoint;
    sub->row.sink = req->sink;
    sub->row.state = SUB_ACTIVE;
    sub->row.events = req->events == 0 ? SUB_EVENTS_DEFAULT : req->events;
    sub->row.batch = req->batch;
    sub->row.keep = req->keep;
    sub->row.filter = req->filter;
    sub->row.asks = req->asks;
    sub->row.created_at = clock_now_s();
    sub->row.owner = req->owner;
    sub->credential = req->endpoint_credential;
    sub->settings = req->sink_settings;
    set_start(t, req, &sub->row);
    if (req->list != NULL)
        rc = follow_list(t, op, sub);
    for (size_t i = 0; i < req->n_feeds && rc == RC_OK; i++)
        rc = subscribe_feed(t, op, sub, i);
    if (rc == RC_OK && req->from_given)
        rc = check_position(t, sub, req->from_seq, op);
    if (rc != RC_OK)
        return rc;
    txn_sub(t, sub->row.id);
    return apply_show_sub(t, op, sub->row.id);
}

void apply_sub_active(struct subscription *sub)
{
    sub->state = SUB_ACTIVE;
    sub->next_try_at = sub->failing_since = TIME_UNKNOWN;
    sub->n_failures = 0;
}

/* ---- changes --------------------------------------------------------------------------------- */

/* What is changed of the row itself. */
static void change_row(const struct sub_change *c, struct subscription *sub)
{
    if (c->has_state && c->state == SUB_ACTIVE)
        apply_sub_active(sub);
    else if (c->has_state)
        sub->state = c->state;
    if (c->has_position) {
        if (!c->is_skip || c->position > sub->position)
            sub->position = known_loss_seq(c->position);
        sub->with_initial |= c->with_initial;
        sub->generation++;
        sub->refused_seq = 0;
        sub->n_refusals = 0;
        sub->part_max = sub->part_until = 0;
    }
    if (c->events != 0)
        sub->events = c->events;
    if (c->has_batch)
        sub->batch = c->batch;
    keep_set(&sub->keep, &c->keep);
    if (!str_is_null(c->filter))
        sub->filter = c->filter.len > 0 ? c->filter : STR_NULL;
    if (!str_is_null(c->asks))
        sub->asks = c->asks.len > 0 ? c->asks : STR_NULL;
    if (!str_is_null(c->sink))
        sub->sink = c->sink;
    if (!str_is_null(c->endpoint)) {
        sub->endpoint = c->endpoint;
        sub->next_try_at = sub->failing_since = TIME_UNKNOWN; /* the failures were another's */
        sub->n_failures = 0;
        sub->last_error = STR_NULL;
    }
}

/* What is changed of its feeds. */
static enum rc change_feeds(struct txn *t, const struct sub_change *c, struct held_sub *sub,
                            struct op *op)
{
    struct feed_settings settings = {.level = c->level,
                                     .period_s = c->period_s,
                                     .sanitize = SANITIZE_KEEP,
                                     .mirror = c->mirror};
    const struct held_sub_feed *list = rows_list_of(sub);
    bool changes = c->level != LEVEL_KEEP || c->mirror != MIRROR_KEEP;
    enum rc rc = RC_OK;

    if (!str_is_null(c->name) || !str_is_null(c->folder))
        rows_rename_feeds(&t->rows, sub, c->name, c->folder);
    for (size_t i = 0; i < sub->n_feeds && rc == RC_OK && changes; i++) {
        int64_t id = sub->feeds[i]->row.feed_id;

        if (!sub->feeds[i]->held.exists)
            continue;
        settings.level = list == NULL || sub->feeds[i] == list ? c->level : LEVEL_KEEP;
        if (settings.level == LEVEL_KEEP && c->mirror == MIRROR_KEEP)
            continue;
        rc = apply_settings(t, id, &settings, &op->arena, &op->err);
        txn_feed(t, id);
    }
    return rc;
}

enum rc apply_change_sub(struct txn *t, struct op *op)
{
    const struct sub_change *c = &op->as.change_sub;
    struct held_sub *sub;
    enum rc rc = check_level(c->level, c->period_s, &op->err);

    if (rc == RC_OK)
        rc = get_sub(t, &(struct want_sub){.id = c->sub_id, .with_feeds = true}, &sub, &op->err);
    if (rc == RC_OK && c->has_position && !(c->is_skip && c->position <= sub->row.position))
        rc = check_position(t, sub, c->position, op);
    if (rc != RC_OK)
        return rc;
    rows_change(&t->rows, ROW_SUB, sub, SUB_WRITES_PROGRESS | SUB_WRITES_TERMS);
    change_row(c, &sub->row);
    if (!str_is_null(c->endpoint))
        sub->credential = c->endpoint_credential;
    if (!str_is_null(c->sink_settings))
        sub->settings = c->sink_settings;
    rc = change_feeds(t, c, sub, op);
    if (c->has_state && c->state == SUB_ACTIVE)
        txn_sub_tried(t, c->sub_id);
    else
        txn_sub(t, c->sub_id);
    return rc == RC_OK ? apply_show_sub(t, op, c->sub_id) : rc;
}

/* ---- what follows something --------------------------------------------------------------------
 */

static bool is_among(const struct sub_following *f, int64_t feed_id)
{
    for (size_t lo = 0, hi = f->n_feeds; lo < hi;) {
        size_t mid = (lo + hi) / 2;

        if (f->feeds[mid].feed_id == feed_id)
            return true;
        if (f->feeds[mid].feed_id < feed_id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

/* Take out what is not among the feeds any more. */
static enum rc leave_feeds(struct txn *t, struct op *op, const struct held_sub *sub)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < sub->n_feeds && rc == RC_OK; i++) {
        struct held_sub_feed *feed = sub->feeds[i];

        if (!feed->held.exists || is_among(&op->as.follow, feed->row.feed_id))
            continue;
        rows_drop_sub_feed(&t->rows, feed);
        txn_feed(t, feed->row.feed_id);
        rc = apply_settings_end(t, feed->row.feed_id, &op->arena, &op->err);
    }
    return rc;
}

/* The folder of the first of its feeds that has one; null: none has. Those that the transaction has
 * taken out do not count, because it is not known here which operations it has carried out before.
 */
static struct str folder_of(const struct held_sub *sub)
{
    const struct held_sub_feed *first = NULL;

    for (size_t i = 0; i < sub->n_feeds; i++) {
        const struct held_sub_feed *feed = sub->feeds[i];

        if (feed->held.exists && !str_is_null(feed->row.folder) &&
            (first == NULL || feed->place < first->place))
            first = feed;
    }
    return first == NULL ? STR_NULL : first->row.folder;
}

/* Is there nothing to enter? A feed that is gone was found before it went. */
static bool has_entered(struct txn *t, int64_t sub_id, int64_t feed_id)
{
    return rows_feed(&t->rows, feed_id)->is_missing ||
           rows_sub_feed(&t->rows, sub_id, feed_id) != NULL;
}

static enum rc enter_feeds(struct txn *t, struct op *op, struct held_sub *sub)
{
    const struct feed_settings keep_all = {.level = LEVEL_KEEP, .sanitize = SANITIZE_KEEP};
    const struct sub_following *in = &op->as.follow;
    struct str folder = folder_of(sub);
    int64_t place = rows_next_place(sub);
    enum rc rc = RC_OK;

    for (size_t i = 0; i < in->n_feeds && rc == RC_OK; i++) {
        struct sub_feed feed = {
            .feed_id = in->feeds[i].feed_id, .url = in->feeds[i].url, .folder = folder};

        if (has_entered(t, sub->row.id, feed.feed_id))
            continue;
        rows_join_feed(&t->rows, sub, place++, &feed);
        txn_feed(t, feed.feed_id);
        rc = apply_settings(t, feed.feed_id, &keep_all, &op->arena, &op->err);
    }
    return rc;
}

static bool is_as_found(struct txn *t, const struct held_sub *sub, const struct sub_following *f)
{
    for (size_t i = 0; i < sub->n_feeds; i++)
        if (sub->feeds[i]->held.exists && !is_among(f, sub->feeds[i]->row.feed_id))
            return false;
    for (size_t i = 0; i < f->n_feeds; i++)
        if (!has_entered(t, sub->row.id, f->feeds[i].feed_id))
            return false;
    return str_eq(sub->row.filter, f->filter);
}

enum rc apply_follow_sub(struct txn *t, struct op *op)
{
    const struct sub_following *in = &op->as.follow;
    struct held_sub *sub;
    enum rc rc =
        txn_hold_sub(t, &(struct want_sub){.id = in->sub_id, .with_feeds = true, .with_rows = true},
                     &sub, &op->err);

    if (rc != RC_OK || !sub->held.exists || !str_eq(sub->row.asks, in->asks) ||
        is_as_found(t, sub, in))
        return rc;
    rows_change(&t->rows, ROW_SUB, sub, SUB_WRITES_PROGRESS | SUB_WRITES_TERMS);
    sub->row.filter = in->filter;
    rc = enter_feeds(t, op, sub);
    if (rc == RC_OK)
        rc = leave_feeds(t, op, sub);
    txn_sub(t, in->sub_id);
    return rc;
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* Tell a WebSub subscriber that its subscription has ended: store an intent of mode "denied". */
static enum rc deny(struct txn *t, const struct held_sub *sub, struct str reason, struct err *err)
{
    const struct held_lease *lease = rows_lease(&t->rows, sub->row.id);
    struct hub_intent in = {.mode = HUB_DENIED,
                            .reason = reason,
                            .callback = sub->row.endpoint,
                            .credential = sub->credential};

    if (lease == NULL || !lease->held.exists)
        return err_set(err, RC_NOT_FOUND, "subscription %" PRId64 " has no lease", sub->row.id);
    in.id = rows_draw_free(&t->rows, NEW_INTENT);
    in.topic = lease->row.topic;
    in.legacy = lease->row.legacy;
    t->has_hub_news = true;
    rows_new_intent(&t->rows, &in);
    return RC_OK;
}

enum rc apply_sub_end(struct txn *t, int64_t id, struct str reason, struct arena *a,
                      struct err *err)
{
    struct want_sub want = {.id = id, .with_feeds = true, .with_rows = true};
    struct held_sub *sub;
    int64_t *feeds;
    size_t n = 0;
    enum rc rc = get_sub(t, &want, &sub, err);

    if (rc == RC_OK && !str_is_null(reason) && str_eqz(sub->row.sink, HUB_SINK))
        rc = deny(t, sub, reason, err);
    if (rc != RC_OK)
        return rc;
    feeds = ARENA_ARRAY(a, int64_t, sub->n_feeds + 1);
    for (size_t i = 0; i < sub->n_feeds; i++)
        if (sub->feeds[i]->held.exists)
            feeds[n++] = sub->feeds[i]->row.feed_id;
    rows_end_sub(&t->rows, sub);
    txn_sub(t, id);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        txn_feed(t, feeds[i]);
        rc = apply_settings_end(t, feeds[i], a, err);
    }
    return rc;
}

enum rc apply_drop_feed(struct txn *t, struct op *op, int64_t sub_id, int64_t feed_id)
{
    struct held_sub_feed *feed = rows_sub_feed(&t->rows, sub_id, feed_id);
    enum rc rc = txn_hold_feed(t, feed_id, false, &op->err);

    if (rc != RC_OK || feed == NULL)
        return rc;
    rows_drop_sub_feed(&t->rows, feed);
    txn_feed(t, feed_id);
    op->result.n_deleted++;
    return apply_settings_end(t, feed_id, &op->arena, &op->err);
}

/* Take the feeds that the request names out of the subscription. */
static enum rc drop_matches(struct txn *t, struct op *op, int64_t sub_id)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < op->as.unsubscribe.n && rc == RC_OK; i++) {
        const struct held_match *m = rows_match(&t->rows, sub_id, op->as.unsubscribe.urls[i]);

        for (size_t k = 0; rc == RC_OK && k < m->n; k++)
            rc = apply_drop_feed(t, op, sub_id, m->feed_ids[k]);
    }
    return rc;
}

enum rc apply_unsubscribe(struct txn *t, struct op *op)
{
    int64_t id = op->as.unsubscribe.sub_id;
    struct held_sub *sub;
    enum rc rc = get_sub(t, &(struct want_sub){.id = id, .with_feeds = true}, &sub, &op->err);

    if (rc == RC_OK)
        rc = drop_matches(t, op, id);
    if (rc == RC_OK)
        rc = apply_show_sub(t, op, id);
    if (rc != RC_OK)
        return rc;
    txn_sub(t, id);
    if (op->as.unsubscribe.n > 0 && (op->result.sub->n_feeds > 0 || op->result.sub->list != NULL ||
                                     !str_is_null(op->result.sub->asks)))
        return RC_OK;
    if (op->as.unsubscribe.n == 0)
        op->result.n_deleted = (int64_t)op->result.sub->n_feeds;
    op->result.sub = NULL;
    /* a WebSub subscriber did not ask for this end, so it is told the reason */
    return apply_sub_end(t, id, STR("the subscription was ended here"), &op->arena, &op->err);
}

enum rc apply_subs_of_gone_feed(struct txn *t, int64_t feed_id, struct arena *a, struct err *err)
{
    const struct held_websubs *of = rows_websubs(&t->rows, feed_id);
    enum rc rc = RC_OK;

    for (size_t i = 0; rc == RC_OK && i < of->n; i++) {
        const struct held_sub *sub = rows_sub(&t->rows, of->sub_ids[i]);

        if (!sub->held.exists || rows_sub_feed(&t->rows, sub->row.id, feed_id) == NULL ||
            rows_count_feeds(sub) != 1 || !str_is_null(sub->row.asks))
            continue; /* it has other feeds, or may get some, so it goes on */
        rc = apply_sub_end(t, sub->row.id, STR("the publisher has ended this feed"), a, err);
    }
    return rc;
}
