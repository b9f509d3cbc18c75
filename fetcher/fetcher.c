/* fetcher/fetcher.c - life cycle and public calls; the fetch loop itself is in fetch_loop.c.
 *
 * Public calls are messages to the loop. The start loads the feeds that are due from the database,
 * so it is also the recovery after a crash. The stop has an order: first no new reasons are taken,
 * then no new transfers are started. Answers that come before the deadline go to the storer. All
 * other feeds are due again at the next start. */
#include "fetcher/fetcher.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/stats.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "fetcher/content_due.h"
#include "fetcher/delivery.h"
#include "fetcher/fetch_loop.h"
#include "fetcher/fetcher_priv.h"
#include "fetcher/ownership.h"
#include "fetcher/parse_worker.h"
#include "fetcher/rests.h"
#include "fetcher/room.h"
#include "fetcher/strays.h"
#include "fetcher/upstream_late.h"
#include "fetcher/waiting.h"
#include "fetcher/wishes.h"
#include "net/url.h"

#define PARSE_QUEUE_PER_WORKER 16
#define MATCHES 64 /* feeds of one site; when there are more, the store is asked again */

/* ---- messages to the loop ------------------------------------------------------------------ */

struct want_msg {
    struct fetcher *f;
    enum fetch_reason reason;
    fetch_done_fn *done; /* NULL: nobody waits */
    void *ctx;
    size_t n;
    int64_t ids[];
};

static void on_want(void *ctx)
{
    struct want_msg *msg = ctx;
    struct fetcher *f = msg->f;
    int64_t now_ms = clock_mono_ms();

    for (size_t i = 0; i < msg->n && !f->stopping; i++)
        if (own_feed(f, msg->ids[i]))
            work_queue_want(f->queue, msg->ids[i], msg->reason, now_ms);
    mem_free(msg);
    fetch_loop_pump(f);
}

static void post_wants(struct fetcher *f, const int64_t *ids, size_t n, enum fetch_reason reason)
{
    struct want_msg *msg;

    if (n == 0)
        return;
    msg = mem_zalloc(sizeof *msg + n * sizeof msg->ids[0]);
    msg->f = f;
    msg->reason = reason;
    msg->n = n;
    memcpy(msg->ids, ids, n * sizeof msg->ids[0]);
    loop_post(f->loop, on_want, msg);
}

/* Somebody waits for a fetch at another node. */
struct wished_msg {
    struct fetcher *f;
    int64_t feed_id;
};

/* Has the fetch that is wished ended before the wish came? One wishes for a feed that is not
 * fetched as far as one knows, so it has if the feed is fetched. *rc: how it ended. */
static bool is_wish_late(struct fetcher *f, int64_t feed_id, enum rc *rc)
{
    const struct slot *slot = work_queue_find(f->queue, feed_id);
    bool is_idle = slot == NULL || slot->state == SLOT_IDLE;
    const struct fetch_result *failure = NULL;
    struct feed_brief brief;

    if (slot != NULL && is_idle)
        failure = waiting_failure(slot, clock_mono_ms());
    if (failure != NULL)
        *rc = failure->rc;
    else if (store_brief(f->store, feed_id, &brief) && brief.fetched && (is_idle || !brief.partial))
        *rc = RC_OK;
    else
        return false;
    return true;
}

/* Then who comes now is told how it ends. */
static bool is_in_flight(const struct slot *slot)
{
    return slot != NULL && (slot->state == SLOT_RUNNING || slot->state == SLOT_BETWEEN);
}

static void take_wish(struct fetcher *f, int64_t feed_id)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct fetch_result at_rest;
    struct slot *slot;
    enum rc rc;
    bool is_over = is_wish_late(f, feed_id, &rc);

    if (!is_over && !is_in_flight(work_queue_find(f->queue, feed_id)) &&
        rests_refuse(f, feed_id, &a, &at_rest)) {
        is_over = true;
        rc = at_rest.rc;
    }
    if (!is_over) {
        slot = work_queue_want(f->queue, feed_id, REASON_READER, clock_mono_ms());
        waiting_of(slot)->is_wished = true;
    } else if (store_answer_wish(f->store, feed_id, rc) != RC_OK) {
        log_debug("fetcher", "wish_unanswered", "feed=%" PRId64 " effect=asked_again", feed_id);
    }
}

