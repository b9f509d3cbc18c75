/* storage/apply_feeds.c - stores what concerns feeds but not their documents: new feeds, settings
 * from subscriptions, requests and pings that name feeds, and subscriptions at upstream hubs and
 * clouds. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/stats.h"
#include "storage/apply_parts.h"
#include "storage/brief.h"
#include "storage/engine.h"
#include "storage/rows_places.h"
#include "storage/rows_subs.h"
#include "storage/rows_upstreams.h"
#include "storage/wants.h"

#define HAND_GAP_S 5 /* between a fetch and one by hand */

/* ---- new feeds ------------------------------------------------------------------------------- */

/* The access key that stands for a credential. Arena. */
static struct str new_access_key(struct arena *a)
{
    unsigned char random[16];
    char hex[2 * sizeof random + 1];

    digest_random(random, sizeof random);
    digest_hex(random, sizeof random, hex);
    return str_printf(a, "fm-%s", hex);
}

int64_t apply_find_or_make(struct txn *t, const struct feed_ref *ref)
{
    int64_t id = place_find(&t->rows, ref->url, ref->credential);
    struct feed *feed;

    if (id != 0)
        return id;
    feed = &rows_new_feed(&t->rows)->row.feed;
    feed->url = feed->id_url = ref->url;
    if (ref->credential.len > 0) {
        feed->credential = ref->credential;
        feed->access_key = new_access_key(&t->rows.arena);
    }
    feed->next_fetch_at = clock_now_s();
    feed->next_reason = REASON_NEW;
    feed->version = txn_next_version(t);
    /* until it is fetched, it has the title that the list or the request gave it */
    feed->title = ref->details.title;
    feed->site_url = ref->details.site_url;
    place_own(&t->rows, feed);
    txn_feed(t, feed->id)->is_new = true;
    return feed->id;
}

enum rc apply_add_feed(struct txn *t, struct op *op)
{
    op->result.id = apply_find_or_make(t, &op->as.add);
    return RC_OK;
}

/* ---- rows of feeds --------------------------------------------------------------------------- */

/* Get a copy of the feed's row in the arena, to be changed and given to save_copy(). *out NULL:
 * there is no such feed. */
static enum rc copy_row(struct txn *t, int64_t id, struct arena *a, struct feed_row **out,
                        struct err *err)
{
    enum rc rc = txn_hold_feed(t, id, false, err);
    const struct held_feed *f = rows_feed(&t->rows, id);

    *out = NULL;
    if (rc != RC_OK || f->is_missing)
        return rc;
    *out = ARENA_NEW(a, struct feed_row);
    **out = f->row;
    return RC_OK;
}

static struct txn_feed *save_copy(struct txn *t, struct feed_row *row)
{
    struct txn_feed *note = txn_feed(t, row->feed.id);

    note->has_time =
        rows_feed(&t->rows, row->feed.id)->row.feed.next_fetch_at != row->feed.next_fetch_at;
    rows_save_feed(&t->rows, row);
    note->row = row;
    return note;
}

/* ---- settings -------------------------------------------------------------------------------- */

/* Set the time of the next fetch after a new level or period. A subscriber cannot overrule the
 * refusal of a publisher (backoff, Retry-After, 410). If the publisher wishes longer pauses, only
 * an exact period overrules that. */
void apply_reschedule(const struct txn *t, struct feed *feed)
{
    int64_t period = levels_period_s(&t->levels, feed->level, feed->period_s);
    int64_t now = clock_now_s();
    int64_t due = feed->last_check_at == TIME_UNKNOWN ? now : feed->last_check_at + period;

    if (feed->is_paused || (feed->state == FEED_GONE && feed->next_fetch_at != TIME_UNKNOWN) ||
        feed->next_reason == REASON_BACKOFF || feed->next_reason == REASON_RETRY_AFTER)
        return;
    if (feed->next_fetch_at != TIME_UNKNOWN && feed->level != LEVEL_EXACT &&
        feed->next_fetch_at > due &&
        (feed->next_reason == REASON_MAX_AGE || feed->next_reason == REASON_TTL ||
         feed->next_reason == REASON_SKIP))
        return;
    if ((feed->next_reason == REASON_NEW || feed->next_reason == REASON_PING) &&
        feed->next_fetch_at != TIME_UNKNOWN)
        return;
    feed->next_fetch_at = due > now ? due : now;
    feed->next_reason = REASON_PERIOD;
}

