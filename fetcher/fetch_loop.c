/* fetcher/fetch_loop.c - see fetch_loop.h.
 *
 * When a slot of the work queue may start, a job is made for it, and the job goes from step to
 * step. Each step is a function here that returns the next step. It returns STEP_AWAY when another
 * thread, a queue or a timer has the job; fetch_loop_give() brings the job back. A job in flight is
 * in exactly one place. Its slot stays here and is found by the feed's id.
 *
 * The loop never waits. Rows are read on the store's reader threads, and documents are read by
 * workers. When a queue refuses something because it is full, the loop keeps it and tries again
 * when the timer fires. No transfer starts while answered jobs wait for a worker. */
#include "fetcher/fetch_loop.h"

#include <inttypes.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "fetcher/outage_watch.h"
#include "fetcher/ownership.h"
#include "fetcher/price.h"
#include "fetcher/rests.h"
#include "fetcher/room.h"
#include "fetcher/source.h"
#include "fetcher/strays.h"
#include "fetcher/upstream_late.h"
#include "fetcher/waiting.h"
#include "fetcher/wishes.h"
#include "net/url.h"

#define READ_BATCH 32
#define ROOM_RETRY_MS 10     /* pause before a full queue is tried again */
#define BROKEN_RETRY_MS 1000 /* pause after the database failed */
#define FULL_RETRY_MS 1000   /* the database has its largest size: how often that is looked at */
/* waiters are told at the latest so long after the document was stored */
#define PATIENCE_MS 5000
#define WATCH_MS 250

static void run_job(struct fetcher *f, struct job *job, enum job_step step);

static void retry_in(struct fetcher *f, int64_t ms)
{
    int64_t at = clock_mono_ms() + ms;

    if (at < f->retry_at_ms)
        f->retry_at_ms = at;
}

void fetch_loop_one_more(struct fetcher *f)
{
    f->n_jobs++;
    stats_inc(STAT_work_pending);
}

void fetch_loop_one_less(struct fetcher *f)
{
    f->n_jobs--;
    stats_add(STAT_work_pending, -1);
    if (!f->stopping || f->n_jobs > 0)
        return;
    pthread_mutex_lock(&f->idle_lock);
    f->is_idle = true;
    pthread_cond_signal(&f->idle_cond);
    pthread_mutex_unlock(&f->idle_lock);
}

static struct slot *slot_of(struct fetcher *f, const struct job *job)
{
    struct slot *slot = work_queue_find(f->queue, job->feed_id);

    ASSERT(slot != NULL && (slot->state == SLOT_RUNNING || slot->state == SLOT_BETWEEN));
    return slot;
}

static enum job_step fail(struct job *job, enum rc rc, struct str text)
{
    job->rc = rc;
    job->text = str_dup(job->arena, text);
    return STEP_END;
}

static enum job_step fail_closed(struct job *job)
{
    return fail(job, RC_CLOSED, STR("shutting down"));
}

/* The host is another node's now. What the job was to do is still to be done, so it is queued
 * again: if the host is not ours then, another node is asked. */
static enum job_step cut(struct job *job)
{
    job->is_cut = true;
    return fail(job, RC_CLOSED, STR("another node fetches from this host now"));
}

/* Tell all who wait for the fetch, here and at other nodes. */
static void tell(struct fetcher *f, struct slot *slot, const struct fetch_result *res)
{
    struct waiting *w = waiting_of(slot);

    waiting_tell(slot, res, clock_mono_ms());
    if (w->is_wished && res->rc != RC_CLOSED &&
        store_answer_wish(f->store, slot->feed_id, res->rc) != RC_OK)
        log_debug("fetcher", "wish_unanswered", "feed=%" PRId64 " effect=asked_again",
                  slot->feed_id);
    w->is_wished = false;
}

/* ---- step "load": the feed's row ------------------------------------------------------------- */

struct read_batch {
    struct fetcher *f;
    struct job_list jobs;
};

