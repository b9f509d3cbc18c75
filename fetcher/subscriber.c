/* fetcher/subscriber.c - see subscriber.h.
 *
 * A row is asked for when its feed is wanted and the hub can reach us, renewed before its lease
 * ends, and ended at the hub when nobody wants the feed any more or another hub takes its place. A
 * new subscription has a new token and secret; a renewal keeps them, so that no delivery falls
 * between. */
#include "fetcher/subscriber.h"

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
#include "fetcher/hub_call.h"
#include "fetcher/job.h"
#include "fetcher/time_heap.h"
#include "net/host_turns.h"
#include "net/url.h"

#define TOKEN_BYTES 20       /* 160 random bits */
#define SECRET_BYTES 32      /* 64 characters; a hub takes fewer than 200 */
#define LEASE_ASKED_S 864000 /* ten days; the hub decides */
#define LEASE_MOST_S 31536000
#define VERIFY_WAIT_S 600 /* a hub that took a request verifies it within */
#define RETRY_S 30        /* doubles with each failure, up to a day */
#define DAY_S 86400
#define OTHER_HUB_AFTER 3 /* failures, when the publisher names another one */
#define ENDINGS_TRIED 5   /* then the lease will end it */
#define SLEEP_MAX_S 60    /* wall time may be set while we sleep */
#define SAVE_RETRY_MS 500
#define REASON_TEXT 200

struct follow {
    struct upstream row; /* strings in `arena`, but the error */
    struct arena arena;
    char error[REASON_TEXT];
    struct time_node node; /* row.next_at, while no call is in flight */
    struct host_turn turn; /* it is time, and others are before it */
    bool is_calling;
    bool is_waiting;   /* the hub took the request and has not verified it yet */
    bool is_confirmed; /* it has, while the call was in flight */
    bool is_unsaved;   /* the storer had no room */
};

struct subscriber {
    struct store *store;
    struct loop *loop;

    pthread_mutex_t lock; /* guards what follows */
    struct map by_token;  /* struct follow */
    struct map by_feed;   /* those that are current, by feed id */
    struct time_heap heap;
    struct host_turns turns;
    struct arena arena; /* the next two; a reload adds to it */
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

static void kick_locked(struct subscriber *s)
{
    if (s->is_kicked || s->client == NULL)
        return;
    s->is_kicked = true;
    loop_post(s->loop, on_turn, s);
}

static void set_next_locked(struct subscriber *s, struct follow *f, int64_t at)
{
    host_turns_leave(&s->turns, &f->turn);
    f->row.next_at = at;
    if (at == TIME_UNKNOWN || f->is_calling)
        time_heap_remove(&s->heap, &f->node);
    else
        time_heap_put(&s->heap, &f->node, at);
    if (time_heap_first(&s->heap) == &f->node)
        kick_locked(s);
}

/* Put the row into the database; false when the storer has no room: tried again. */
static bool save_locked(struct subscriber *s, struct follow *f, store_done_fn *done, void *ctx)
{
    enum rc rc;

    f->row.error = f->error[0] == '\0' ? STR_NULL : str_from(f->error);
    rc = store_upstream_put(s->store, &f->row, done, ctx);
    s->n_unsaved -= f->is_unsaved;
    f->is_unsaved = rc == RC_FULL && done == NULL;
    s->n_unsaved += f->is_unsaved;
    if (f->is_unsaved)
        kick_locked(s);
    return rc == RC_OK;
}

static struct follow *add_locked(struct subscriber *s, const struct upstream *row)
{
    struct follow *f = NEW(struct follow);
    struct arena *a = &f->arena;

