/* fetcher/upstream_subs.c - see upstream_subs.h.
 *
 * A subscription is requested when its feed is wanted and the hub can reach us. It is renewed
 * before its lease ends. It is ended at the hub when nobody wants the feed any more, or when
 * another hub takes its place. A new subscription has a new token and a new secret. A renewal keeps
 * them, so that no delivery is lost during it. */
#include "fetcher/upstream_subs.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stats.h"
#include "fetcher/upstream_call.h"
#include "fetcher/upstream_rules.h"
#include "fetcher/job.h"
#include "fetcher/time_heap.h"
#include "net/host_turns.h"
#include "net/hostport.h"
#include "net/url.h"

#define TOKEN_BYTES 20    /* 160 random bits */
#define SECRET_BYTES 32   /* 64 characters; WebSub requires fewer than 200 */
#define VERIFY_WAIT_S 600 /* for so long a hub may take to verify a request that it accepted */
#define DAY_S 86400
#define SLEEP_MAX_S 60 /* wall time may be set while we sleep */
#define SAVE_RETRY_MS 500
#define REASON_TEXT 200

struct upstream_sub {
    struct upstream row; /* its strings are in `arena`, except the error */
    struct arena arena;
    char error[REASON_TEXT];
    struct time_node node; /* row.next_at, while no call is in flight */
    struct host_turn turn; /* due, but other requests come first */
    bool is_calling;
    bool is_waiting;   /* the hub has accepted the request but not verified it yet */
    bool is_confirmed; /* the hub has verified it while the call was in flight */
    bool is_unsaved;   /* must be saved again, because the storer had no room */
};

struct upstream_subs {
    struct store *store;
    struct loop *loop;

    pthread_mutex_t lock; /* guards what follows */
    struct map by_token;  /* struct upstream_sub */
    struct map by_feed;   /* the current subscription of each feed, by feed id */
    struct time_heap heap;
    struct host_turns turns;
    struct arena arena; /* holds the next two; each reload adds to it */
    struct str base_url, local_url;
    int64_t unused_s, timeout_ms;
    size_t n_unsaved;
    bool is_kicked;

    struct http_client *client; /* NULL: not running. Loop, under the lock */
    struct loop_timer *timer;   /* loop */
};

static void on_turn(void *ctx);

/* ---- rows, under the lock ---- */

static struct str id_key(const int64_t *id)
{
    return str_of((const char *)id, sizeof *id);
}

static struct str random_hex(struct arena *a, size_t n)
{
    unsigned char bytes[SECRET_BYTES];
    char *text = arena_alloc(a, 2 * n + 1);

    digest_random(bytes, n);
    digest_hex(bytes, n, text);
    return str_of(text, 2 * n);
}

static void kick_locked(struct upstream_subs *s)
{
    if (s->is_kicked || s->client == NULL)
        return;
    s->is_kicked = true;
    loop_post(s->loop, on_turn, s);
}

static void set_next_locked(struct upstream_subs *s, struct upstream_sub *sub, int64_t at)
{
    host_turns_leave(&s->turns, &sub->turn);
    sub->row.next_at = at;
    if (at == TIME_UNKNOWN || sub->is_calling)
        time_heap_remove(&s->heap, &sub->node);
    else
        time_heap_put(&s->heap, &sub->node, at);
    if (time_heap_first(&s->heap) == &sub->node)
        kick_locked(s);
}

/* Hand the row to the storer. Returns false when the storer has no room; then it is tried again. */
static bool save_locked(struct upstream_subs *s, struct upstream_sub *sub, store_done_fn *done,
                        void *ctx)
{
    enum rc rc;

    sub->row.error = sub->error[0] == '\0' ? STR_NULL : str_from(sub->error);
    rc = store_upstream_put(s->store, &sub->row, done, ctx);
    s->n_unsaved -= sub->is_unsaved;
    sub->is_unsaved = rc == RC_FULL && done == NULL;
    s->n_unsaved += sub->is_unsaved;
    if (sub->is_unsaved)
        kick_locked(s);
    return rc == RC_OK;
}