static void on_rows(void *ctx)
{
    struct read_batch *batch = ctx;
    struct fetcher *f = batch->f;
    struct job *job;

    while ((job = STAILQ_FIRST(&batch->jobs)) != NULL) {
        STAILQ_REMOVE_HEAD(&batch->jobs, link);
        run_job(f, job, f->stopping && job->step != STEP_END ? fail_closed(job) : job->step);
    }
    mem_free(batch);
    fetch_loop_pump(f);
}

static enum job_step load_row(struct job *job, struct reader *r)
{
    const struct fetcher *f = job->owner;
    struct err err = ERR_INIT;
    enum rc rc = job_read_feed(job, f->store, r, job->arena, &err);

    if (rc == RC_NOT_FOUND)
        return fail(job, rc, STR("this feed does not exist any more"));
    if (rc != RC_OK)
        return job_give_back(job, rc, &err);
    job->feed = job->loaded.row;
    job->seen_check_at = job->feed->last_check_at;
    job->started_at = clock_now_s();
    return job->source->begin(job, r);
}

/* On a reader thread. */
static void read_rows(void *ctx, struct reader *r)
{
    struct read_batch *batch = ctx;
    struct job *job;

    STAILQ_FOREACH (job, &batch->jobs, link)
        job->step = load_row(job, r);
    loop_post(batch->f->loop, on_rows, batch);
}

/* Have the rows of the started jobs read. */
static void ask_rows(struct fetcher *f)
{
    while (!STAILQ_EMPTY(&f->to_load)) {
        struct read_batch *batch = NEW(struct read_batch);
        struct job *job;
        enum rc rc;

        batch->f = f;
        STAILQ_INIT(&batch->jobs);
        for (int n = 0; n < READ_BATCH && (job = STAILQ_FIRST(&f->to_load)) != NULL; n++) {
            STAILQ_REMOVE_HEAD(&f->to_load, link);
            STAILQ_INSERT_TAIL(&batch->jobs, job, link);
        }
        rc = store_read(f->store, read_rows, batch);
        if (rc == RC_OK)
            continue;
        STAILQ_CONCAT(&batch->jobs, &f->to_load); /* in the same order */
        STAILQ_CONCAT(&f->to_load, &batch->jobs);
        mem_free(batch);
        retry_in(f, rc == RC_FULL ? ROOM_RETRY_MS : BROKEN_RETRY_MS);
        return;
    }
}

static enum job_step step_load(struct fetcher *f, struct job *job)
{
    STAILQ_INSERT_TAIL(&f->to_load, job, link);
    return STEP_AWAY;
}

/* ---- steps "queue" and "request": the host, the transfer ------------------------------------- */

/* A job that was just started needs no other host: it holds the host that its feed had when it was
 * queued. */
static enum job_step step_queue(struct fetcher *f, struct job *job)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct slot *slot = slot_of(f, job);
    struct str host = url_authority(&a, job->url);

    if (f->stopping)
        return fail_closed(job);
    if (slot->on_host && str_eqz(host, slot->host->key))
        return STEP_REQUEST;
    waiting_of(slot)->job = job;
    work_queue_go_on(f->queue, slot, host, clock_mono_ms());
    return STEP_AWAY;
}