    f->row = *row;
    f->row.token = str_is_null(row->token) ? random_hex(a, TOKEN_BYTES) : str_dup(a, row->token);
    f->row.secret =
        str_is_null(row->secret) ? random_hex(a, SECRET_BYTES) : str_dup(a, row->secret);
    f->row.base_url = str_dup(a, row->base_url);
    f->row.hub = str_dup(a, row->hub);
    f->row.topic = str_dup(a, row->topic);
    snprintf(f->error, sizeof f->error, "%.*s", STR_ARG(row->error));
    map_put(&s->by_token, f->row.token, f);
    if (f->row.is_current)
        map_put(&s->by_feed, id_key(&f->row.feed_id), f);
    return f;
}

static void not_current_locked(struct subscriber *s, struct follow *f)
{
    if (f->row.is_current)
        map_del(&s->by_feed, id_key(&f->row.feed_id));
    f->row.is_current = false;
}

static void free_follow(void *p)
{
    struct follow *f = p;

    arena_release(&f->arena);
    mem_free(f);
}

/* Forget it, here and in the database. */
static void drop_locked(struct subscriber *s, struct follow *f)
{
    if (store_upstream_drop(s->store, f->row.token) != RC_OK)
        log_debug("fetcher", "hub_kept", "feed=%" PRId64 " effect=dropped_at_next_start",
                  f->row.feed_id);
    not_current_locked(s, f);
    host_turns_leave(&s->turns, &f->turn);
    time_heap_remove(&s->heap, &f->node);
    s->n_unsaved -= f->is_unsaved;
    map_del(&s->by_token, f->row.token);
    free_follow(f);
}

static struct follow *of_feed_locked(struct subscriber *s, int64_t feed_id)
{
    return map_get(&s->by_feed, id_key(&feed_id));
}

/* ---- who wants it, and can the hub reach us? ---- */

/* Where the hub is to call back; null: it cannot. */
static struct str base_locked(const struct subscriber *s, struct str hub)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct url_parts parts;

    if (s->base_url.len > 0)
        return s->base_url;
    if (s->local_url.len > 0 && url_parse(&a, hub, &parts, NULL) == RC_OK &&
        (str_starts(parts.host, STR("127.")) || str_eqz(parts.host, "localhost") ||
         str_eqz(parts.host, "[::1]")))
        return s->local_url;
    return STR_NULL;
}

/* Subscriptions want their feeds. Readers do for a while; but those of the time when there was a
 * subscription do not keep it alive. *changed: the row is to be saved. */
static bool is_wanted_locked(const struct subscriber *s, struct follow *f, bool *changed)
{
    struct feed_brief feed;
    int64_t now = clock_now_s();
    bool by_subs;

    *changed = false;
    if (!store_brief(s->store, f->row.feed_id, &feed))
        return false;
    by_subs = feed.n_subscriptions > 0;
    *changed = by_subs != f->row.for_subs;
    if (*changed && !by_subs)
        f->row.ended_at = now;
    f->row.for_subs = by_subs;
    return by_subs || (feed.wanted_at != TIME_UNKNOWN && feed.wanted_at > f->row.ended_at &&
                       now - feed.wanted_at <= s->unused_s);
}

/* A subscription at a hub in the place of what was known of it, with a token and secret of its own.
 */
static void ask_anew_locked(struct subscriber *s, struct follow *old, struct str base)
{
    struct upstream row = old->row;
    struct follow *f;

    row.token = row.secret = STR_NULL;
    row.base_url = base;
    row.state = UPSTREAM_ASKING;
    row.lease_end_at = TIME_UNKNOWN;
    row.n_errors = 0;
    row.error = STR_NULL;
    row.is_current = true;
    not_current_locked(s, old);
    f = add_locked(s, &row);
    if (old->row.state == UPSTREAM_ENDING)
        save_locked(s, old, NULL, NULL);
    else
        drop_locked(s, old);
    set_next_locked(s, f, clock_now_s());
    save_locked(s, f, NULL, NULL);
}

/* Tell the hub that we want no more. */
static void end_locked(struct subscriber *s, struct follow *f, bool stays_known)
{
    bool is_known_there = f->row.state == UPSTREAM_ACTIVE || f->is_calling || f->is_waiting ||
                          f->row.lease_end_at > clock_now_s();

    if (!stays_known)
        not_current_locked(s, f);
    f->is_waiting = false;
    f->row.n_errors = 0;
    f->error[0] = '\0';
    if (f->row.state == UPSTREAM_ENDING || is_known_there) {
        f->row.state = UPSTREAM_ENDING;
        set_next_locked(s, f, clock_now_s());
        save_locked(s, f, NULL, NULL);
    } else if (stays_known) {
        f->row.state = UPSTREAM_IDLE;
        set_next_locked(s, f, TIME_UNKNOWN);
        save_locked(s, f, NULL, NULL);
    } else {
        drop_locked(s, f);
    }
}