static void on_wished(void *ctx)
{
    struct wished_msg *msg = ctx;
    struct fetcher *f = msg->f;

    if (!f->stopping && own_feed(f, msg->feed_id))
        take_wish(f, msg->feed_id);
    mem_free(msg);
    fetch_loop_pump(f);
}

static void post_wished(struct fetcher *f, int64_t feed_id)
{
    struct wished_msg *msg = NEW(struct wished_msg);

    *msg = (struct wished_msg){f, feed_id};
    loop_post(f->loop, on_wished, msg);
}

/* Is the feed paused? Then no reader has it fetched: what is stored is shown, if there is anything. */
static bool is_held(struct fetcher *f, int64_t feed_id, struct fetch_result *out)
{
    struct feed_brief brief;

    if (!store_brief(f->store, feed_id, &brief) || !brief.is_paused)
        return false;
    *out = (struct fetch_result){.rc = brief.fetched ? RC_OK : RC_DENIED,
                                 .feed_id = feed_id,
                                 .url = STR(""),
                                 .text = STR("the feed is paused, and was never fetched")};
    return true;
}

static void on_await(void *ctx)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct want_msg *msg = ctx;
    struct fetcher *f = msg->f;
    int64_t now_ms = clock_mono_ms();
    struct slot *slot = f->stopping ? NULL : work_queue_find(f->queue, msg->ids[0]);
    const struct fetch_result *failure = NULL;
    struct fetch_result held;

    if (slot != NULL && slot->state == SLOT_IDLE)
        failure = waiting_failure(slot, now_ms);
    if (!f->stopping && store_fill(f->store) == FILL_FULL) {
        struct fetch_result res = {.rc = RC_UNAVAILABLE,
                                   .feed_id = msg->ids[0],
                                   .url = STR(""),
                                   .text = STR(FULL_TEXT)};

        msg->done(msg->ctx, &res);
    } else if (!f->stopping && is_held(f, msg->ids[0], &held)) {
        msg->done(msg->ctx, &held);
    } else if (f->stopping) {
        struct fetch_result res = {
            .rc = RC_CLOSED, .feed_id = msg->ids[0], .url = STR(""), .text = STR("shutting down")};

        msg->done(msg->ctx, &res);
    } else if (failure != NULL) {
        msg->done(msg->ctx, failure);
    } else if (!is_in_flight(slot) && rests_refuse(f, msg->ids[0], &a, &held)) {
        msg->done(msg->ctx, &held);
    } else if (!own_feed(f, msg->ids[0])) {
        wishes_add(f, msg->ids[0], msg->done, msg->ctx);
    } else {
        slot = work_queue_want(f->queue, msg->ids[0], msg->reason, now_ms);
        waiting_add(slot, msg->done, msg->ctx);
        fetch_loop_pump(f);
    }
    mem_free(msg);
}

void fetcher_await(struct fetcher *f, int64_t feed_id, enum fetch_reason reason,
                   fetch_done_fn *done, void *ctx)
{
    struct want_msg *msg = mem_zalloc(sizeof *msg + sizeof msg->ids[0]);

    msg->f = f;
    msg->reason = reason;
    msg->done = done;
    msg->ctx = ctx;
    msg->n = 1;
    msg->ids[0] = feed_id;
    loop_post(f->loop, on_await, msg);
}

struct id_set {
    int64_t *ids;
    size_t n, cap;
};

/* Add the feeds that are known by this URL to the set. When their number grows in the meantime, ask
 * again. */
static void add_known(struct fetcher *f, struct str url, struct id_set *set)
{
    size_t room, n = MATCHES;

    do {
        set->ids = mem_grow(set->ids, &set->cap, set->n + n, sizeof *set->ids);
        room = set->cap - set->n;
        n = store_find_by_any_url(f->store, url, set->ids + set->n, room);
    } while (n > room);
    set->n += n;
}

/* Add the feeds of a site. Publishers write its URL with or without the last slash, and so do
 * pings. */
static void add_site(struct fetcher *f, struct str url, struct id_set *set)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    if (url.len == 0)
        return;
    add_known(f, url, set);
    if (str_ends(url, STR("/")))
        add_known(f, str_slice(url, 0, url.len - 1), set);
    else
        add_known(f, str_concat(&a, url, STR("/")), set);
}

/* Nothing is fetched for a ping of a feed that is paused. */
static void leave_out_paused(struct fetcher *f, struct id_set *set)
{
    size_t n = 0;

    for (size_t i = 0; i < set->n; i++) {
        struct feed_brief brief;

        if (!store_brief(f->store, set->ids[i], &brief) || !brief.is_paused)
            set->ids[n++] = set->ids[i];
    }
    set->n = n;
}