static void on_answer(void *ctx, enum rc rc, struct http_answer *answer, const struct err *err)
{
    struct job *job = ctx;
    struct fetcher *f = job->owner;
    struct slot *slot = slot_of(f, job);
    int64_t now_ms = clock_mono_ms();

    stats_add(STAT_fetch_running, -1);
    work_queue_leave_host(f->queue, slot, now_ms);
    waiting_of(slot)->asking = NULL;
    if (rc == RC_CLOSED) {
        arena_free(&job->answer_arena);
        job->answer_arena = answer->arena;
        run_job(f, job, f->stopping ? fail_closed(job) : cut(job));
        return;
    }
    job_take_answer(job, rc, answer, err);
    histogram_add(f->times[job->resp.kind], clock_mono_us() - job->asked_us);
    /* A redirect may have named the host. It is stored before the outcome of the job, so before the host can
     * become another node's. */
    rests_heed(f, job->final_url, &job->resp);
    if (!own_may_go_on(f, job)) {
        run_job(f, job, f->stopping ? fail_closed(job) : cut(job));
        return;
    }
    stats_add(STAT_fetch_bytes_total, (int64_t)answer->body.len);
    if (rc == RC_OK && answer->status == 304)
        stats_inc(STAT_fetch_304_total);
    if (str_is_null(fetch_secrets_value(&job->secrets, STR("proxy")))) /* it says nothing of our network */
        outage_watch_note(f, job, rc, answer);
    run_job(f, job, STEP_ANSWERED);
    fetch_loop_pump(f);
}

/* The feed has secrets that cannot be read. Without them it would be another feed, or none. */
static enum job_step refuse(struct fetcher *f, struct job *job)
{
    struct http_answer none = {.arena = arena_new(), .final_url = job->url};
    struct err err = ERR_INIT;
    enum rc rc = err_set(&err, RC_DENIED, "%.*s", STR_ARG(job->refusal));

    work_queue_leave_host(f->queue, slot_of(f, job), clock_mono_ms());
    job_take_answer(job, rc, &none, &err);
    return STEP_ANSWERED;
}

static enum job_step step_request(struct fetcher *f, struct job *job)
{
    struct http_field fields[JOB_FIELDS];
    struct http_call call;
    size_t body_max = job->source->body_max;

    waiting_of(slot_of(f, job))->job = NULL;
    if (!own_may_go_on(f, job))
        return cut(job);
    job_unseal(job, f->store);
    if (!str_is_null(job->refusal))
        return refuse(f, job);
    waiting_of(slot_of(f, job))->asking = job;
    job_call(job, f->user_agent, fields, &call);
    call.max_body = body_max > 0 && body_max < f->max_body ? body_max : f->max_body;
    call.timeout_ms = f->timeout_ms;
    call.rest = rests_left_ms;
    call.rest_ctx = f;
    stats_inc(STAT_fetch_total);
    stats_add(STAT_fetch_running, 1);
    job->asked_us = clock_mono_us();
    job->call = http_client_start(f->client, &call, on_answer, job);
    return STEP_AWAY;
}

static enum job_step step_answered(struct fetcher *f UNUSED, struct job *job)
{
    return job->source->answered(job);
}

/* ---- step "understand": a worker ------------------------------------------------------------- */

/* Returns false when the workers have enough to do, or the database has no room. Deliveries use the same queue, but have room of
 * their own in it. */
static bool push_to_worker(struct fetcher *f, struct job *job)
{
    if (atomic_fetch_add(&f->n_parsing, 1) < f->parsing_max && room_take(f, job)) {
        if (queue_try_push(f->parse, job) == RC_OK)
            return true;
        room_leave(f, job);
    }
    atomic_fetch_sub(&f->n_parsing, 1);
    return false;
}

static enum job_step step_understand(struct fetcher *f, struct job *job)
{
    if (job->resp.kind == RESPONSE_DOCUMENT)
        work_queue_give_place(f->queue, slot_of(f, job));
    if (STAILQ_EMPTY(&f->parked) && push_to_worker(f, job))
        return STEP_AWAY;
    STAILQ_INSERT_TAIL(&f->parked, job, link);
    retry_in(f, ROOM_RETRY_MS);
    return STEP_AWAY;
}

static void unpark(struct fetcher *f)
{
    struct job *job;

    while ((job = STAILQ_FIRST(&f->parked)) != NULL) {
        STAILQ_REMOVE_HEAD(&f->parked, link);
        if (!push_to_worker(f, job)) {
            STAILQ_INSERT_HEAD(&f->parked, job, link);
            retry_in(f, ROOM_RETRY_MS);
            return;
        }
    }
}