/* The hub has confirmed the end, or will not. */
static void ended_locked(struct subscriber *s, struct follow *f)
{
    if (!f->row.is_current) {
        drop_locked(s, f);
        return;
    }
    f->row.state = UPSTREAM_IDLE;
    f->row.lease_end_at = TIME_UNKNOWN;
    f->is_waiting = false;
    set_next_locked(s, f, TIME_UNKNOWN);
    save_locked(s, f, NULL, NULL);
}

/* Bring a row to what is wanted now. */
static void check_locked(struct subscriber *s, struct follow *f)
{
    bool changed, wanted = is_wanted_locked(s, f, &changed);
    struct str base = base_locked(s, f->row.hub);
    struct feed_brief feed;

    if (!f->row.is_current)
        return;
    if (!wanted && !store_brief(s->store, f->row.feed_id, &feed))
        end_locked(s, f, false);
    else if (!wanted && f->row.state != UPSTREAM_IDLE && f->row.state != UPSTREAM_ENDING)
        end_locked(s, f, true);
    else if (wanted && !str_is_null(base) &&
             (f->row.state == UPSTREAM_IDLE || f->row.state == UPSTREAM_ENDING ||
              !str_eq(base, f->row.base_url)))
        ask_anew_locked(s, f, base);
    else if (changed)
        save_locked(s, f, NULL, NULL);
}

/* ---- requests to hubs ---- */

static int64_t retry_s(int n_errors)
{
    int64_t wait = RETRY_S;

    while (--n_errors > 0 && wait < DAY_S)
        wait *= 2;
    return wait < DAY_S ? wait : DAY_S;
}

/* What was asked of the hub did not come to pass. */
PRINTF_LIKE(3, 4)
static void fail_locked(struct subscriber *s, struct follow *f, const char *fmt, ...)
{
    int64_t now = clock_now_s(), at;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(f->error, sizeof f->error, fmt, ap);
    va_end(ap);
    stats_inc(STAT_hub_failed_total);
    f->is_waiting = false;
    f->row.n_errors++;
    if (f->row.state == UPSTREAM_ENDING && f->row.n_errors >= ENDINGS_TRIED) {
        ended_locked(s, f);
        return;
    }
    at = now + retry_s(f->row.n_errors);
    if (f->row.state == UPSTREAM_ACTIVE && f->row.lease_end_at > now) {
        if (at > f->row.lease_end_at)
            at = f->row.lease_end_at;
    } else if (f->row.state != UPSTREAM_ENDING) {
        f->row.state = UPSTREAM_FAILED;
    }
    log_info("fetcher", "hub_failed", "feed=%" PRId64 " hub=%s why=%s", f->row.feed_id,
             log_quote(f->row.hub), log_quote(str_from(f->error)));
    set_next_locked(s, f, at);
    save_locked(s, f, NULL, NULL);
}

static void on_answer(void *ctx, const struct hub_request *req, enum rc rc, struct str why);

static void ask_hub_locked(struct subscriber *s, struct follow *f)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct hub_request req = {
        .token = f->row.token,
        .hub = f->row.hub,
        .topic = f->row.topic,
        .callback =
            str_printf(&a, "%.*s/websub/%.*s", STR_ARG(f->row.base_url), STR_ARG(f->row.token)),
        .secret = f->row.secret,
        .lease_s = LEASE_ASKED_S,
        .ends = f->row.state == UPSTREAM_ENDING,
        .timeout_ms = s->timeout_ms,
        .credential = STR_NULL,
    };
    struct feed_record given = {.page_url = STR_NULL};

    /* a publisher that is its own hub asks for the same there */
    given.credential = store_credential(s->store, f->row.feed_id, &a, &given.url);
    if (job_may_identify(&given, req.hub))
        req.credential = given.credential;
    f->is_calling = true;
    f->is_confirmed = false;
    hub_call_start(s->client, &req, on_answer, s);
}