static struct upstream_sub *add_locked(struct upstream_subs *s, const struct upstream *row)
{
    struct upstream_sub *sub = NEW(struct upstream_sub);
    struct arena *a = &sub->arena;

    sub->row = *row;
    sub->row.token = str_is_null(row->token) ? random_hex(a, TOKEN_BYTES) : str_dup(a, row->token);
    sub->row.secret =
        str_is_null(row->secret) ? random_hex(a, SECRET_BYTES) : str_dup(a, row->secret);
    sub->row.base_url = str_dup(a, row->base_url);
    sub->row.hub = str_dup(a, row->hub);
    sub->row.topic = str_dup(a, row->topic);
    snprintf(sub->error, sizeof sub->error, "%.*s", STR_ARG(row->error));
    map_put(&s->by_token, sub->row.token, sub);
    if (sub->row.is_current)
        map_put(&s->by_feed, id_key(&sub->row.feed_id), sub);
    return sub;
}

static void not_current_locked(struct upstream_subs *s, struct upstream_sub *sub)
{
    if (sub->row.is_current)
        map_del(&s->by_feed, id_key(&sub->row.feed_id));
    sub->row.is_current = false;
}

static void free_sub(void *p)
{
    struct upstream_sub *sub = p;

    arena_release(&sub->arena);
    mem_free(sub);
}

/* Remove the row here and from the database. */
static void drop_locked(struct upstream_subs *s, struct upstream_sub *sub)
{
    if (store_upstream_drop(s->store, sub->row.feed_id, sub->row.token) != RC_OK)
        log_debug("fetcher", "upstream_kept", "feed=%" PRId64 " effect=dropped_at_next_start",
                  sub->row.feed_id);
    not_current_locked(s, sub);
    host_turns_leave(&s->turns, &sub->turn);
    time_heap_remove(&s->heap, &sub->node);
    s->n_unsaved -= sub->is_unsaved;
    map_del(&s->by_token, sub->row.token);
    free_sub(sub);
}

static struct upstream_sub *of_feed_locked(struct upstream_subs *s, int64_t feed_id)
{
    return map_get(&s->by_feed, id_key(&feed_id));
}

/* ---- who wants it, and can the hub reach us? ---- */

/* Returns the origin of our callback for this hub; null when the hub cannot reach us. */
static struct str base_locked(const struct upstream_subs *s, struct str hub)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct url_parts parts;
    struct hostport hp;

    if (s->base_url.len > 0)
        return s->base_url;
    if (s->local_url.len > 0 && url_parse(&a, hub, &parts, NULL) == RC_OK &&
        hostport_parse(parts.host, &hp) && hostport_is_loopback(&hp))
        return s->local_url;
    return STR_NULL;
}

/* A feed is wanted while it has subscriptions, and for a while after a reader asked for it. Readers
 * that asked while there were subscriptions do not count. *changed: the row must be saved. */
static bool is_wanted_locked(const struct upstream_subs *s, struct upstream_sub *sub, bool *changed)
{
    struct feed_brief feed;
    int64_t now = clock_now_s();
    bool by_subs;

    *changed = false;
    if (!store_brief(s->store, sub->row.feed_id, &feed))
        return false;
    by_subs = feed.n_subscriptions > 0;
    *changed = by_subs != sub->row.for_subs;
    if (*changed && !by_subs)
        sub->row.ended_at = now;
    sub->row.for_subs = by_subs;
    return by_subs || (feed.wanted_at != TIME_UNKNOWN && feed.wanted_at > sub->row.ended_at &&
                       now - feed.wanted_at <= s->unused_s);
}

/* Replace the subscription by a new one at the hub, with a new token and secret. */
static void ask_anew_locked(struct upstream_subs *s, struct upstream_sub *old, struct str base)
{
    struct upstream row = old->row;
    struct upstream_sub *sub;

    row.token = row.secret = STR_NULL;
    row.base_url = base;
    row.state = UPSTREAM_ASKING;
    row.lease_end_at = TIME_UNKNOWN;
    row.n_errors = 0;
    row.error = STR_NULL;
    row.is_current = true;
    not_current_locked(s, old);
    sub = add_locked(s, &row);
    if (old->row.state == UPSTREAM_ENDING)
        save_locked(s, old, NULL, NULL);
    else
        drop_locked(s, old);
    set_next_locked(s, sub, clock_now_s());
    save_locked(s, sub, NULL, NULL);
}