/* The database has its largest size, so what has been answered cannot be stored. It is asked for again when there
 * is room. Callers that wait for the feed have it if its own document was stored, and only more of it is turned away. */
static void turn_away(struct fetcher *f)
{
    struct job *job;

    while ((job = STAILQ_FIRST(&f->parked)) != NULL) {
        struct fetch_result res = {.rc = RC_UNAVAILABLE,
                                   .feed_id = job->feed_id,
                                   .url = STR(""),
                                   .text = STR(FULL_TEXT)};

        STAILQ_REMOVE_HEAD(&f->parked, link);
        tell(f, slot_of(f, job), job->n_more > 0 ? &job->so_far : &res);
        job->is_cut = true;
        run_job(f, job, fail(job, RC_CLOSED, res.text));
    }
}

/* ---- step "stored": is there more to ask? ---------------------------------------------------- */

/* The result of the fetch of the feed's own document. */
static struct fetch_result result_of(struct arena *a, const struct job *job)
{
    return (struct fetch_result){
        .rc = job->is_list ? RC_UNSUPPORTED : job->rc,
        .feed_id = job->result_id,
        .status = job->status,
        .rest_s = job->rc == RC_RESTING ? job->resp.retry_after_s : 0,
        .url = job->feed == NULL ? STR("") : url_public(a, job->feed->url),
        .text = job->is_list             ? STR("this is a list of feeds, not a feed")
                : str_is_null(job->text) ? STR("")
                                         : job->text,
    };
}

/* Reading the past takes long, so tell the waiters now; what is stored can be shown. A worker or
 * the storer may have the job, so nothing that they write is read here. */
static void on_impatient(void *ctx)
{
    struct job *job = ctx;
    struct fetcher *f = job->owner;

    job->patience = NULL;
    tell(f, slot_of(f, job), &job->so_far);
}

static void begin_patience(struct fetcher *f, struct job *job)
{
    job->so_far = result_of(job->arena, job);
    job->patience = loop_timer_start(f->loop, PATIENCE_MS, on_impatient, job);
}

/* Returns true when the feed itself is due again and the source gives way to it. */
static bool gives_way(const struct fetcher *f, const struct job *job)
{
    struct feed_brief brief;

    return job->source->gives_way && store_brief(f->store, job->feed_id, &brief) &&
           brief.next_fetch_at != TIME_UNKNOWN && brief.next_fetch_at <= clock_now_s();
}

/* When a publisher asks for a pause, the job does not go on. */
static bool may_go_on(struct fetcher *f, const struct job *job)
{
    return job->rc == RC_OK && job->n_more < f->catch_up && job->result_id == job->feed_id &&
           job->resp.kind != RESPONSE_LIMITED && !f->stopping &&
           (slot_of(f, job)->again & ~REASON_BIT(REASON_CONTENT)) == 0 && !gives_way(f, job);
}

static enum job_step step_stored(struct fetcher *f, struct job *job)
{
    enum job_step step;

    room_give(f, job);
    if (job->next.source == NULL || !may_go_on(f, job))
        return STEP_END;
    job->source = job->next.source;
    step = job->source->begin(job, NULL);
    if (step == STEP_END)
        return STEP_END;
    if (++job->n_more == 1)
        begin_patience(f, job);
    return step;
}

/* ---- step "end" ------------------------------------------------------------------------------ */

/* End a job that did not fetch the feed. Callers that wait for the feed go on waiting. */
static void end_aside(struct fetcher *f, struct job *job, int64_t now_ms)
{
    if (job->rc != RC_OK)
        sweeper_put(f->contents, job->feed_id, clock_now_s() + 60 * BROKEN_RETRY_MS / 1000);
    if (job->wants_feed)
        work_queue_want(f->queue, job->feed_id, REASON_PERIOD, now_ms);
}