/* What follows from how a feed of level 1 posts stays as long as the level. */
static void set_level(struct feed *feed, int level, int64_t exact_s)
{
    if (level == LEVEL_EXACT || level != feed->level)
        feed->period_s = level == LEVEL_EXACT ? exact_s : 0;
    feed->level = level;
}

static void set_pause(const struct txn *t, struct feed *feed, bool is_paused)
{
    if (feed->is_paused == is_paused)
        return;
    feed->is_paused = is_paused;
    feed->next_fetch_at = TIME_UNKNOWN;
    feed->next_reason = is_paused                  ? REASON_PAUSED
                        : feed->state == FEED_GONE ? REASON_GONE
                                                   : REASON_NONE;
    apply_reschedule(t, feed);
}

/* Set whether HTML is sanitized. After a change the next document is read whole, because the stored
 * entries were read with the other setting. True: the setting has changed. */
static bool set_sanitize(struct feed *feed, enum sanitize_setting sanitize)
{
    bool raw = sanitize == SANITIZE_OFF;

    if (sanitize == SANITIZE_KEEP || feed->raw_html == raw)
        return false;
    feed->raw_html = raw;
    feed->etag = feed->last_modified = STR_NULL;
    feed->has_body_hash = false;
    if (!str_is_null(feed->cursor))
        feed->cursor = STR("");
    return true;
}

/* A fetch that began before does not count any more. */
static void mark_pinged(struct feed *feed, int64_t now)
{
    feed->n_pings++;
    feed->next_fetch_at = now;
    feed->next_reason = REASON_PING;
}

/* Files of a feed that is mirrored already stay wanted since then. */
static bool set_mirror(struct feed *feed, int64_t mirror)
{
    int64_t from = mirror == MIRROR_OFF ? 0 : mirror;

    if (mirror == MIRROR_KEEP || (from > 0) == (feed->mirror_from > 0))
        return false;
    feed->mirror_from = from;
    return true;
}

/* Set what is sent with its fetches. It is fetched with it at once, and the answer is to be whole:
 * what came before was perhaps meant for somebody else. */
static bool set_secrets(struct feed *feed, struct str secrets)
{
    if (str_is_null(secrets) || str_eq(secrets, feed->secrets))
        return false;
    feed->secrets = secrets.len > 0 ? secrets : STR_NULL;
    feed->etag = feed->last_modified = STR_NULL;
    feed->has_body_hash = false;
    return true;
}

enum rc apply_settings(struct txn *t, int64_t feed_id, const struct feed_settings *settings,
                       struct arena *a, struct err *err)
{
    struct feed_row *row;
    enum rc rc = copy_row(t, feed_id, a, &row, err);
    bool changed, is_due;

    if (rc == RC_OK && row == NULL)
        return err_set(err, RC_NOT_FOUND, "there is no feed %" PRId64, feed_id);
    if (rc != RC_OK)
        return rc;
    changed = set_sanitize(&row->feed, settings->sanitize);
    changed |= set_mirror(&row->feed, settings->mirror);
    is_due = set_secrets(&row->feed, settings->secrets);
    changed |= is_due;
    is_due &= row->feed.last_check_at != TIME_UNKNOWN && !row->feed.is_paused;
    if (settings->ends_list) {
        changed |= row->feed.is_list;
        row->feed.is_list = false;
    }
    if (settings->level != LEVEL_KEEP) {
        set_level(&row->feed, settings->level, settings->period_s);
        apply_reschedule(t, &row->feed);
    } else if (row->feed.next_fetch_at == TIME_UNKNOWN) {
        apply_reschedule(t, &row->feed); /* nobody had asked for the feed for a long time */
    } else if (!changed) {
        return RC_OK;
    }
    if (is_due)
        mark_pinged(&row->feed, clock_now_s());
    save_copy(t, row)->is_pinged |= is_due;
    return RC_OK;
}