/* Ask the hub to end the subscription. */
static void end_locked(struct upstream_subs *s, struct upstream_sub *sub, bool stays_known)
{
    bool is_known_there = sub->row.state == UPSTREAM_ACTIVE || sub->is_calling || sub->is_waiting ||
                          sub->row.lease_end_at > clock_now_s();

    if (!stays_known)
        not_current_locked(s, sub);
    sub->is_waiting = false;
    sub->row.n_errors = 0;
    sub->error[0] = '\0';
    if (sub->row.state == UPSTREAM_ENDING || is_known_there) {
        sub->row.state = upstream_next(sub->row.state, UPSTREAM_UNWANTED, true);
        set_next_locked(s, sub, clock_now_s());
        save_locked(s, sub, NULL, NULL);
    } else if (stays_known) {
        sub->row.state = UPSTREAM_IDLE;
        set_next_locked(s, sub, TIME_UNKNOWN);
        save_locked(s, sub, NULL, NULL);
    } else {
        drop_locked(s, sub);
    }
}

/* The hub has confirmed the end, or will not confirm it. */
static void ended_locked(struct upstream_subs *s, struct upstream_sub *sub)
{
    if (!sub->row.is_current) {
        drop_locked(s, sub);
        return;
    }
    sub->row.state = upstream_next(sub->row.state, UPSTREAM_OVER, false);
    sub->row.lease_end_at = TIME_UNKNOWN;
    sub->is_waiting = false;
    set_next_locked(s, sub, TIME_UNKNOWN);
    save_locked(s, sub, NULL, NULL);
}

/* Bring the row in line with what is wanted now. */
static void check_locked(struct upstream_subs *s, struct upstream_sub *sub)
{
    bool changed, wanted = is_wanted_locked(s, sub, &changed);
    struct str base = base_locked(s, sub->row.hub);
    struct feed_brief feed;

    if (!sub->row.is_current)
        return;
    if (!wanted && !store_brief(s->store, sub->row.feed_id, &feed))
        end_locked(s, sub, false);
    else if (!wanted && sub->row.state != UPSTREAM_IDLE && sub->row.state != UPSTREAM_ENDING)
        end_locked(s, sub, true);
    else if (wanted && !str_is_null(base) &&
             (sub->row.state == UPSTREAM_IDLE || sub->row.state == UPSTREAM_ENDING ||
              !str_eq(base, sub->row.base_url)))
        ask_anew_locked(s, sub, base);
    else if (changed)
        save_locked(s, sub, NULL, NULL);
}

/* ---- requests to hubs ---- */

/* The hub did not do what it was asked to do. */
PRINTF_LIKE(3, 4)
static void fail_locked(struct upstream_subs *s, struct upstream_sub *sub, const char *fmt, ...)
{
    int64_t now = clock_now_s(), at;
    bool has_lease;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(sub->error, sizeof sub->error, fmt, ap);
    va_end(ap);
    stats_inc(STAT_upstream_failed_total);
    sub->is_waiting = false;
    sub->row.n_errors++;
    if (sub->row.state == UPSTREAM_ENDING && sub->row.n_errors >= UPSTREAM_ENDINGS_TRIED) {
        ended_locked(s, sub);
        return;
    }
    at = now + upstream_retry_s(sub->row.n_errors);
    has_lease = sub->row.lease_end_at > now;
    sub->row.state = upstream_next(sub->row.state, UPSTREAM_REFUSED, has_lease);
    if (sub->row.state == UPSTREAM_ACTIVE && at > sub->row.lease_end_at)
        at = sub->row.lease_end_at;
    log_info("fetcher", "upstream_failed", "feed=%" PRId64 " hub=%s why=%s", sub->row.feed_id,
             log_quote(sub->row.hub), log_quote(str_from(sub->error)));
    set_next_locked(s, sub, at);
    save_locked(s, sub, NULL, NULL);
}