static void log_end(const struct job *job, const struct fetch_result *res)
{
    stats_inc(STAT_polls_total);
    if (job->rc != RC_OK && job->rc != RC_CLOSED)
        stats_inc(STAT_fetch_failed_total);
    log_debug("fetcher", "fetched", "feed=%" PRId64 " rc=%s status=%d url=%s", job->feed_id,
              rc_name(job->rc), job->status, log_quote(res->url));
    if (job->retry_ms > 0)
        log_error("fetcher", "not_stored", "feed=%" PRId64 " rc=%s why=%s", job->feed_id,
                  rc_name(job->rc), log_quote(res->text));
}

/* The feed was merged into another one: what is still wanted of it is now wanted of the other. */
static void pass_on(struct fetcher *f, const struct job *job, struct slot *slot, int64_t now_ms)
{
    if (slot->again != 0) {
        slot->again = 0;
        work_queue_want(f->queue, job->result_id, REASON_PING, now_ms);
    } else if (job->next.source == &source_archive) { /* the other feed goes on with it */
        work_queue_want(f->queue, job->result_id, REASON_PERIOD, now_ms);
    }
}

/* Tell the waiters, and arrange the next fetch of the feed. */
static void end_fetch(struct fetcher *f, struct job *job, struct slot *slot, int64_t now_ms)
{
    struct fetch_result res = result_of(job->arena, job);
    struct feed_brief brief;

    if (job->patience != NULL)
        loop_timer_cancel(&job->patience);
    log_end(job, &res);
    price_note(f, job);
    if (job->retry_ms > 0)
        sweeper_put(f->sweeper, job->feed_id, clock_now_s() + job->retry_ms / 1000);
    upstream_subs_found(f->upstreams, job->result_id, &job->hubs);
    tell(f, slot, &res);
    if (job->result_id != job->feed_id)
        pass_on(f, job, slot, now_ms);
    /* the feed may have become due while its past was read */
    if (!f->stopping && store_brief(f->store, job->feed_id, &brief))
        sweeper_put_if_absent(f->sweeper, job->feed_id, brief.next_fetch_at);
}

/* Callers go on waiting. */
static void end_cut(struct job *job, struct slot *slot)
{
    if (job->patience != NULL)
        loop_timer_cancel(&job->patience);
    slot->again |= slot->reasons;
}

static enum job_step step_end(struct fetcher *f, struct job *job)
{
    struct slot *slot = slot_of(f, job);
    int64_t now_ms = clock_mono_ms();

    room_give(f, job);
    if (job->source->is_aside && f->stopping)
        fail_closed(job);
    waiting_of(slot)->job = NULL;
    own_end(f, job);
    if (job->is_cut && !f->stopping)
        end_cut(job, slot);
    else if (job->source->is_aside && !f->stopping)
        end_aside(f, job, now_ms);
    else
        end_fetch(f, job, slot, now_ms);
    work_queue_end(f->queue, slot, now_ms);
    job_free(&job);
    fetch_loop_one_less(f);
    return STEP_AWAY;
}

/* ---- the machine ----------------------------------------------------------------------------- */

typedef enum job_step step_fn(struct fetcher *f, struct job *job);

static step_fn *const steps[] = {
#define STEP(NAME, name, meaning) [STEP_##NAME] = step_##name,
#include "fetcher/steps.def"
#undef STEP
};

static void run_job(struct fetcher *f, struct job *job, enum job_step step)
{
    while (step != STEP_AWAY) {
        job->step = step;
        log_debug("fetcher", "step", "feed=%" PRId64 " source=%s step=%s", job->feed_id,
                  job->source->name, job_step_name(step));
        step = steps[step](f, job);
    }
}

static void on_given(void *ctx)
{
    struct job *job = ctx;
    struct fetcher *f = job->owner;

    room_give(f, job); /* its document was read, and what comes of it is stored */
    run_job(f, job, job->step);
    fetch_loop_pump(f);
}