enum rc apply_list_due(struct txn *t, int64_t feed_id, struct arena *a, struct err *err)
{
    struct feed_row *row;
    enum rc rc = copy_row(t, feed_id, a, &row, err);

    if (rc != RC_OK)
        return rc;
    if (row == NULL)
        return err_set(err, RC_NOT_FOUND, "there is no feed %" PRId64, feed_id);
    row->feed.is_list = true;
    if (!row->fetched) {
        row->feed.etag = row->feed.last_modified = STR_NULL;
        row->feed.has_body_hash = false;
    }
    mark_pinged(&row->feed, clock_now_s());
    save_copy(t, row)->is_pinged = true;
    return RC_OK;
}

enum rc apply_settings_end(struct txn *t, int64_t feed_id, struct arena *a, struct err *err)
{
    struct feed_row *row;
    struct feed_settings plain = {
        .level = LEVEL_KEEP, .sanitize = SANITIZE_ON, .mirror = MIRROR_OFF, .ends_list = true};
    enum rc rc = copy_row(t, feed_id, a, &row, err);

    if (rc == RC_OK && row == NULL)
        return err_set(err, RC_NOT_FOUND, "there is no feed %" PRId64, feed_id);
    if (rc != RC_OK || row->feed.n_subscriptions > 0)
        return rc;
    if (row->feed.is_paused) { /* nobody would know why it is not fetched */
        set_pause(t, &row->feed, false);
        save_copy(t, row);
    }
    if (row->feed.level == LEVEL_EXACT || row->feed.level == 2)
        plain.level = 1;
    else if (!row->feed.raw_html && !row->feed.is_list && row->feed.mirror_from == 0)
        return RC_OK; /* its secrets stay: what came by them must not become everybody's */
    return apply_settings(t, feed_id, &plain, a, err);
}

/* ---- by hand --------------------------------------------------------------------------------- */

/* When a fetch by hand is due: now, but not in quick succession, which its publisher would notice.
 */
static int64_t by_hand_at(const struct feed *feed)
{
    int64_t now = clock_now_s();

    if (feed->last_check_at == TIME_UNKNOWN || feed->last_check_at > now ||
        feed->last_check_at + HAND_GAP_S <= now)
        return now;
    return feed->last_check_at + HAND_GAP_S;
}

enum rc apply_change_feed(struct txn *t, struct op *op)
{
    const struct feed_change *c = &op->as.change_feed;
    struct feed_row *row;
    enum rc rc = copy_row(t, c->feed_id, &op->arena, &row, &op->err);

    if (rc == RC_OK && row == NULL)
        return err_set(&op->err, RC_NOT_FOUND, "There is no feed %" PRId64 ".", c->feed_id);
    if (rc != RC_OK)
        return rc;
    if (c->has_pause)
        set_pause(t, &row->feed, c->is_paused);
    if (c->level != LEVEL_KEEP) {
        set_level(&row->feed, c->level, c->period_s);
        apply_reschedule(t, &row->feed);
    }
    keep_set(&row->feed.keep, &c->keep);
    if (set_secrets(&row->feed, c->secrets) || c->fetches) {
        row->feed.next_fetch_at = by_hand_at(&row->feed);
        row->feed.next_reason = REASON_HAND;
    }
    save_copy(t, row)->is_by_hand =
        row->feed.next_reason == REASON_HAND && row->feed.next_fetch_at <= clock_now_s();
    return RC_OK;
}

/* ---- readers and pings ----------------------------------------------------------------------- */

/* A reader asked for the feed. If it was not scheduled any more, because nobody had asked for it
 * for a long time, it is due now. */
static void touch(struct feed *feed, int64_t now)
{
    feed->wanted_at = now;
    if (feed->next_fetch_at != TIME_UNKNOWN || feed->is_paused)
        return;
    feed->next_fetch_at = now;
    feed->next_reason = REASON_READER;
}

enum rc apply_touch(struct txn *t, struct op *op)
{
    int64_t now = clock_now_s();
    struct feed_row *row;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < op->as.touch.n && rc == RC_OK; i++) {
        rc = copy_row(t, op->as.touch.ids[i], &op->arena, &row, &op->err);
        if (rc != RC_OK || row == NULL)
            continue;
        touch(&row->feed, now);
        save_copy(t, row);
    }
    return rc;
}