static void answered_locked(struct subscriber *s, struct follow *f, bool ends, struct str why)
{
    int64_t until = clock_now_s() + VERIFY_WAIT_S;

    f->is_calling = false;
    if (ends != (f->row.state == UPSTREAM_ENDING)) { /* it is wanted otherwise by now */
        set_next_locked(s, f, f->row.state == UPSTREAM_IDLE ? TIME_UNKNOWN : clock_now_s());
    } else if (!str_is_null(why)) {
        fail_locked(s, f, "%.*s", STR_ARG(why));
    } else if (f->is_confirmed) {
        set_next_locked(s, f, f->row.next_at);
    } else {
        f->is_waiting = true;
        if (f->row.state == UPSTREAM_ACTIVE && f->row.lease_end_at < until)
            until = f->row.lease_end_at;
        set_next_locked(s, f, until);
        save_locked(s, f, NULL, NULL);
    }
}

static void on_answer(void *ctx, const struct hub_request *req, enum rc rc, struct str why)
{
    struct subscriber *s = ctx;
    struct follow *f;

    pthread_mutex_lock(&s->lock);
    host_turns_done(&s->turns, req->hub, rc == RC_OK);
    f = map_get(&s->by_token, req->token);
    if (f != NULL && rc != RC_CLOSED)
        answered_locked(s, f, req->ends, why);
    kick_locked(s);
    pthread_mutex_unlock(&s->lock);
}

/* ---- time ---- */

static void step_locked(struct subscriber *s, struct follow *f)
{
    bool was_waiting = f->is_waiting;

    f->is_waiting = false;
    if (f->row.state == UPSTREAM_ACTIVE && f->row.lease_end_at <= clock_now_s()) {
        f->row.state = UPSTREAM_FAILED;
        snprintf(f->error, sizeof f->error, "the lease ended before the hub renewed it");
        save_locked(s, f, NULL, NULL);
    }
    if (was_waiting) {
        fail_locked(s, f, "the hub took the request, and has not verified it");
    } else if (f->row.state == UPSTREAM_IDLE) {
        set_next_locked(s, f, TIME_UNKNOWN);
    } else {
        time_heap_remove(&s->heap, &f->node);
        host_turns_wait(&s->turns, &f->turn, f->row.hub);
    }
}

static void save_again_locked(struct subscriber *s)
{
    void *it = NULL, *value;
    struct str key;

    while (s->n_unsaved > 0 && map_next(&s->by_token, &it, &key, &value)) {
        struct follow *f = value;

        if (f->is_unsaved && !save_locked(s, f, NULL, NULL))
            return;
    }
}

static void on_timer(void *ctx)
{
    struct subscriber *s = ctx;

    s->timer = NULL;
    on_turn(s);
}

static void arm_locked(struct subscriber *s)
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

/* The loop's turn: what is due. */
static void on_turn(void *ctx)
{
    struct subscriber *s = ctx;
    struct time_node *first;
    struct host_turn *turn;

    pthread_mutex_lock(&s->lock);
    s->is_kicked = true; /* what follows needs no further turn */
    if (s->client != NULL) {
        save_again_locked(s);
        while ((first = time_heap_first(&s->heap)) != NULL && first->at <= clock_now_s())
            step_locked(s, CONTAINER_OF(first, struct follow, node));
        while ((turn = host_turns_next(&s->turns)) != NULL)
            ask_hub_locked(s, CONTAINER_OF(turn, struct follow, turn));
        arm_locked(s);
    }
    s->is_kicked = false;
    pthread_mutex_unlock(&s->lock);
}

/* ---- what comes in ---- */

static bool is_listed(const struct hub_links *links, struct str hub)
{
    for (size_t i = 0; i < links->n; i++)
        if (str_eq(links->hubs[i], hub))
            return true;
    return false;
}

/* The first hub; behind one that failed often the next in turn. */
static struct str choose_hub(const struct hub_links *links, struct str failed)
{
    for (size_t i = 0; i < links->n; i++)
        if (str_eq(links->hubs[i], failed))
            return links->hubs[(i + 1) % links->n];
    return links->hubs[0];
}