void fetch_loop_give(struct job *job, enum job_step step)
{
    struct fetcher *f = job->owner;

    job->step = step;
    loop_post(f->loop, on_given, job);
}

/* ---- the pump -------------------------------------------------------------------------------- */

static void start(struct fetcher *f, struct slot *slot)
{
    bool is_content = slot->reasons == REASON_BIT(REASON_CONTENT);
    struct job *job = waiting_of(slot)->job;

    if (job != NULL) { /* it waited for a host and can go on */
        run_job(f, job, STEP_REQUEST);
        return;
    }
    price_renew(f);
    job = job_new(f, is_content ? &source_content : &source_poll, slot->feed_id, slot->reasons,
                  &f->rules);
    if (!own_begin(f, job)) {
        job_free(&job);
        work_queue_end(f->queue, slot, clock_mono_ms());
        wishes_take(f, slot);
        return;
    }
    job->announced_only = f->announced_only;
    fetch_loop_one_more(f);
    run_job(f, job, STEP_LOAD);
}

static void on_timer(void *ctx)
{
    struct fetcher *f = ctx;

    f->timer = NULL;
    fetch_loop_pump(f);
}

static void arm_timer(struct fetcher *f)
{
    int64_t now_ms = clock_mono_ms();
    int64_t wait_ms = -1, at_ms;

    if (!f->stopping && !f->is_full && STAILQ_EMPTY(&f->parked) && room_lets_start(f))
        wait_ms = work_queue_wait_ms(f->queue, now_ms);
    at_ms = wait_ms < 0 ? INT64_MAX : now_ms + wait_ms;
    if (f->retry_at_ms < at_ms)
        at_ms = f->retry_at_ms;
    if (at_ms == INT64_MAX || (f->timer != NULL && f->timer_at_ms <= at_ms))
        return;
    if (f->timer != NULL)
        loop_timer_cancel(&f->timer);
    f->timer = loop_timer_start(f->loop, at_ms - now_ms, on_timer, f);
    f->timer_at_ms = at_ms;
}

static void count_queued(struct fetcher *f)
{
    size_t n = work_queue_queued(f->queue);

    stats_set(STAT_fetch_queued, (int64_t)n);
    stats_set(STAT_fetch_queue_oldest_age_seconds, work_queue_oldest_ms(f->queue));
    stats_lasts(STAT_fetch_saturated_seconds, !f->is_full && work_queue_is_saturated(f->queue));
    stats_add(STAT_work_pending, (int64_t)n - (int64_t)f->n_counted);
    f->n_counted = n;
}

void fetch_loop_pump(struct fetcher *f)
{
    struct slot *slot;

    f->retry_at_ms = INT64_MAX;
    f->is_full = !f->stopping && store_fill(f->store) == FILL_FULL;
    if (f->is_full)
        turn_away(f);
    unpark(f);
    rests_again(f);
    if (!f->stopping) {
        work_queue_tick(f->queue, clock_mono_ms());
        if (f->is_full)
            retry_in(f, FULL_RETRY_MS);
        if (room_is_kept(f) || !room_lets_start(f))
            retry_in(f, ROOM_LOOK_MS);
        while (!f->is_full && STAILQ_EMPTY(&f->parked) && room_lets_start(f) &&
               (slot = work_queue_take(f->queue, clock_mono_ms())) != NULL)
            start(f, slot);
        ask_rows(f);
    }
    count_queued(f);
    arm_timer(f);
}

struct want_one {
    struct fetcher *f;
    int64_t feed_id;
    enum fetch_reason reason;
};

static void on_want_one(void *ctx)
{
    struct want_one *w = ctx;
    struct fetcher *f = w->f;

    if (!f->stopping && own_feed(f, w->feed_id))
        work_queue_want(f->queue, w->feed_id, w->reason, clock_mono_ms());
    mem_free(w);
    fetch_loop_pump(f);
}