enum rc fetcher_ping(struct fetcher *f, struct str url, struct str rss_url, size_t *n,
                     store_done_fn *done, void *ctx)
{
    struct id_set set = {0};
    enum rc rc = RC_OK;

    add_site(f, url, &set);
    if (!str_eq(url, rss_url))
        add_site(f, rss_url, &set);
    leave_out_paused(f, &set);
    *n = set.n;
    if (set.n > 0)
        /* after the commit, on_commit() asks for the fetch */
        rc = store_ping(f->store, set.ids, set.n, done, ctx);
    mem_free(set.ids);
    return rc;
}

static size_t on_monitor_change(void *ctx, struct str url, struct str rss_url)
{
    size_t n;

    return fetcher_ping(ctx, url, rss_url, &n, NULL, NULL) == RC_OK ? n : 0;
}

static void on_due(void *ctx, const int64_t *feed_ids, size_t n)
{
    post_wants(ctx, feed_ids, n, REASON_PERIOD);
}

static void on_content_due(void *ctx, const int64_t *feed_ids, size_t n)
{
    content_want(ctx, feed_ids, n);
}

static int64_t on_monitor_known(void *ctx)
{
    struct fetcher *f = ctx;

    return atomic_load(&f->n_made);
}

/* On the storer's thread, or on that which follows other nodes. */
static void on_commit(void *ctx, const struct commit_notice *notice)
{
    struct fetcher *f = ctx;

    for (size_t i = 0; i < notice->n_feeds; i++) {
        const struct feed_notice *feed = &notice->feeds[i];
        bool is_ours = own_feed(f, feed->feed_id), is_gone = feed->merged_into != 0;

        if (feed->is_new)
            atomic_fetch_add(&f->n_made, 1);
        sweeper_put(f->sweeper, feed->feed_id,
                    is_gone || feed->is_pinged || feed->is_by_hand || !is_ours ? TIME_UNKNOWN : feed->next_fetch_at);
        sweeper_put(f->contents, feed->feed_id, is_ours ? feed->content_at : TIME_UNKNOWN);
        if (feed->is_pinged && is_ours)
            fetch_loop_want(f, feed->feed_id, REASON_PING);
        if (feed->is_by_hand && is_ours && !is_gone)
            fetch_loop_want(f, feed->feed_id, REASON_HAND);
        if (feed->is_wanted && notice->is_foreign && is_ours)
            post_wished(f, feed->feed_id);
    }
    wishes_notice(f, notice);
    upstream_subs_notice(f->upstreams, notice);
    if (notice->is_anew)
        own_read_anew(f);
}

/* ---- life cycle ---------------------------------------------------------------------------- */

static struct feed_host find_host(void *ctx, int64_t feed_id, struct arena *a)
{
    const struct fetcher *f = ctx;
    struct feed_brief brief;
    struct str url = store_feed_url(f->store, feed_id, a), host;

    if (str_is_null(url) || !store_brief(f->store, feed_id, &brief))
        return (struct feed_host){.authority = STR("")};
    host = url_authority(a, url);
    return (struct feed_host){.authority = host,
                              .is_new = brief.last_check_at == TIME_UNKNOWN,
                              .is_well = brief.fetched && brief.state == FEED_OK &&
                                         !outage_failed(&f->outage, host),
                              .insists = brief.last_check_at == TIME_UNKNOWN ||
                                         brief.level == LEVEL_EXACT};
}

static struct work_queue_cfg queue_cfg(const struct fetcher_cfg *cfg)
{
    return (struct work_queue_cfg){
        .max_asking = cfg->max_transfers > 0 ? cfg->max_transfers : 1,
        .max_per_host = cfg->max_per_host > 0 ? cfg->max_per_host : 1,
        .host_gap_ms = cfg->host_gap_ms,
        .content_gap_ms = cfg->content_rate > 0 ? 60000 / cfg->content_rate : 0,
        .ping_gap_ms = cfg->ping_gap_ms,
        .remember_ms = cfg->ping_gap_ms > FAILURE_HOLDS_MS ? cfg->ping_gap_ms : FAILURE_HOLDS_MS,
        .user_free = waiting_free,
    };
}