static void take_links_locked(struct subscriber *s, int64_t feed_id, const struct hub_links *links)
{
    struct follow *f = of_feed_locked(s, feed_id);
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
    bool has_failed = f != NULL && links->n > 1 && f->row.state == UPSTREAM_FAILED &&
                      f->row.n_errors >= OTHER_HUB_AFTER;

    if (links->n == 0) { /* the feed itself is silent on what its page said */
        if (f != NULL && !f->row.from_page)
            end_locked(s, f, false);
        return;
    }
    if (f != NULL && !has_failed && is_listed(links, f->row.hub) &&
        str_eq(links->topic, f->row.topic))
        return;
    row.hub = choose_hub(links, has_failed ? f->row.hub : STR_NULL);
    if (f != NULL) {
        row.ended_at = f->row.ended_at;
        row.for_subs = f->row.for_subs;
        end_locked(s, f, false);
    }
    save_locked(s, add_locked(s, &row), NULL, NULL);
}

void subscriber_found(struct subscriber *s, int64_t feed_id, const struct hub_links *links)
{
    struct follow *f;

    pthread_mutex_lock(&s->lock);
    if (links->read)
        take_links_locked(s, feed_id, links);
    f = of_feed_locked(s, feed_id);
    if (f != NULL)
        check_locked(s, f);
    pthread_mutex_unlock(&s->lock);
}

/* The record became part of another one. */
static void move_locked(struct subscriber *s, struct follow *f, int64_t to)
{
    if (of_feed_locked(s, to) != NULL) {
        end_locked(s, f, false);
        return;
    }
    map_del(&s->by_feed, id_key(&f->row.feed_id));
    f->row.feed_id = to;
    map_put(&s->by_feed, id_key(&f->row.feed_id), f);
    save_locked(s, f, NULL, NULL);
}