void fetch_loop_want(struct fetcher *f, int64_t feed_id, enum fetch_reason reason)
{
    struct want_one *w = NEW(struct want_one);

    *w = (struct want_one){f, feed_id, reason};
    loop_post(f->loop, on_want_one, w);
}

/* ---- several nodes --------------------------------------------------------------------------- */

static void cut_off(struct fetcher *f, struct slot *slot)
{
    struct waiting *w = waiting_of(slot);

    if (w->asking != NULL && !own_may_go_on(f, w->asking))
        http_client_cancel(f->client, w->asking->call);
    else if (slot->state == SLOT_BETWEEN && w->job != NULL && !own_may_go_on(f, w->job))
        run_job(f, w->job, cut(w->job));
}

/* Cut off what may not go on. */
static void cut_all(struct fetcher *f)
{
    struct slot *slot;
    void *it = NULL;

    while ((slot = work_queue_next(f->queue, &it)) != NULL)
        if (slot->state == SLOT_RUNNING || slot->state == SLOT_BETWEEN)
            cut_off(f, slot);
}

/* What waits for a host that is another node's now is that node's to fetch. */
static void hand_over_waiting(struct fetcher *f)
{
    struct slot *slot;
    void *it = NULL;

    while ((slot = work_queue_next(f->queue, &it)) != NULL)
        if ((slot->state == SLOT_WAITING || slot->state == SLOT_DELAYED) &&
            !own_feed(f, slot->feed_id)) {
            wishes_take(f, slot);
            work_queue_drop(f->queue, slot, clock_mono_ms());
        }
}

void fetch_loop_owners_changed(struct fetcher *f)
{
    if (f->stopping)
        return;
    hand_over_waiting(f);
    cut_all(f);
    wishes_look(f);
    fetch_loop_pump(f);
}

static void on_watch(void *ctx)
{
    struct fetcher *f = ctx;

    f->watch = NULL;
    if (f->stopping)
        return;
    own_read_changes(f);
    cut_all(f);
    wishes_look(f);
    upstream_late_again(f);
    fetch_loop_pump(f);
    fetch_loop_watch(f);
}

void fetch_loop_watch(struct fetcher *f)
{
    if (!f->is_alone)
        f->watch = loop_timer_start(f->loop, WATCH_MS, on_watch, f);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void drop_slot(struct fetcher *f, struct slot *slot)
{
    struct fetch_result res = {
        .rc = RC_CLOSED, .feed_id = slot->feed_id, .url = STR(""), .text = STR("shutting down")};

    tell(f, slot, &res);
    work_queue_drop(f->queue, slot, clock_mono_ms());
}

void fetch_loop_stop(struct fetcher *f)
{
    struct slot *slot;
    struct job *job;
    void *it = NULL;

    f->stopping = true;
    while ((job = STAILQ_FIRST(&f->to_load)) != NULL) {
        STAILQ_REMOVE_HEAD(&f->to_load, link);
        run_job(f, job, fail_closed(job));
    }
    while ((slot = work_queue_next(f->queue, &it)) != NULL) {
        if (slot->state == SLOT_BETWEEN)
            run_job(f, waiting_of(slot)->job, fail_closed(waiting_of(slot)->job));
        else if (slot->state != SLOT_RUNNING)
            drop_slot(f, slot);
    }
    wishes_stop(f);
    upstream_late_again(f);
    pthread_mutex_lock(&f->idle_lock);
    f->is_idle = f->n_jobs == 0;
    pthread_mutex_unlock(&f->idle_lock);
}

void fetch_loop_cut(struct fetcher *f)
{
    http_client_free(&f->client);
    if (f->watch != NULL)
        loop_timer_cancel(&f->watch);
    strays_stop(f);
    outage_watch_stop(f);
    if (f->timer != NULL)
        loop_timer_cancel(&f->timer);
    fetch_loop_pump(f); /* parked jobs still go to the workers */
}