static void on_answer(void *ctx, const struct upstream_request *req, enum rc rc, struct str why);

static void ask_hub_locked(struct upstream_subs *s, struct upstream_sub *sub)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct upstream_request req = {
        .token = sub->row.token,
        .hub = sub->row.hub,
        .topic = sub->row.topic,
        .callback =
            str_printf(&a, "%.*s/websub/%.*s", STR_ARG(sub->row.base_url), STR_ARG(sub->row.token)),
        .secret = sub->row.secret,
        .lease_s = UPSTREAM_LEASE_S,
        .ends = sub->row.state == UPSTREAM_ENDING,
        .timeout_ms = s->timeout_ms,
        .credential = STR_NULL,
    };
    struct feed given = {.page_url = STR_NULL};

    /* a publisher that is its own hub needs the same credential there */
    given.credential = store_credential(s->store, sub->row.feed_id, &a, &given.url);
    if (job_may_identify(&given, req.hub))
        req.credential = given.credential;
    sub->is_calling = true;
    sub->is_confirmed = false;
    upstream_call_start(s->client, &req, on_answer, s);
}

static void answered_locked(struct upstream_subs *s, struct upstream_sub *sub, bool ends,
                            struct str why)
{
    int64_t until = clock_now_s() + VERIFY_WAIT_S;

    sub->is_calling = false;
    if (ends != (sub->row.state == UPSTREAM_ENDING)) { /* in the meantime the opposite is wanted */
        set_next_locked(s, sub, sub->row.state == UPSTREAM_IDLE ? TIME_UNKNOWN : clock_now_s());
    } else if (!str_is_null(why)) {
        fail_locked(s, sub, "%.*s", STR_ARG(why));
    } else if (sub->is_confirmed) {
        set_next_locked(s, sub, sub->row.next_at);
    } else {
        sub->is_waiting = true;
        if (sub->row.state == UPSTREAM_ACTIVE && sub->row.lease_end_at < until)
            until = sub->row.lease_end_at;
        set_next_locked(s, sub, until);
        save_locked(s, sub, NULL, NULL);
    }
}

static void on_answer(void *ctx, const struct upstream_request *req, enum rc rc, struct str why)
{
    struct upstream_subs *s = ctx;
    struct upstream_sub *sub;

    pthread_mutex_lock(&s->lock);
    host_turns_done(&s->turns, req->hub, rc == RC_OK);
    sub = map_get(&s->by_token, req->token);
    if (sub != NULL && rc != RC_CLOSED)
        answered_locked(s, sub, req->ends, why);
    kick_locked(s);
    pthread_mutex_unlock(&s->lock);
}

/* ---- time ---- */

static void step_locked(struct upstream_subs *s, struct upstream_sub *sub)
{
    bool was_waiting = sub->is_waiting;

    sub->is_waiting = false;
    if (sub->row.state == UPSTREAM_ACTIVE && sub->row.lease_end_at <= clock_now_s()) {
        sub->row.state = upstream_next(sub->row.state, UPSTREAM_EXPIRED, false);
        snprintf(sub->error, sizeof sub->error, "the lease ended before the hub renewed it");
        save_locked(s, sub, NULL, NULL);
    }
    if (was_waiting) {
        fail_locked(s, sub, "the hub accepted the request but did not verify it");
    } else if (sub->row.state == UPSTREAM_IDLE) {
        set_next_locked(s, sub, TIME_UNKNOWN);
    } else {
        time_heap_remove(&s->heap, &sub->node);
        host_turns_wait(&s->turns, &sub->turn, sub->row.hub);
    }
}

static void save_again_locked(struct upstream_subs *s)
{
    void *it = NULL, *value;
    struct str key;

    while (s->n_unsaved > 0 && map_next(&s->by_token, &it, &key, &value)) {
        struct upstream_sub *sub = value;

        if (sub->is_unsaved && !save_locked(s, sub, NULL, NULL))
            return;
    }
}

static void on_timer(void *ctx)
{
    struct upstream_subs *s = ctx;

    s->timer = NULL;
    on_turn(s);
}

