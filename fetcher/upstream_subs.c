/* fetcher/upstream_subs.c - see upstream_subs.h. The rows are in upstream_table.h; here are their
 * lock, the calls to hubs, the timer, and what hubs ask. */
#include "fetcher/upstream_subs.h"

#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "fetcher/job.h"
#include "fetcher/upstream_call.h"
#include "fetcher/upstream_cloud.h"
#include "fetcher/upstream_rules.h"
#include "fetcher/upstream_save.h"
#include "model/paths.h"

#define VERIFY_WAIT_S 600 /* for so long a hub may take to verify a request that it accepted */
#define ASKED_WAIT_S 2    /* for the database to say whether another node has been verified */
#define SLEEP_MAX_S 60    /* wall time may be set while we sleep */

struct upstream_subs {
    struct loop *loop;

    pthread_mutex_t lock; /* guards what follows */
    struct upstream_table table;
    int64_t timeout_ms;
    bool is_kicked;
    struct read_wait *waits; /* those who wait until the rows have been read */
    bool is_reading, wants_read;

    struct http_client *client; /* NULL: not running. Loop, under the lock */
    struct loop_timer *timer;   /* loop */
};

static void on_turn(void *ctx);

/* Release the lock. If the rows need it, the loop gets a turn. */
static void unlock(struct upstream_subs *s)
{
    if (s->table.needs_turn && !s->is_kicked && s->client != NULL) {
        s->is_kicked = true;
        loop_post(s->loop, on_turn, s);
    }
    s->table.needs_turn = false;
    pthread_mutex_unlock(&s->lock);
}

/* ---- requests to hubs ---- */

static void on_answer(void *ctx, const struct upstream_request *req, enum rc rc, struct str why);

static void ask_hub_locked(struct upstream_subs *s, struct upstream_sub *sub)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct upstream_request req = {
        .token = sub->row.token,
        .hub = {sub->row.hub, sub->row.protocol, sub->row.procedure},
        .topic = sub->row.topic,
        .callback = str_printf(&a, "%.*s%s/%.*s", STR_ARG(sub->row.base_url),
                               sub->row.protocol == HUB_WEBSUB ? PATH_WEBSUB : PATH_NOTIFY,
                               STR_ARG(sub->row.token)),
        .secret = sub->row.secret,
        .lease_s = UPSTREAM_LEASE_S,
        .ends = sub->row.state == UPSTREAM_ENDING,
        .timeout_ms = s->timeout_ms,
        .credential = STR_NULL,
    };
    struct feed given = {.page_url = STR_NULL};

    /* a publisher that is its own hub needs the same credential there */
    given.credential = store_credential(s->table.store, sub->row.feed_id, &a, &given.url);
    if (job_may_identify(&given, req.hub.url))
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
    if (sub->row.state == UPSTREAM_IDLE) { /* in the meantime nobody wants to hear of a cloud */
        upstream_sub_set_next(&s->table, sub, TIME_UNKNOWN);
    } else if (ends !=
               (sub->row.state == UPSTREAM_ENDING)) { /* in the meantime the opposite is wanted */
        upstream_sub_set_next(&s->table, sub, clock_now_s());
    } else if (!str_is_null(why)) {
        upstream_sub_fail(&s->table, sub, "%.*s", STR_ARG(why));
    } else if (sub->row.protocol != HUB_WEBSUB) {
        upstream_sub_verified(&s->table, sub, UPSTREAM_CLOUD_LEASE_S);
        upstream_sub_save(&s->table, sub, NULL, NULL);
    } else if (sub->is_confirmed) {
        upstream_sub_set_next(&s->table, sub, sub->row.next_at);
    } else {
        sub->is_waiting = true;
        if (sub->row.state == UPSTREAM_ACTIVE && sub->row.lease_end_at < until)
            until = sub->row.lease_end_at;
        upstream_sub_set_next(&s->table, sub, until);
        upstream_sub_save(&s->table, sub, NULL, NULL); /* a new owner is not to ask at once */
    }
}

static void on_answer(void *ctx, const struct upstream_request *req, enum rc rc, struct str why)
{
    struct upstream_subs *s = ctx;
    struct upstream_sub *sub;

    pthread_mutex_lock(&s->lock);
    host_turns_done(&s->table.turns, req->hub.url, rc == RC_OK);
    sub = map_get(&s->table.by_token, req->token);
    if (sub != NULL && sub->is_foreign)
        upstream_sub_forget(&s->table, sub);
    else if (sub != NULL && rc != RC_CLOSED)
        answered_locked(s, sub, req->ends, why);
    s->table.needs_turn = true;
    unlock(s);
}