static void take_settings(struct fetcher *f, const struct fetcher_cfg *cfg)
{
    f->rules.levels = cfg->levels;
    f->rules.backoff_max_s = cfg->backoff_max_s;
    f->rules.hub_backup_s = cfg->hub_backup_s;
    f->rules.unused_s = cfg->unused_s;
    f->rules.adapts = cfg->adaptive;
    f->rules.adaptive_budget = cfg->adaptive_budget;
    f->rules.price = 0; /* it is found anew */
    f->announced_only = cfg->announced_only;
    f->catch_up = cfg->catch_up;
    f->with_contents = cfg->content_rate > 0;
    f->max_body = cfg->max_body;
    f->timeout_ms = cfg->timeout_ms;
}

static struct upstream_subs_cfg upstream_subs_config(const struct fetcher_cfg *cfg)
{
    return (struct upstream_subs_cfg){cfg->base_url, cfg->unused_s, cfg->timeout_ms};
}

static void init_on_loop(void *ctx)
{
    struct fetcher *f = ctx;
    struct http_client_cfg client = {
        .guard = f->guard, .user_agent = f->full_user_agent, .max_total = f->cfg.max_transfers};

    f->client = http_client_new(f->loop, &client);
}

static bool owns_feed(void *ctx, int64_t feed_id)
{
    return own_feed(ctx, feed_id);
}

struct fetcher *fetcher_new(const struct fetcher_cfg *cfg)
{
    struct fetcher *f = NEW(struct fetcher);
    int n_workers = cfg->n_workers > 0 ? cfg->n_workers : 1;
    struct work_queue_cfg queue = queue_cfg(cfg);
    struct upstream_subs_cfg upstreams;
    AUTO(arena_release) struct arena a = ARENA_INIT;
    pthread_condattr_t attr;

    f->cfg = *cfg;
    f->began_at = clock_now_s();
    f->store = cfg->store;
    f->guard = cfg->guard;
    f->let_unknown = cfg->let_unknown;
    f->let_ctx = cfg->let_ctx;
    f->user_agent = mem_strdup(cfg->user_agent);
    f->full_user_agent = mem_strdup(arena_printf(&a, "%s)", cfg->user_agent));
    atomic_init(&f->give_up, false);
    take_settings(f, cfg);
    STAILQ_INIT(&f->to_load);
    STAILQ_INIT(&f->parked);
    STAILQ_INIT(&f->lates);
    STAILQ_INIT(&f->unkept_rests);
    f->retry_at_ms = INT64_MAX;
    room_init(&f->room);
    pthread_mutex_init(&f->idle_lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&f->idle_cond, &attr);
    pthread_condattr_destroy(&attr);
    queue.find_host = find_host;
    queue.ctx = f;
    f->queue = work_queue_new(&queue);
    f->sweeper = sweeper_new(on_due, f);
    f->contents = sweeper_new(on_content_due, f);
    f->parsing_max = n_workers * PARSE_QUEUE_PER_WORKER;
    f->parse = queue_new((size_t)f->parsing_max + DELIVERIES_MAX, NULL);
    for (int kind = 0; kind < RESPONSE_KINDS_; kind++)
        f->times[kind] = histogram_series(HISTOGRAM_fetch_seconds,
                                          response_outcome((enum response_kind)kind), NULL);
    queue_watch(f->parse, STAT_parse_queue_oldest_age_seconds);
    f->loop = loop_new("fetch");
    upstreams = upstream_subs_config(cfg);
    f->upstreams = upstream_subs_new(f->store, f->loop, &upstreams);
    loop_call(f->loop, init_on_loop, f);
    own_listen(f);
    if (!f->is_alone)
        upstream_subs_share(f->upstreams, owns_feed, f);
    store_listen(f->store, on_commit, f);
    return f;
}

static void on_loaded(void *ctx, int64_t feed_id, int64_t next_fetch_at, enum fetch_reason reason)
{
    own_due(ctx, feed_id, next_fetch_at, reason);
}

static void on_content_feed(void *ctx, int64_t feed_id)
{
    own_content_due(ctx, feed_id);
}

/* On a reader's thread. */
static void load_contents(void *ctx, struct reader *r)
{
    struct err err = ERR_INIT;

    if (reader_content_feeds(r, on_content_feed, ctx, &err) != RC_OK)
        log_error("fetcher", "read_failed", "why=%s", log_quote(str_from(err.text)));
}

static bool may_monitor(void *ctx)
{
    const struct fetcher *f = ctx;

    return f->is_alone || nodes_leads(f->nodes);
}