static void arm_locked(struct upstream_subs *s)
{
    const struct time_node *first = time_heap_first(&s->heap);
    int64_t ms = SLEEP_MAX_S * (int64_t)1000;

    if (s->timer != NULL)
        loop_timer_cancel(&s->timer);
    if (first != NULL) {
        int64_t left_us = first->at * 1000000 - clock_now_us();

        if (left_us < ms * 1000)
            ms = left_us < 0 ? 0 : left_us / 1000 + 1;
    }
    if (s->n_unsaved > 0 && ms > SAVE_RETRY_MS)
        ms = SAVE_RETRY_MS;
    s->timer = loop_timer_start(s->loop, ms, on_timer, s);
}

/* The timer fired: do what is due. Runs on the loop. */
static void on_turn(void *ctx)
{
    struct upstream_subs *s = ctx;
    struct time_node *first;
    struct host_turn *turn;

    pthread_mutex_lock(&s->lock);
    s->is_kicked = true; /* changes below need no further wake-up */
    if (s->client != NULL) {
        save_again_locked(s);
        while ((first = time_heap_first(&s->heap)) != NULL && first->at <= clock_now_s())
            step_locked(s, CONTAINER_OF(first, struct upstream_sub, node));
        while ((turn = host_turns_next(&s->turns)) != NULL)
            ask_hub_locked(s, CONTAINER_OF(turn, struct upstream_sub, turn));
        arm_locked(s);
    }
    s->is_kicked = false;
    pthread_mutex_unlock(&s->lock);
}

/* ---- what comes in ---- */

static bool is_listed(const struct upstream_links *links, struct str hub)
{
    for (size_t i = 0; i < links->n; i++)
        if (str_eq(links->hubs[i], hub))
            return true;
    return false;
}

static void take_links_locked(struct upstream_subs *s, int64_t feed_id,
                              const struct upstream_links *links)
{
    struct upstream_sub *sub = of_feed_locked(s, feed_id);
    struct upstream row = {.feed_id = feed_id,
                           .is_current = true,
                           .base_url = STR(""),
                           .topic = links->topic,
                           .from_page = links->from_page,
                           .state = UPSTREAM_IDLE,
                           .lease_end_at = TIME_UNKNOWN,
                           .next_at = TIME_UNKNOWN,
                           .ended_at = TIME_UNKNOWN,
                           .delivered_at = TIME_UNKNOWN};
    bool has_failed = sub != NULL && links->n > 1 && sub->row.state == UPSTREAM_FAILED &&
                      sub->row.n_errors >= UPSTREAM_OTHER_HUB_AFTER;

    /* the feed itself says nothing about hubs, so the hub of its page is kept */
    if (links->n == 0) {
        if (sub != NULL && !sub->row.from_page)
            end_locked(s, sub, false);
        return;
    }
    if (sub != NULL && !has_failed && is_listed(links, sub->row.hub) &&
        str_eq(links->topic, sub->row.topic))
        return;
    row.hub = upstream_choose_hub(links->hubs, links->n, has_failed ? sub->row.hub : STR_NULL);
    if (sub != NULL) {
        row.ended_at = sub->row.ended_at;
        row.for_subs = sub->row.for_subs;
        end_locked(s, sub, false);
    }
    save_locked(s, add_locked(s, &row), NULL, NULL);
}

void upstream_subs_found(struct upstream_subs *s, int64_t feed_id,
                         const struct upstream_links *links)
{
    struct upstream_sub *sub;

    pthread_mutex_lock(&s->lock);
    if (links->read)
        take_links_locked(s, feed_id, links);
    sub = of_feed_locked(s, feed_id);
    if (sub != NULL)
        check_locked(s, sub);
    pthread_mutex_unlock(&s->lock);
}

/* The feed was merged into another one. */
static void move_locked(struct upstream_subs *s, struct upstream_sub *sub, int64_t to)
{
    if (of_feed_locked(s, to) != NULL) {
        end_locked(s, sub, false);
        return;
    }
    map_del(&s->by_feed, id_key(&sub->row.feed_id));
    sub->row.feed_id = to;
    map_put(&s->by_feed, id_key(&sub->row.feed_id), sub);
    save_locked(s, sub, NULL, NULL);
}