/* ---- what the storer says ---- */

/* The row is as another node has left it: bring it to what is wanted now. */
static void on_reread(void *ctx, bool is_read)
{
    struct upstream_save *save = ctx;
    struct upstream_subs *s = CONTAINER_OF(save->table, struct upstream_subs, table);
    struct upstream_sub *sub;

    pthread_mutex_lock(&s->lock);
    sub = is_read ? map_get(&s->table.by_token, save->token) : NULL;
    if (sub != NULL)
        upstream_sub_check(&s->table, sub);
    unlock(s);
    upstream_save_free(&save);
}

/* The storer's thread. */
static void on_row_saved(void *ctx, enum rc rc, const struct store_result *res,
                         const struct err *err)
{
    struct upstream_save *save = ctx;
    struct upstream_subs *s = CONTAINER_OF(save->table, struct upstream_subs, table);

    pthread_mutex_lock(&s->lock);
    upstream_table_saved(&s->table, save, rc);
    unlock(s);
    if (save->done != NULL)
        save->done(save->ctx, rc, res, err);
    if (rc == RC_CONFLICT)
        upstream_subs_read_one(s, save->token, on_reread, save);
    else
        upstream_save_free(&save);
}

/* ---- time ---- */

static void step_locked(struct upstream_subs *s, struct upstream_sub *sub)
{
    bool was_waiting = sub->is_waiting;

    if (!upstream_table_owns(&s->table, sub->row.feed_id)) {
        time_heap_remove(&s->table.heap, &sub->node);
        return;
    }
    if (was_waiting && s->table.owns != NULL && !sub->is_asked) {
        sub->is_asked = s->wants_read = true;
        upstream_sub_set_next(&s->table, sub, clock_now_s() + ASKED_WAIT_S);
        return;
    }
    sub->is_waiting = sub->is_asked = false;
    if (upstream_sub_is_over(sub)) {
        upstream_sub_drop(&s->table, sub);
        return;
    }
    if (sub->row.state == UPSTREAM_ACTIVE && sub->row.lease_end_at <= clock_now_s()) {
        sub->row.state = upstream_next(sub->row.state, UPSTREAM_EXPIRED, false);
        snprintf(sub->error, sizeof sub->error, "the lease ended before the %s renewed it",
                 upstream_noun(sub->row.protocol));
        upstream_sub_save(&s->table, sub, NULL, NULL);
    }
    if (was_waiting) {
        upstream_sub_fail(&s->table, sub, "the hub accepted the request but did not verify it");
    } else if (sub->row.state == UPSTREAM_IDLE) {
        upstream_sub_set_next(&s->table, sub, TIME_UNKNOWN);
    } else {
        time_heap_remove(&s->table.heap, &sub->node);
        host_turns_wait(&s->table.turns, &sub->turn, sub->row.hub);
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
    const struct time_node *first = time_heap_first(&s->table.heap);
    int64_t ms = SLEEP_MAX_S * (int64_t)1000;

    if (s->timer != NULL)
        loop_timer_cancel(&s->timer);
    if (first != NULL) {
        int64_t left_us = first->at * 1000000 - clock_now_us();

        if (left_us < ms * 1000)
            ms = left_us < 0 ? 0 : left_us / 1000 + 1;
    }
    if (s->table.n_unsaved > 0) {
        int64_t left_ms = s->table.save_at_ms - clock_mono_ms();

        if (left_ms < ms)
            ms = left_ms < 0 ? 0 : left_ms;
    }
    s->timer = loop_timer_start(s->loop, ms, on_timer, s);
}

/* The timer fired: do what is due. Runs on the loop. */
static void on_turn(void *ctx)
{
    struct upstream_subs *s = ctx;
    struct time_node *first;
    struct host_turn *turn;
    bool wants_read;

    pthread_mutex_lock(&s->lock);
    s->is_kicked = true; /* changes below need no further wake-up */
    if (s->client != NULL) {
        upstream_table_save_again(&s->table);
        while ((first = time_heap_first(&s->table.heap)) != NULL && first->at <= clock_now_s())
            step_locked(s, CONTAINER_OF(first, struct upstream_sub, node));
        while ((turn = host_turns_next(&s->table.turns)) != NULL)
            ask_hub_locked(s, CONTAINER_OF(turn, struct upstream_sub, turn));
        arm_locked(s);
    }
    s->table.needs_turn = s->is_kicked = false;
    wants_read = s->wants_read;
    s->wants_read = false;
    pthread_mutex_unlock(&s->lock);
    if (wants_read)
        upstream_subs_read(s, NULL, NULL);
}

/* ---- what comes in ---- */

void upstream_subs_found(struct upstream_subs *s, int64_t feed_id,
                         const struct upstream_links *links)
{
    struct upstream_sub *sub;

    if (!upstream_table_owns(&s->table, feed_id)) /* a feed of ours was merged into it */
        return;
    pthread_mutex_lock(&s->lock);
    if (links->read)
        upstream_table_take_links(&s->table, feed_id, links);
    sub = upstream_table_of_feed(&s->table, feed_id);
    if (sub != NULL)
        upstream_sub_check(&s->table, sub);
    unlock(s);
}

void upstream_subs_notice(struct upstream_subs *s, const struct commit_notice *notice)
{
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < notice->n_feeds && map_count(&s->table.by_feed) > 0; i++) {
        const struct feed_notice *feed = &notice->feeds[i];
        struct upstream_sub *sub = upstream_table_of_feed(&s->table, feed->feed_id);

        if (sub != NULL && feed->merged_into != 0)
            upstream_sub_merged(&s->table, sub, feed->merged_into);
        else if (sub != NULL)
            upstream_sub_check(&s->table, sub);
    }
    unlock(s);
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

typedef bool save_fn(struct upstream_table *t, struct upstream_sub *sub, store_done_fn *done,
                     void *ctx);

/* The hub has its answer when that is on disk. */
static enum upstream_verdict confirm_locked(struct upstream_subs *s, struct upstream_sub *sub,
                                            save_fn *save, upstream_done_fn *done, void *ctx)
{
    struct confirmation *c = NEW(struct confirmation);

    *c = (struct confirmation){done, ctx};
    if (save(&s->table, sub, on_saved, c))
        return VERDICT_PENDING;
    mem_free(c);
    return VERDICT_BUSY;
}

enum upstream_verdict upstream_subs_verify(struct upstream_subs *s,
                                           const struct upstream_verification *v,
                                           upstream_done_fn *done, void *ctx)
{
    struct upstream_sub *sub;
    bool is_asked;
    enum upstream_verdict verdict = VERDICT_UNKNOWN;

    pthread_mutex_lock(&s->lock);
    sub = map_get(&s->table.by_token, v->token);
    if (sub == NULL || sub->row.protocol != HUB_WEBSUB || !str_eq(v->topic, sub->row.topic)) {
        unlock(s);
        return VERDICT_UNKNOWN;
    }
    is_asked = upstream_is_asked(sub->row.state);
    if (str_eqz(v->mode, "subscribe") && is_asked) {
        upstream_sub_verified(&s->table, sub, upstream_lease_s(v->lease));
        verdict = confirm_locked(s, sub, upstream_sub_save, done, ctx);
    } else if (str_eqz(v->mode, "unsubscribe") && !is_asked) {
        verdict = sub->row.state == UPSTREAM_ENDING
                      ? confirm_locked(s, sub, upstream_sub_ended, done, ctx)
                      : VERDICT_TAKEN;
    } else if (str_eqz(v->mode, "denied")) {
        if (is_asked) {
            upstream_sub_denied(&s->table, sub, v->reason);
            verdict = confirm_locked(s, sub, upstream_sub_save, done, ctx);
        } else {
            verdict = VERDICT_TAKEN;
        }
    }
    unlock(s);
    return verdict;
}

enum upstream_verdict upstream_subs_admit(struct upstream_subs *s, struct str token,
                                          struct arena *a, struct upstream_key *out)
{
    struct upstream_sub *sub;
    enum upstream_verdict verdict = VERDICT_TAKEN;

    pthread_mutex_lock(&s->lock);
    sub = map_get(&s->table.by_token, token);
    if (sub == NULL || sub->row.protocol != HUB_WEBSUB)
        verdict = VERDICT_UNKNOWN;
    else if (!upstream_is_asked(sub->row.state))
        verdict = VERDICT_ENDED;
    else
        *out = (struct upstream_key){sub->row.feed_id, str_dup(a, sub->row.topic),
                                     str_dup(a, sub->row.secret)};
    unlock(s);
    return verdict;
}

/* Returns true when the call of the cloud is a notification. While we register, it may be a test,
 * and there cannot be news yet. */
static bool is_news(const struct upstream_sub *sub, const struct upstream_notification *n)
{
    return !n->is_challenge && (sub->row.state == UPSTREAM_ACTIVE || !sub->is_calling);
}

enum upstream_verdict upstream_subs_notify(struct upstream_subs *s,
                                           const struct upstream_notification *n,
                                           upstream_done_fn *done, void *ctx)
{
    struct confirmation *c;
    struct upstream_sub *sub;
    enum upstream_verdict verdict = VERDICT_TAKEN;

    pthread_mutex_lock(&s->lock);
    sub = map_get(&s->table.by_token, n->token);
    if (sub == NULL || sub->row.protocol == HUB_WEBSUB || !str_eq(n->url, sub->row.topic)) {
        verdict = VERDICT_UNKNOWN;
    } else if (!upstream_is_asked(sub->row.state)) {
        verdict = VERDICT_ENDED;
    } else if (is_news(sub, n)) {
        c = NEW(struct confirmation);
        *c = (struct confirmation){done, ctx};
        verdict = VERDICT_PENDING;
        if (store_announced(s->table.store, sub->row.feed_id, on_saved, c) != RC_OK) {
            mem_free(c);
            verdict = VERDICT_BUSY;
        }
    }
    unlock(s);
    if (verdict == VERDICT_PENDING)
        stats_inc(STAT_upstream_notifications_total);
    return verdict;
}

/* ---- life ---- */

struct upstream_subs *upstream_subs_new(struct store *store, struct loop *loop,
                                        const struct upstream_subs_cfg *cfg)
{
    struct upstream_subs *s = NEW(struct upstream_subs);

    s->table.store = store;
    s->table.saved = on_row_saved;
    s->loop = loop;
    s->table.turns = (struct host_turns){.max = 32, .max_host = 4}; /* requests at once */
    pthread_mutex_init(&s->lock, NULL);
    upstream_subs_set(s, cfg);
    return s;
}

/* What is saved from now on may not be in what is read. */
static void begin_reading(struct upstream_subs *s)
{
    pthread_mutex_lock(&s->lock);
    s->table.n_readings++;
    pthread_mutex_unlock(&s->lock);
}

enum rc upstream_subs_load(struct upstream_subs *s, struct reader *r, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct upstream *rows;
    size_t n;
    enum rc rc;

    begin_reading(s);
    rc = reader_upstreams(r, &a, &rows, &n, err);
    pthread_mutex_lock(&s->lock);
    if (rc == RC_OK)
        upstream_table_take(&s->table, rows, n);
    unlock(s);
    return rc;
}

void upstream_subs_share(struct upstream_subs *s, upstream_owns_fn *owns, void *ctx)
{
    s->table.owns = owns;
    s->table.owns_ctx = ctx;
}

/* ---- reading the rows anew ---- */

struct read_wait {
    struct str token; /* of the row that is wanted; null: all rows */
    upstream_read_fn *done;
    void *ctx;
    struct read_wait *next;
};

static void tell_read(struct read_wait *list, bool is_read)
{
    struct read_wait *w;

    while ((w = list) != NULL) {
        list = w->next;
        if (w->done != NULL)
            w->done(w->ctx, is_read);
        mem_free(w);
    }
}

/* Nobody reads for those who wait. */
static struct read_wait *take_waits_failed(struct upstream_subs *s)
{
    struct read_wait *list;

    pthread_mutex_lock(&s->lock);
    list = s->waits;
    s->waits = NULL;
    s->is_reading = false;
    pthread_mutex_unlock(&s->lock);
    return list;
}

static struct read_wait *take_waits(struct upstream_subs *s)
{
    struct read_wait *list;

    pthread_mutex_lock(&s->lock);
    list = s->waits;
    s->waits = NULL;
    s->is_reading = list != NULL;
    pthread_mutex_unlock(&s->lock);
    return list;
}

/* The tokens that are wanted. 0: all rows are. */
static size_t tokens_of(const struct read_wait *list, struct arena *a, struct str **out)
{
    size_t n = 0;

    for (const struct read_wait *w = list; w != NULL; w = w->next, n++)
        if (str_is_null(w->token))
            return 0;
    *out = ARENA_ARRAY(a, struct str, n);
    n = 0;
    for (const struct read_wait *w = list; w != NULL; w = w->next)
        (*out)[n++] = w->token;
    return n;
}

static enum rc load_some(struct upstream_subs *s, struct reader *r, const struct read_wait *list,
                         struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str *tokens;
    struct upstream *rows;
    size_t n, n_tokens = tokens_of(list, &a, &tokens);
    enum rc rc;

    if (n_tokens == 0)
        return upstream_subs_load(s, r, err);
    begin_reading(s);
    rc = reader_upstreams_of(r, tokens, n_tokens, &a, &rows, &n, err);
    pthread_mutex_lock(&s->lock);
    if (rc == RC_OK)
        upstream_table_take_some(&s->table, tokens, n_tokens, rows, n);
    unlock(s);
    return rc;
}

/* On a reader's thread. Those who ask during one reading wait for another, which follows. */
static void read_rows(void *ctx, struct reader *r)
{
    struct upstream_subs *s = ctx;
    struct read_wait *list;

    while ((list = take_waits(s)) != NULL) {
        struct err err = ERR_INIT;
        enum rc rc = load_some(s, r, list, &err);

        if (rc != RC_OK)
            log_warn("fetcher", "upstreams_unread", "error=%s", log_quote(str_from(err.text)));
        tell_read(list, rc == RC_OK);
    }
}

static void ask_rows(struct upstream_subs *s, struct str token, upstream_read_fn *done, void *ctx)
{
    struct read_wait *w = NEW(struct read_wait);
    bool begins;

    pthread_mutex_lock(&s->lock);
    *w = (struct read_wait){token, done, ctx, s->waits};
    s->waits = w;
    begins = !s->is_reading;
    s->is_reading = true;
    pthread_mutex_unlock(&s->lock);
    if (begins && store_read(s->table.store, read_rows, s) != RC_OK)
        tell_read(take_waits_failed(s), false);
}

void upstream_subs_read(struct upstream_subs *s, upstream_read_fn *done, void *ctx)
{
    ask_rows(s, STR_NULL, done, ctx);
}

void upstream_subs_read_one(struct upstream_subs *s, struct str token, upstream_read_fn *done,
                            void *ctx)
{
    ask_rows(s, token, done, ctx);
}

void upstream_subs_forget_others(struct upstream_subs *s)
{
    pthread_mutex_lock(&s->lock);
    upstream_table_forget_others(&s->table);
    unlock(s);
}

void upstream_subs_local(struct upstream_subs *s, struct str url)
{
    pthread_mutex_lock(&s->lock);
    s->table.local_url = str_dup(&s->table.arena, url);
    unlock(s);
}

void upstream_subs_set(struct upstream_subs *s, const struct upstream_subs_cfg *cfg)
{
    struct str base = str_trim(cfg->base_url);

    while (str_ends(base, STR("/")))
        base.len--;
    pthread_mutex_lock(&s->lock);
    s->table.unused_s = cfg->unused_s;
    s->timeout_ms = cfg->timeout_ms;
    if (!str_eq(base, s->table.base_url)) {
        s->table.base_url = str_dup(&s->table.arena, base);
        if (s->client != NULL)
            upstream_table_check_all(&s->table);
    }
    unlock(s);
}

void upstream_subs_run(struct upstream_subs *s, struct http_client *client)
{
    pthread_mutex_lock(&s->lock);
    s->client = client;
    upstream_table_check_all(
        &s->table); /* readers and subscriptions may have changed before the last stop */
    s->table.needs_turn = true;
    unlock(s);
}

void upstream_subs_stop(struct upstream_subs *s)
{
    pthread_mutex_lock(&s->lock);
    s->client = NULL;
    unlock(s);
    if (s->timer != NULL)
        loop_timer_cancel(&s->timer);
}

void upstream_subs_free(struct upstream_subs **sp)
{
    struct upstream_subs *s = *sp;

    if (s == NULL)
        return;
    upstream_table_release(&s->table);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
    *sp = NULL;
}