void subscriber_notice(struct subscriber *s, const struct commit_notice *notice)
{
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < notice->n_feeds && map_count(&s->by_feed) > 0; i++) {
        const struct feed_notice *feed = &notice->feeds[i];
        struct follow *f = of_feed_locked(s, feed->feed_id);

        if (f != NULL && feed->merged_into != 0)
            move_locked(s, f, feed->merged_into);
        else if (f != NULL)
            check_locked(s, f);
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- what hubs ask ---- */

struct confirmation {
    hub_done_fn *done;
    void *ctx;
};

/* The storer's thread. */
static void on_saved(void *ctx, enum rc rc, const struct store_result *res UNUSED,
                     const struct err *err UNUSED)
{
    struct confirmation *c = ctx;

    c->done(c->ctx, rc == RC_OK ? 200 : 503);
    mem_free(c);
}

static int save_and_confirm_locked(struct subscriber *s, struct follow *f, hub_done_fn *done,
                                   void *ctx)
{
    struct confirmation *c = NEW(struct confirmation);

    *c = (struct confirmation){done, ctx};
    if (save_locked(s, f, on_saved, c))
        return 0;
    mem_free(c);
    return 503;
}

static int64_t lease_of(struct str text)
{
    int64_t lease;

    if (!str_to_i64(str_trim(text), &lease) || lease <= 0)
        return LEASE_ASKED_S; /* left out by hubs of PubSubHubbub 0.3 */
    return lease < LEASE_MOST_S ? lease : LEASE_MOST_S;
}

static void verified_locked(struct subscriber *s, struct follow *f, int64_t lease)
{
    int64_t now = clock_now_s(), before = lease / 3 < DAY_S ? lease / 3 : DAY_S;

    f->row.state = UPSTREAM_ACTIVE;
    f->row.lease_end_at = now + lease;
    f->row.n_errors = 0;
    f->error[0] = '\0';
    f->is_waiting = false;
    f->is_confirmed = true;
    stats_inc(STAT_hub_verified_total);
    set_next_locked(s, f, now + lease - (before > 0 ? before : lease > 1));
}

static void denied_locked(struct subscriber *s, struct follow *f, struct str reason)
{
    struct str shown = hub_said(reason, f->row.token, f->row.secret);

    f->row.lease_end_at = TIME_UNKNOWN;
    f->is_confirmed = true;
    fail_locked(s, f, "the hub denied it%s%.*s", shown.len > 0 ? ": " : "", STR_ARG(shown));
    if (f->row.n_errors < OTHER_HUB_AFTER)
        f->row.n_errors = OTHER_HUB_AFTER; /* another hub need not wait for more */
    set_next_locked(s, f, clock_now_s() + DAY_S);
}

int subscriber_verify(struct subscriber *s, const struct hub_verification *v, hub_done_fn *done,
                      void *ctx)
{
    struct follow *f;
    bool is_asked;
    int status = 404;

    pthread_mutex_lock(&s->lock);
    f = map_get(&s->by_token, v->token);
    if (f == NULL || !str_eq(v->topic, f->row.topic)) {
        pthread_mutex_unlock(&s->lock);
        return 404;
    }
    is_asked = f->row.state == UPSTREAM_ASKING || f->row.state == UPSTREAM_ACTIVE ||
               f->row.state == UPSTREAM_FAILED;
    if (str_eqz(v->mode, "subscribe") && is_asked) {
        verified_locked(s, f, lease_of(v->lease));
        status = save_and_confirm_locked(s, f, done, ctx);
    } else if (str_eqz(v->mode, "unsubscribe") && !is_asked) {
        if (f->row.state == UPSTREAM_ENDING)
            ended_locked(s, f);
        status = 200;
    } else if (str_eqz(v->mode, "denied")) {
        if (is_asked) {
            denied_locked(s, f, v->reason);
            status = save_and_confirm_locked(s, f, done, ctx);
        } else {
            status = 200;
        }
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

int subscriber_admit(struct subscriber *s, struct str token, struct arena *a,
                     struct upstream_key *out)
{
    struct follow *f;
    int status = 0;

    pthread_mutex_lock(&s->lock);
    f = map_get(&s->by_token, token);
    if (f == NULL)
        status = 404;
    else if (f->row.state == UPSTREAM_IDLE || f->row.state == UPSTREAM_ENDING)
        status = 410;
    else
        *out = (struct upstream_key){f->row.feed_id, str_dup(a, f->row.topic),
                                     str_dup(a, f->row.secret)};
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* ---- life ---- */

struct subscriber *subscriber_new(struct store *store, struct loop *loop,
                                  const struct subscriber_cfg *cfg)
{
    struct subscriber *s = NEW(struct subscriber);

    s->store = store;
    s->loop = loop;
    s->turns = (struct host_turns){.max = 32, .max_host = 4}; /* requests at once */
    pthread_mutex_init(&s->lock, NULL);
    subscriber_set(s, cfg);
    return s;
}

enum rc subscriber_load(struct subscriber *s, struct reader *r, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct upstream *rows;
    size_t n;
    enum rc rc = reader_upstreams(r, &a, &rows, &n, err);

    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; rc == RC_OK && i < n; i++) {
        struct follow *f = add_locked(s, &rows[i]);

        if (!f->row.is_current && f->row.state != UPSTREAM_ENDING)
            drop_locked(s, f); /* the storer had no room for that */
        else
            set_next_locked(s, f, f->row.next_at);
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* Check all: with a list, for a check may add and drop rows. */
static void check_all_locked(struct subscriber *s)
{
    struct follow **list = mem_alloc((map_count(&s->by_feed) + 1) * sizeof(struct follow *));
    void *it = NULL, *value;
    struct str key;
    size_t n = 0;

    while (map_next(&s->by_feed, &it, &key, &value))
        list[n++] = value;
    for (size_t i = 0; i < n; i++)
        check_locked(s, list[i]);
    mem_free(list);
}

void subscriber_local(struct subscriber *s, struct str url)
{
    pthread_mutex_lock(&s->lock);
    s->local_url = str_dup(&s->arena, url);
    pthread_mutex_unlock(&s->lock);
}

void subscriber_set(struct subscriber *s, const struct subscriber_cfg *cfg)
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

void subscriber_run(struct subscriber *s, struct http_client *client)
{
    pthread_mutex_lock(&s->lock);
    s->client = client;
    check_all_locked(s); /* interest may have come or gone before the end */
    kick_locked(s);
    pthread_mutex_unlock(&s->lock);
}

void subscriber_stop(struct subscriber *s)
{
    pthread_mutex_lock(&s->lock);
    s->client = NULL;
    pthread_mutex_unlock(&s->lock);
    if (s->timer != NULL)
        loop_timer_cancel(&s->timer);
}

void subscriber_free(struct subscriber **sp)
{
    struct subscriber *s = *sp;

    if (s == NULL)
        return;
    map_release(&s->by_feed, NULL);
    map_release(&s->by_token, free_follow);
    host_turns_release(&s->turns);
    time_heap_release(&s->heap);
    arena_release(&s->arena);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
    *sp = NULL;
}