void upstream_subs_notice(struct upstream_subs *s, const struct commit_notice *notice)
{
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < notice->n_feeds && map_count(&s->by_feed) > 0; i++) {
        const struct feed_notice *feed = &notice->feeds[i];
        struct upstream_sub *sub = of_feed_locked(s, feed->feed_id);

        if (sub != NULL && feed->merged_into != 0)
            move_locked(s, sub, feed->merged_into);
        else if (sub != NULL)
            check_locked(s, sub);
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- what hubs ask ---- */

struct confirmation {
    upstream_done_fn *done;
    void *ctx;
};

/* The storer's thread. */
static void on_saved(void *ctx, enum rc rc, const struct store_result *res UNUSED,
                     const struct err *err UNUSED)
{
    struct confirmation *c = ctx;

    c->done(c->ctx, rc == RC_OK ? VERDICT_TAKEN : VERDICT_BUSY);
    mem_free(c);
}

static enum upstream_verdict save_and_confirm_locked(struct upstream_subs *s,
                                                     struct upstream_sub *sub,
                                                     upstream_done_fn *done, void *ctx)
{
    struct confirmation *c = NEW(struct confirmation);

    *c = (struct confirmation){done, ctx};
    if (save_locked(s, sub, on_saved, c))
        return VERDICT_PENDING;
    mem_free(c);
    return VERDICT_BUSY;
}

static void verified_locked(struct upstream_subs *s, struct upstream_sub *sub, int64_t lease)
{
    int64_t now = clock_now_s();

    sub->row.state = upstream_next(sub->row.state, UPSTREAM_VERIFIED, true);
    sub->row.lease_end_at = now + lease;
    sub->row.n_errors = 0;
    sub->error[0] = '\0';
    sub->is_waiting = false;
    sub->is_confirmed = true;
    stats_inc(STAT_upstream_verified_total);
    set_next_locked(s, sub, now + upstream_renew_s(lease));
}

static void denied_locked(struct upstream_subs *s, struct upstream_sub *sub, struct str reason)
{
    struct str shown = upstream_said(reason, sub->row.token, sub->row.secret);

    sub->row.lease_end_at = TIME_UNKNOWN;
    sub->is_confirmed = true;
    fail_locked(s, sub, "the hub denied it%s%.*s", shown.len > 0 ? ": " : "", STR_ARG(shown));
    if (sub->row.n_errors < UPSTREAM_OTHER_HUB_AFTER)
        sub->row.n_errors = UPSTREAM_OTHER_HUB_AFTER; /* so that another hub may be used at once */
    set_next_locked(s, sub, clock_now_s() + DAY_S);
}

enum upstream_verdict upstream_subs_verify(struct upstream_subs *s,
                                           const struct upstream_verification *v,
                                           upstream_done_fn *done, void *ctx)
{
    struct upstream_sub *sub;
    bool is_asked;
    enum upstream_verdict verdict = VERDICT_UNKNOWN;

    pthread_mutex_lock(&s->lock);
    sub = map_get(&s->by_token, v->token);
    if (sub == NULL || !str_eq(v->topic, sub->row.topic)) {
        pthread_mutex_unlock(&s->lock);
        return VERDICT_UNKNOWN;
    }
    is_asked = upstream_is_asked(sub->row.state);
    if (str_eqz(v->mode, "subscribe") && is_asked) {
        verified_locked(s, sub, upstream_lease_s(v->lease));
        verdict = save_and_confirm_locked(s, sub, done, ctx);
    } else if (str_eqz(v->mode, "unsubscribe") && !is_asked) {
        if (sub->row.state == UPSTREAM_ENDING)
            ended_locked(s, sub);
        verdict = VERDICT_TAKEN;
    } else if (str_eqz(v->mode, "denied")) {
        if (is_asked) {
            denied_locked(s, sub, v->reason);
            verdict = save_and_confirm_locked(s, sub, done, ctx);
        } else {
            verdict = VERDICT_TAKEN;
        }
    }
    pthread_mutex_unlock(&s->lock);
    return verdict;
}

enum upstream_verdict upstream_subs_admit(struct upstream_subs *s, struct str token,
                                          struct arena *a, struct upstream_key *out)
{
    struct upstream_sub *sub;
    enum upstream_verdict verdict = VERDICT_TAKEN;

    pthread_mutex_lock(&s->lock);
    sub = map_get(&s->by_token, token);
    if (sub == NULL)
        verdict = VERDICT_UNKNOWN;
    else if (!upstream_is_asked(sub->row.state))
        verdict = VERDICT_ENDED;
    else
        *out = (struct upstream_key){sub->row.feed_id, str_dup(a, sub->row.topic),
                                     str_dup(a, sub->row.secret)};
    pthread_mutex_unlock(&s->lock);
    return verdict;
}

/* ---- life ---- */

struct upstream_subs *upstream_subs_new(struct store *store, struct loop *loop,
                                        const struct upstream_subs_cfg *cfg)
{
    struct upstream_subs *s = NEW(struct upstream_subs);

    s->store = store;
    s->loop = loop;
    s->turns = (struct host_turns){.max = 32, .max_host = 4}; /* requests at once */
    pthread_mutex_init(&s->lock, NULL);
    upstream_subs_set(s, cfg);
    return s;
}

enum rc upstream_subs_load(struct upstream_subs *s, struct reader *r, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct upstream *rows;
    size_t n;
    enum rc rc = reader_upstreams(r, &a, &rows, &n, err);

    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; rc == RC_OK && i < n; i++) {
        struct upstream_sub *sub = add_locked(s, &rows[i]);

        if (!sub->row.is_current && sub->row.state != UPSTREAM_ENDING)
            drop_locked(s, sub); /* the storer had no room to delete it before */
        else
            set_next_locked(s, sub, sub->row.next_at);
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* Check all rows. They are listed first, because a check may add and remove rows. */
static void check_all_locked(struct upstream_subs *s)
{
    struct upstream_sub **list =
        mem_alloc((map_count(&s->by_feed) + 1) * sizeof(struct upstream_sub *));
    void *it = NULL, *value;
    struct str key;
    size_t n = 0;

    while (map_next(&s->by_feed, &it, &key, &value))
        list[n++] = value;
    for (size_t i = 0; i < n; i++)
        check_locked(s, list[i]);
    mem_free(list);
}

void upstream_subs_local(struct upstream_subs *s, struct str url)
{
    pthread_mutex_lock(&s->lock);
    s->local_url = str_dup(&s->arena, url);
    pthread_mutex_unlock(&s->lock);
}

void upstream_subs_set(struct upstream_subs *s, const struct upstream_subs_cfg *cfg)
{
    struct str base = str_trim(cfg->base_url);

    while (str_ends(base, STR("/")))
        base.len--;
    pthread_mutex_lock(&s->lock);
    s->unused_s = cfg->unused_s;
    s->timeout_ms = cfg->timeout_ms;
    if (!str_eq(base, s->base_url)) {
        s->base_url = str_dup(&s->arena, base);
        if (s->client != NULL)
            check_all_locked(s);
    }
    pthread_mutex_unlock(&s->lock);
}

void upstream_subs_run(struct upstream_subs *s, struct http_client *client)
{
    pthread_mutex_lock(&s->lock);
    s->client = client;
    check_all_locked(s); /* readers and subscriptions may have changed before the last stop */
    kick_locked(s);
    pthread_mutex_unlock(&s->lock);
}

void upstream_subs_stop(struct upstream_subs *s)
{
    pthread_mutex_lock(&s->lock);
    s->client = NULL;
    pthread_mutex_unlock(&s->lock);
    if (s->timer != NULL)
        loop_timer_cancel(&s->timer);
}

void upstream_subs_free(struct upstream_subs **sp)
{
    struct upstream_subs *s = *sp;

    if (s == NULL)
        return;
    map_release(&s->by_feed, NULL);
    map_release(&s->by_token, free_sub);
    host_turns_release(&s->turns);
    time_heap_release(&s->heap);
    arena_release(&s->arena);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
    *sp = NULL;
}