/* Make the monitor fit the configuration. It runs only while there are ping servers. */
static void set_monitor(struct fetcher *f, const struct fetcher_cfg *cfg)
{
    struct monitor_cfg m = {
        .guard = f->guard,
        .user_agent = f->full_user_agent,
        .servers = cfg->ping_servers,
        .n_servers = cfg->n_ping_servers,
        .period_s = cfg->monitor_period_s,
        .timeout_ms = cfg->timeout_ms,
        .max_body = cfg->max_body,
        .change = on_monitor_change,
        .known = on_monitor_known,
        .may_ask = may_monitor,
        .ctx = f,
    };

    if (cfg->n_ping_servers == 0)
        monitor_free(&f->monitor);
    else if (f->monitor == NULL)
        f->monitor = monitor_new(&m);
    else
        monitor_reload(f->monitor, &m);
}

/* Open the readers of the workers. Use the first of them to read which hosts rest, and then what is
 * due. */
static enum rc read_due(struct fetcher *f, struct worker *workers, int n, struct err *err)
{
    enum rc rc;

    for (int i = 0; i < n; i++) {
        workers[i].f = f;
        workers[i].reader = reader_open(f->store);
        if (workers[i].reader == NULL)
            return err_set(err, RC_IO, "the database cannot be opened for another reader");
    }
    rc = rests_load(f, workers[0].reader, err);
    return rc == RC_OK ? reader_due(workers[0].reader, on_loaded, f, err) : rc;
}

static void run_on_loop(void *ctx)
{
    struct fetcher *f = ctx;

    upstream_subs_run(f->upstreams, f->client);
    fetch_loop_watch(f);
    strays_start(f);
}

enum rc fetcher_start(struct fetcher *f, struct err *err)
{
    int n = f->cfg.n_workers > 0 ? f->cfg.n_workers : 1;
    struct worker *workers = mem_zalloc((size_t)n * sizeof *workers);
    enum rc rc;

    ASSERT(!f->is_started);
    atomic_store(&f->reads_due, true);
    rc = read_due(f, workers, n, err);
    if (rc == RC_OK)
        rc = reader_content_feeds(workers[0].reader, on_content_feed, f, err);
    if (rc == RC_OK)
        rc = upstream_subs_load(f->upstreams, workers[0].reader, err);
    if (rc != RC_OK) {
        for (int i = 0; i < n; i++)
            reader_close(&workers[i].reader);
        mem_free(workers);
        return rc;
    }
    f->workers = workers;
    for (f->n_workers = 0; f->n_workers < n; f->n_workers++) {
        struct worker *w = &workers[f->n_workers];

        ASSERT(pthread_create(&w->thread, NULL, parse_worker_main, w) == 0);
    }
    sweeper_start(f->sweeper);
    sweeper_start(f->contents);
    loop_call(f->loop, run_on_loop, f);
    set_monitor(f, &f->cfg);
    f->is_started = true;
    return RC_OK;
}

static void stop_on_loop(void *ctx)
{
    fetch_loop_stop(ctx);
}

static void cut_on_loop(void *ctx)
{
    struct fetcher *f = ctx;

    upstream_subs_stop(f->upstreams);
    fetch_loop_cut(f);
}

/* Wait until there is no job left. Returns false when that took longer than `ms` (-1: no limit). */
static bool wait_idle(struct fetcher *f, int64_t ms)
{
    struct timespec until = clock_mono_after_ms(ms);
    bool is_idle;

    pthread_mutex_lock(&f->idle_lock);
    while (!f->is_idle && pthread_cond_timedwait(&f->idle_cond, &f->idle_lock, &until) == 0)
        ;
    is_idle = f->is_idle;
    pthread_mutex_unlock(&f->idle_lock);
    return is_idle;
}

void fetcher_stop(struct fetcher *f, int64_t ms)
{
    monitor_free(&f->monitor);
    sweeper_stop(f->sweeper);
    sweeper_stop(f->contents);
    loop_call(f->loop, stop_on_loop, f);
    if (!wait_idle(f, ms < 0 ? 0 : ms))
        log_info("fetcher", "cut",
                 "text=\"running transfers were cancelled; their feeds stay due\"");
    atomic_store(&f->give_up, true);
    loop_call(f->loop, cut_on_loop, f);
    wait_idle(f, -1); /* jobs that the storer or its readers have come back */
    queue_close(f->parse);
    for (int i = 0; i < f->n_workers; i++)
        pthread_join(f->workers[i].thread, NULL);
    f->n_workers = 0;
    loop_stop(f->loop);
}