/* Once it is taken back, a second time changes nothing. */
static bool take_back(struct feed_row *row, const struct feed_errors *was, int64_t since)
{
    struct feed *feed = &row->feed;

    if (feed->n_errors <= was->n_errors || feed->last_check_at == TIME_UNKNOWN ||
        feed->last_check_at < since || feed->last_status != 0) /* since then it was reached */
        return false;
    feed->n_errors = was->n_errors;
    if (was->n_errors > 0)
        return true;
    feed->last_error = STR_NULL;
    if (feed->state == FEED_FAILING)
        feed->state = row->fetched ? FEED_OK : FEED_NEW;
    if (feed->next_reason == REASON_BACKOFF) {
        feed->next_fetch_at = clock_now_s();
        feed->next_reason = REASON_PERIOD;
    }
    return true;
}

enum rc apply_take_back(struct txn *t, struct op *op)
{
    struct feed_row *row;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < op->as.take_back.n && rc == RC_OK; i++) {
        rc = copy_row(t, op->as.take_back.ids[i], &op->arena, &row, &op->err);
        if (rc == RC_OK && row != NULL &&
            take_back(row, &op->as.take_back.feeds[i], op->as.take_back.since))
            save_copy(t, row);
    }
    return rc;
}

enum rc apply_ping(struct txn *t, struct op *op)
{
    struct held_upstream news = {.announced_at = clock_now_s()};
    struct feed_row *row;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < op->as.ping.n && rc == RC_OK; i++) {
        rc = copy_row(t, op->as.ping.ids[i], &op->arena, &row, &op->err);
        if (rc != RC_OK || row == NULL || row->feed.is_paused)
            continue;
        mark_pinged(&row->feed, news.announced_at);
        save_copy(t, row)->is_pinged = true;
        news.feed_id = row->feed.id;
        if (op->as.ping.by_cloud)
            rows_add_upstream(&t->rows, &news);
    }
    return rc;
}

enum rc apply_wish(struct txn *t, struct op *op)
{
    struct txn_feed *note = txn_feed(t, op->as.wish.feed_id);

    note->is_wanted = !op->as.wish.is_answer;
    note->is_answered = op->as.wish.is_answer;
    note->answer = op->as.wish.rc;
    return RC_OK;
}

enum rc apply_host_rest(struct txn *t, struct op *op)
{
    rows_rest_host(&t->rows, op->as.rest.host, op->as.rest.cool_until_ms,
                   op->as.rest.gentle_until_ms);
    return RC_OK;
}

/* ---- feeds that never were one ----------------------------------------------------------------
 */

/* Is it one still? What is known of its hub goes first, when nobody wants that any more. */
static bool may_forget(const struct held_feed *f, int64_t before)
{
    struct directory_feed now;

    if (f->is_missing || f->is_new || f->row.feed.n_items > 0 || f->row.feed.upstream.hub.len > 0)
        return false;
    now = brief_of(&f->row, TIME_UNKNOWN, NULL, 0, 0);
    return brief_is_stray(&now.brief, before);
}

/* Statements delete them, so no row may be held of what they may have. */
enum rc apply_forget(struct txn *t, struct op *op)
{
    int64_t *ids = ARENA_ARRAY(&op->arena, int64_t, op->as.forget.n + 1);
    size_t n = 0;
    enum rc rc;

    for (size_t i = 0; i < op->as.forget.n; i++)
        if (may_forget(rows_feed(&t->rows, op->as.forget.ids[i]), op->as.forget.before))
            ids[n++] = op->as.forget.ids[i];
    if (n == 0)
        return RC_OK;
    rc = t->db->writes->write(t->db, t, &op->err);
    if (rc == RC_OK)
        rc = t->db->writes->drop_feeds(t->db, ids, n, &op->err);
    rows_forget(&t->rows);
    for (size_t i = 0; i < n; i++)
        txn_feed(t, ids[i])->has_time = true; /* never again */
    op->result.n_deleted = (int64_t)n;
    return rc;
}

/* ---- feeds that are forgotten ------------------------------------------------------------------
 */

/* Hold all that is looked at when they end. */
static enum rc hold_subs(struct txn *t, const int64_t *ids, size_t n, struct err *err)
{
    struct wants w = {.feeds = NULL};
    enum rc rc;

    for (size_t i = 0; i < n; i++)
        wants_add_sub(&w,
                      &(struct want_sub){
                          .id = ids[i], .with_feeds = true, .with_rows = true, .with_lease = true});
    rc = txn_more(t, &w, err);
    wants_release(&w);
    return rc;
}

/* The subscriptions have lost a feed: end those that are left without any. */
static enum rc end_empty(struct txn *t, const int64_t *ids, size_t n, struct op *op)
{
    enum rc rc = n == 0 ? RC_OK : hold_subs(t, ids, n, &op->err);

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        const struct held_sub *sub = rows_sub(&t->rows, ids[i]);

        txn_sub(t, ids[i]);
        if (sub->held.exists && rows_count_feeds(sub) == 0 && rows_list_of(sub) == NULL &&
            str_is_null(sub->row.asks))
            rc = apply_sub_end(t, ids[i], STR("the feed was removed here"), &op->arena, &op->err);
    }
    return rc;
}

enum rc apply_forget_feed(struct txn *t, struct op *op)
{
    int64_t id = op->as.forget_feed, *subs = NULL;
    const struct held_feed *f = rows_feed(&t->rows, id);
    size_t n = 0;
    enum rc rc;

    if (f->is_missing)
        return err_set(&op->err, RC_NOT_FOUND, "There is no feed %" PRId64 ".", id);
    if (f->row.feed.is_list)
        return err_set(&op->err, RC_CONFLICT,
                       "Feed %" PRId64 " is a list that subscriptions follow. End these first.",
                       id);
    rc = t->db->writes->write(t->db, t, &op->err);
    if (rc == RC_OK)
        rc = t->db->writes->forget_feed(t->db, id, &op->arena, &subs, &n, &op->err);
    rows_forget(&t->rows);
    if (rc == RC_OK)
        rc = end_empty(t, subs, n, op);
    txn_feed(t, id)->has_time = true; /* it is fetched never again */
    op->result.id = id;
    return rc;
}

/* ---- upstream hubs --------------------------------------------------------------------------- */

/* If the feed is polled less because of a hub, give it its own pace again, unless there still is a
 * hub that announces its updates. */
static enum rc give_pace_back(struct txn *t, struct op *op, int64_t feed_id)
{
    struct feed_row *row;
    enum rc rc = copy_row(t, feed_id, &op->arena, &row, &op->err);

    if (rc != RC_OK || row == NULL)
        return rc;
    if (row->feed.next_reason != REASON_HUB ||
        (row->feed.upstream.hub.len > 0 && row->feed.upstream.state == UPSTREAM_ACTIVE))
        return RC_OK;
    apply_reschedule(t, &row->feed);
    save_copy(t, row);
    return RC_OK;
}

/* Has another node changed the row since the caller learned of it? */
static enum rc check_known(struct txn *t, struct op *op, const struct upstream *then)
{
    if (upstream_is_known(&t->rows, op->as.upstream.row.token, op->as.upstream.known, then))
        return RC_OK;
    stats_inc(STAT_upstream_conflicts_total);
    return err_set(&op->err, RC_CONFLICT, "another node has changed the subscription at the hub");
}

enum rc apply_upstream_put(struct txn *t, struct op *op)
{
    const struct upstream *u = &op->as.upstream.row;
    enum rc rc = check_known(t, op, u);

    if (rc != RC_OK)
        return rc;
    rows_put_upstream(&t->rows, u);
    txn_edited(t, u->feed_id);
    if (u->is_current && u->state == UPSTREAM_ACTIVE)
        return RC_OK;
    return give_pace_back(t, op, u->feed_id);
}

enum rc apply_upstream_drop(struct txn *t, struct op *op)
{
    const struct upstream *u = &op->as.upstream.row;
    enum rc rc = check_known(t, op, NULL);

    if (rc != RC_OK)
        return rc;
    rows_drop_upstream(&t->rows, u->token);
    txn_edited(t, u->feed_id);
    return give_pace_back(t, op, u->feed_id);
}