void fetcher_free(struct fetcher **fp)
{
    struct fetcher *f = *fp;

    if (f == NULL)
        return;
    fetcher_stop(f, 0);
    loop_free(&f->loop);
    upstream_subs_free(&f->upstreams);
    sweeper_free(&f->sweeper);
    sweeper_free(&f->contents);
    rests_release(f);
    work_queue_free(&f->queue);
    queue_free(&f->parse);
    room_release(&f->room);
    pthread_mutex_destroy(&f->idle_lock);
    pthread_cond_destroy(&f->idle_cond);
    mem_free(f->workers);
    mem_free(f->user_agent);
    mem_free(f->full_user_agent);
    mem_free(f);
    *fp = NULL;
}

struct new_fetcher_cfg {
    struct fetcher *f;
    const struct fetcher_cfg *cfg;
};

static void reload_on_loop(void *ctx)
{
    struct new_fetcher_cfg *r = ctx;
    struct work_queue_cfg queue = queue_cfg(r->cfg);

    take_settings(r->f, r->cfg);
    work_queue_set(r->f->queue, &queue);
    fetch_loop_pump(r->f);
}

void fetcher_reload(struct fetcher *f, const struct fetcher_cfg *cfg)
{
    struct new_fetcher_cfg r = {f, cfg};

    struct upstream_subs_cfg upstreams = upstream_subs_config(cfg);

    loop_call(f->loop, reload_on_loop, &r);
    if (cfg->content_rate > 0 && store_read(f->store, load_contents, f) != RC_OK)
        log_warn("fetcher", "contents_unread",
                 "effect=\"contents are fetched only after the next fetch of their feed\"");
    upstream_subs_set(f->upstreams, &upstreams);
    set_monitor(f, cfg);
}

/* ---- upstream hubs --------------------------------------------------------------------------- */

void fetcher_set_local_url(struct fetcher *f, struct str url)
{
    upstream_subs_local(f->upstreams, url);
}

enum upstream_verdict fetcher_upstream_verify(struct fetcher *f,
                                              const struct upstream_verification *v,
                                              upstream_done_fn *done, void *ctx)
{
    return upstream_late_verify(f, v, done, ctx);
}

enum upstream_verdict fetcher_upstream_deliver(struct fetcher *f, const struct upstream_delivery *d,
                                               upstream_done_fn *done, void *ctx)
{
    return upstream_late_deliver(f, d, done, ctx);
}

enum upstream_verdict fetcher_upstream_notify(struct fetcher *f,
                                              const struct upstream_notification *n,
                                              upstream_done_fn *done, void *ctx)
{
    return upstream_late_notify(f, n, done, ctx);
}

/* ---- a clock that jumps ---------------------------------------------------------------------- */

#define REST_MAX_MS 86400000

static void pump_on_loop(void *ctx)
{
    fetch_loop_pump(ctx);
}

void fetcher_clock_jumped(struct fetcher *f)
{
    sweeper_look(f->sweeper);
    sweeper_look(f->contents);
    loop_call(f->loop, pump_on_loop, f);
}

struct rest_look {
    struct fetcher *f;
    bool rests;
    int64_t wait_ms;
};

/* On the loop, so that nothing that it counts is under way. The message itself counts, too. */
static void look_for_rest(void *ctx)
{
    struct rest_look *look = ctx;
    struct fetcher *f = look->f;
    int64_t wait_ms = work_queue_wait_ms(f->queue, clock_mono_ms());

    look->rests = stats_get(STAT_work_pending) - (int64_t)f->n_counted <= 1;
    if (wait_ms >= 0 && wait_ms < look->wait_ms)
        look->wait_ms = wait_ms;
}

bool fetcher_rests(struct fetcher *f, int64_t *next_at)
{
    struct rest_look look = {.f = f, .wait_ms = REST_MAX_MS};
    int64_t now_us = clock_now_us(), wait_us;

    loop_call(f->loop, look_for_rest, &look);
    wait_us = sweeper_wait_us(f->sweeper, now_us, look.wait_ms * 1000);
    wait_us = sweeper_wait_us(f->contents, now_us, wait_us);
    *next_at = (now_us + wait_us + 999999) / 1000000;
    return look.rests && wait_us > 0;
}
