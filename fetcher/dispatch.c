/* fetcher/dispatch.c - the fetch loop: slots become jobs, jobs read their record, run their
 * transfers, go to the workers and come back from the storer.
 *
 * The loop never waits: hosts and records are read on the store's reader threads, documents are
 * parsed by workers. A job in flight is in exactly one place; its slot stays here and is found by
 * the feed's id. Everything refused for lack of room is kept and tried again by the timer, and
 * while answered jobs wait for a worker no transfer starts. */
#include "fetcher/fetcher_priv.h"

#include <inttypes.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "fetcher/content.h"
#include "fetcher/delivery.h"
#include "fetcher/parse_job.h"
#include "fetcher/waiting.h"
#include "net/url.h"

#define LOOKUP_BATCH 64
#define READ_BATCH 32
#define ROOM_RETRY_MS 10     /* a full queue is tried again after it */
#define BROKEN_RETRY_MS 1000 /* a failing database */
#define LIMITED_COOL_S 60    /* for a 429 that does not say how long */
#define COOL_MOST_S 86400    /* whatever it says */
#define PATIENCE_MS 5000     /* who waits is told so long after the document, at the latest */

static void finish(struct fetcher *f, struct job *job);

static void retry_in(struct fetcher *f, int64_t ms)
{
    int64_t at = clock_mono_ms() + ms;

    if (at < f->retry_at_ms)
        f->retry_at_ms = at;
}

/* A job or look-up that other threads may have had is back and over. */
static void one_less(struct fetcher *f)
{
    f->n_jobs--;
    if (!f->stopping || f->n_jobs > 0)
        return;
    pthread_mutex_lock(&f->idle_lock);
    f->is_idle = true;
    pthread_cond_signal(&f->idle_cond);
    pthread_mutex_unlock(&f->idle_lock);
}

/* ---- hosts of feeds ------------------------------------------------------------------------ */

struct lookup {
    struct fetcher *f;
    size_t n;
    int64_t ids[LOOKUP_BATCH];
    struct str authorities[LOOKUP_BATCH]; /* null: no such feed */
    bool insists[LOOKUP_BATCH];
    bool is_content[LOOKUP_BATCH]; /* of a record of the feed, not of the feed */
    enum rc rc;
    struct arena arena;
};

static void drop_slot(struct fetcher *f, struct slot *slot, enum rc rc, struct str text)
{
    struct fetch_result res = {.rc = rc, .feed_id = slot->feed_id, .url = STR(""), .text = text};

    waiting_tell(slot, &res, clock_mono_ms());
    work_queue_drop(f->queue, slot, clock_mono_ms());
}

static void on_looked_up(void *ctx)
{
    struct lookup *look = ctx;
    struct fetcher *f = look->f;
    int64_t now_ms = clock_mono_ms();

    f->is_looking = false;
    one_less(f);
    if (look->rc != RC_OK && !f->stopping) {
        work_queue_reread(f->queue, look->ids, look->n);
        retry_in(f, BROKEN_RETRY_MS);
    }
    for (size_t i = 0; i < look->n && look->rc == RC_OK && !f->stopping; i++) {
        struct slot *slot = work_queue_find(f->queue, look->ids[i]);

        if (slot == NULL || slot->state != SLOT_UNREAD)
            continue;
        if (str_is_null(look->authorities[i]))
            drop_slot(f, slot, RC_NOT_FOUND, STR("there is no such feed any more"));
        else
            work_queue_set_host(f->queue, look->ids[i], look->authorities[i], look->insists[i],
                                now_ms);
    }
    arena_release(&look->arena);
    mem_free(look);
    dispatch_pump(f);
}

/* On a reader thread. */
static void look_up(void *ctx, struct reader *r)
{
    struct lookup *look = ctx;
    struct feed_record *recs;
    struct err err = ERR_INIT;
    size_t n_recs = 0;

    look->rc = reader_feeds(r, look->ids, look->n, &look->arena, &recs, &n_recs, &err);
    if (look->rc != RC_OK)
        log_error("fetcher", "read_failed", "why=%s", log_quote(str_from(err.text)));
    for (size_t i = 0, k = 0; i < look->n && look->rc == RC_OK && k < n_recs; i++)
        if (recs[k].id == look->ids[i]) { /* records come in the order of the ids */
            const struct feed_record *rec = &recs[k++];

            look->insists[i] = !look->is_content[i] &&
                               (rec->last_check_at == TIME_UNKNOWN || rec->level == LEVEL_EXACT);
            look->authorities[i] = look->is_content[i] ? content_authority(&look->arena, rec, r)
                                                       : url_authority(&look->arena, rec->url);
        }
    loop_post(look->f->loop, on_looked_up, look);
}

static void look_up_hosts(struct fetcher *f)
{
    struct lookup *look;
    enum rc rc;

    if (f->is_looking)
        return;
    look = NEW(struct lookup);
    look->f = f;
    look->n = work_queue_unread(f->queue, look->ids, LOOKUP_BATCH);
    if (look->n == 0) {
        mem_free(look);
        return;
    }
    for (size_t i = 0; i < look->n; i++)
        look->is_content[i] = content_is_wanted(work_queue_find(f->queue, look->ids[i])->reasons);
    rc = store_read(f->store, look_up, look);
    if (rc == RC_OK) {
        f->is_looking = true;
        f->n_jobs++;
        return;
    }
    work_queue_reread(f->queue, look->ids, look->n);
    retry_in(f, rc == RC_FULL ? ROOM_RETRY_MS : BROKEN_RETRY_MS);
    mem_free(look);
}

/* ---- the life of a job --------------------------------------------------------------------- */

static struct slot *slot_of(struct fetcher *f, const struct job *job)
{
    struct slot *slot = work_queue_find(f->queue, job->feed_id);

    ASSERT(slot != NULL && (slot->state == SLOT_RUNNING || slot->state == SLOT_BETWEEN));
    return slot;
}

static void fail(struct fetcher *f, struct job *job, enum rc rc, struct str text)
{
    job->rc = rc;
    job->text = str_dup(job->arena, text);
    finish(f, job);
}

static void give_to_worker(struct fetcher *f, struct job *job)
{
    if (STAILQ_EMPTY(&f->parked) && queue_try_push(f->parse, job) == RC_OK)
        return;
    STAILQ_INSERT_TAIL(&f->parked, job, link);
    retry_in(f, ROOM_RETRY_MS);
}

static void unpark(struct fetcher *f)
{
    struct job *job;

    while ((job = STAILQ_FIRST(&f->parked)) != NULL) {
        STAILQ_REMOVE_HEAD(&f->parked, link);
        if (queue_try_push(f->parse, job) != RC_OK) {
            STAILQ_INSERT_HEAD(&f->parked, job, link);
            retry_in(f, ROOM_RETRY_MS);
            return;
        }
    }
}

/* The job has another URL to ask: it waits for that host. */
static void go_on(struct fetcher *f, struct job *job)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct slot *slot = slot_of(f, job);

    if (f->stopping) {
        fail(f, job, RC_CLOSED, STR("shutting down"));
        return;
    }
    waiting_of(slot)->job = job;
    work_queue_go_on(f->queue, slot, url_authority(&a, job->url), clock_mono_ms());
}

/* Did anything answer? Refusals of our own guard say nothing about the line. */
static void note_line(struct fetcher *f, struct job *job, enum rc rc, int status)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    bool unreached = status == 0 && (rc == RC_PEER || rc == RC_TIMEOUT);
    bool is_out;

    if (rc == RC_DENIED)
        return;
    is_out = outage_note(&f->outage, url_authority(&a, job->url), !unreached, clock_mono_ms());
    if (is_out != f->outage.is_on) {
        if (is_out)
            log_warn("fetcher", "outage",
                     "text=\"no publisher can be reached: errors are not charged to feeds\"");
        else
            log_info("fetcher", "outage_over", "text=\"publishers answer again\"");
        f->outage.is_on = is_out;
    }
    job->outage = is_out && unreached;
}

/* How long the host of a 429 or 503 is left alone. */
static int64_t cool_ms(const struct response *resp)
{
    if (resp->retry_after_s < 0)
        return LIMITED_COOL_S * (int64_t)1000;
    return 1000 * (resp->retry_after_s < COOL_MOST_S ? resp->retry_after_s : COOL_MOST_S);
}

static void on_answer(void *ctx, enum rc rc, struct http_answer *answer, const struct err *err)
{
    struct job *job = ctx;
    struct fetcher *f = job->owner;
    struct slot *slot = slot_of(f, job);
    int64_t now_ms = clock_mono_ms();
    enum job_step step;

    stats_add(STAT_fetch_running, -1);
    work_queue_leave_host(f->queue, slot, now_ms);
    if (rc == RC_CLOSED) {
        arena_free(&job->answer_arena);
        job->answer_arena = answer->arena;
        fail(f, job, RC_CLOSED, STR("shutting down"));
        return;
    }
    stats_add(STAT_fetch_bytes_total, (int64_t)answer->body.len);
    if (rc == RC_OK && answer->status == 304)
        stats_inc(STAT_fetch_304_total);
    note_line(f, job, rc, answer->status);
    step = job_answered(job, rc, answer, err);
    if (job->resp.kind == RESPONSE_LIMITED)
        work_queue_cool(f->queue, slot, cool_ms(&job->resp), now_ms);
    if (step == JOB_SEND)
        go_on(f, job);
    else
        give_to_worker(f, job);
    dispatch_pump(f);
}

static void send_request(struct fetcher *f, struct slot *slot, struct job *job)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct http_field fields[JOB_FIELDS];
    struct http_call call;

    if (!str_eqz(url_authority(&a, job->url), slot->host->key)) { /* it moved since it was queued */
        go_on(f, job);
        return;
    }
    waiting_of(slot)->job = NULL;
    job_call(job, f->user_agent, fields, &call);
    call.max_body = job->target == JOB_CONTENT && f->max_body > LIMIT_FETCH_CONTENT
                        ? LIMIT_FETCH_CONTENT
                        : f->max_body;
    call.timeout_ms = f->timeout_ms;
    stats_inc(STAT_fetch_total);
    stats_add(STAT_fetch_running, 1);
    http_client_start(f->client, &call, on_answer, job);
}

/* ---- records ------------------------------------------------------------------------------- */

struct read_batch {
    struct fetcher *f;
    struct job_list jobs;
};

static void on_records(void *ctx)
{
    struct read_batch *batch = ctx;
    struct fetcher *f = batch->f;
    struct job *job;

    while ((job = STAILQ_FIRST(&batch->jobs)) != NULL) {
        STAILQ_REMOVE_HEAD(&batch->jobs, link);
        if (job->rc != RC_OK)
            finish(f, job);
        else if (f->stopping)
            fail(f, job, RC_CLOSED, STR("shutting down"));
        else if (job->target == JOB_CONTENT && job->content->open.entry_id == 0)
            finish(f, job); /* it was done, or is void */
        else if (job->target == JOB_CONTENT && str_is_null(job->url))
            give_to_worker(f, job);
        else
            send_request(f, slot_of(f, job), job);
    }
    mem_free(batch);
    dispatch_pump(f);
}

/* On a reader thread. */
static void read_records(void *ctx, struct reader *r)
{
    struct read_batch *batch = ctx;
    struct job *job;

    STAILQ_FOREACH(job, &batch->jobs, link)
    {
        struct err err = ERR_INIT;
        struct feed_record *rec;
        size_t n = 0;

        job->rc = reader_feeds(r, &job->feed_id, 1, job->arena, &rec, &n, &err);
        if (job->rc != RC_OK) {
            job->text = str_dup(job->arena, str_from(err.text));
            job->retry_ms = 60 * BROKEN_RETRY_MS;
        } else if (n == 0) {
            job->rc = RC_NOT_FOUND;
            job->text = STR("there is no such feed any more");
        } else if (content_is_wanted(job->reasons)) {
            job->rc = content_begin(job, rec, r, &err);
        } else {
            job_begin(job, rec);
        }
    }
    loop_post(batch->f->loop, on_records, batch);
}

static void ask_records(struct fetcher *f)
{
    while (!STAILQ_EMPTY(&f->to_read)) {
        struct read_batch *batch = NEW(struct read_batch);
        struct job *job;
        enum rc rc;

        batch->f = f;
        STAILQ_INIT(&batch->jobs);
        for (int n = 0; n < READ_BATCH && (job = STAILQ_FIRST(&f->to_read)) != NULL; n++) {
            STAILQ_REMOVE_HEAD(&f->to_read, link);
            STAILQ_INSERT_TAIL(&batch->jobs, job, link);
        }
        rc = store_read(f->store, read_records, batch);
        if (rc == RC_OK)
            continue;
        STAILQ_CONCAT(&batch->jobs, &f->to_read); /* keeps their order */
        STAILQ_CONCAT(&f->to_read, &batch->jobs);
        mem_free(batch);
        retry_in(f, rc == RC_FULL ? ROOM_RETRY_MS : BROKEN_RETRY_MS);
        return;
    }
}

/* ---- workers and the end ------------------------------------------------------------------- */

static void on_more(void *ctx)
{
    struct job *job = ctx;
    struct fetcher *f = job->owner;

    go_on(f, job);
    dispatch_pump(f);
}

/* What the feed's own document came to. */
static struct fetch_result result_of(struct arena *a, const struct job *job)
{
    return (struct fetch_result){
        .rc = job->rc,
        .feed_id = job->result_id,
        .status = job->status,
        .url = job->rec == NULL ? STR("") : url_public(a, job->rec->url),
        .text = str_is_null(job->text) ? STR("") : job->text,
    };
}

/* Reading the past takes its time: what there is can be shown. */
static void on_impatient(void *ctx)
{
    AUTO(arena_release) struct arena a = ARENA_INIT; /* the job's may be in use */
    struct job *job = ctx;
    struct fetcher *f = job->owner;
    struct fetch_result res = result_of(&a, job);

    job->patience = NULL;
    waiting_tell(slot_of(f, job), &res, clock_mono_ms());
}

/* Is more asked of the feed? News come first, and a publisher who asks for time gets it. */
static bool may_go_on(struct fetcher *f, struct job *job)
{
    struct feed_brief brief;

    if (store_brief(f->store, job->feed_id, &brief) && job->n_archives > 0 &&
        brief.next_fetch_at != TIME_UNKNOWN && brief.next_fetch_at <= clock_now_s())
        return false;
    return job->rc == RC_OK && job->n_archives + job->follow.n_asked < f->catch_up &&
           job->result_id == job->feed_id && job->resp.kind != RESPONSE_LIMITED && !f->stopping &&
           (slot_of(f, job)->again & ~REASON_BIT(REASON_CONTENT)) == 0;
}

/* The next piece of a stream, or a document of the feed's past. */
static bool ask_on(struct job *job)
{
    if (job->next_cursor.len > 0)
        return job_ask_more(job);
    if (str_is_null(job->next_archive))
        return false;
    job_ask_archive(job);
    return true;
}

static void on_ended(void *ctx)
{
    struct job *job = ctx;
    struct fetcher *f = job->owner;

    if (may_go_on(f, job) && ask_on(job)) {
        if (job->n_archives + job->follow.n_asked == 1)
            job->patience = loop_timer_start(f->loop, PATIENCE_MS, on_impatient, job);
        go_on(f, job);
    } else {
        finish(f, job);
    }
    dispatch_pump(f);
}

/* On the storer's thread, after the commit. */
static void on_stored(void *ctx, enum rc rc, const struct store_result *res, const struct err *err)
{
    struct job *job = ctx;
    struct fetcher *f = job->owner;

    job->next_archive = rc == RC_OK && !str_is_null(res->next_archive)
                            ? str_dup(job->arena, res->next_archive)
                            : STR_NULL;
    job->next_cursor =
        rc == RC_OK && res->next_cursor.len > 0 ? str_dup(job->arena, res->next_cursor) : STR_NULL;
    if (job->target == JOB_CONTENT) {
        job->wants_feed = rc == RC_OK && res->wants_feed;
        job->rc = rc;
    }
    if (job->target == JOB_ARCHIVE ||
        job->target == JOB_CONTENT) { /* what the job came to is known */
        loop_post(f->loop, on_ended, job);
        return;
    }
    if (rc == RC_OK) {
        job->result_id = res->id;
    } else {
        job->rc = rc;
        job->text = str_dup(job->arena, str_from(err != NULL ? err->text : rc_meaning(rc)));
        job->retry_ms = 60 * BROKEN_RETRY_MS;
    }
    loop_post(f->loop, on_ended, job);
}

void *dispatch_worker_main(void *arg)
{
    struct worker *worker = arg;
    struct fetcher *f = worker->f;
    struct parse_worker w = {f->store, worker->reader, &f->give_up, on_stored};
    void *item;

    thread_set_name("parse");
    while (queue_pop(f->parse, &item, 1, -1) > 0) {
        struct job *job = item;

        delivery_run_all(worker);
        if (job == &f->wake)
            continue;
        switch (parse_job_run(&w, job)) {
        case JOB_SEND:
            loop_post(f->loop, on_more, job);
            break;
        case JOB_END:
            loop_post(f->loop, on_ended, job);
            break;
        case JOB_WORK: /* the storer has it */
            break;
        }
    }
    delivery_run_all(worker);
    reader_close(&worker->reader);
    return NULL;
}

/* Who waits, waits for the feed. */
static void finish_content(struct fetcher *f, struct job *job)
{
    struct slot *slot = slot_of(f, job);
    int64_t now_ms = clock_mono_ms();

    if (job->rc != RC_OK)
        sweeper_put(f->contents, job->feed_id, clock_now_s() + 60 * BROKEN_RETRY_MS / 1000);
    waiting_of(slot)->job = NULL;
    if (job->wants_feed && !f->stopping)
        work_queue_want(f->queue, job->feed_id, REASON_PERIOD, now_ms);
    work_queue_end(f->queue, slot, now_ms);
    job_free(&job);
    one_less(f);
}

/* Everything is done or in vain: tell who waits, free the slot for the next fetch. */
static void finish(struct fetcher *f, struct job *job)
{
    struct slot *slot = slot_of(f, job);
    int64_t now_ms = clock_mono_ms();
    struct fetch_result res = result_of(job->arena, job);
    struct feed_brief brief;

    if (job->target == JOB_CONTENT && !f->stopping) {
        finish_content(f, job);
        return;
    }
    if (job->target == JOB_CONTENT)
        res = (struct fetch_result){
            .rc = RC_CLOSED, .feed_id = job->feed_id, .url = STR(""), .text = STR("shutting down")};
    if (job->patience != NULL)
        loop_timer_cancel(&job->patience);
    if (job->rc != RC_OK && job->rc != RC_CLOSED)
        stats_inc(STAT_fetch_failed_total);
    log_debug("fetcher", "fetched", "feed=%" PRId64 " rc=%s status=%d url=%s", job->feed_id,
              rc_name(job->rc), job->status, log_quote(res.url));
    if (job->retry_ms > 0) {
        log_error("fetcher", "not_stored", "feed=%" PRId64 " rc=%s why=%s", job->feed_id,
                  rc_name(job->rc), log_quote(res.text));
        sweeper_put(f->sweeper, job->feed_id, clock_now_s() + job->retry_ms / 1000);
    }
    subscriber_found(f->subscriber, job->result_id, &job->hubs);
    waiting_of(slot)->job = NULL;
    waiting_tell(slot, &res, now_ms);
    if (job->result_id != job->feed_id && slot->again != 0) { /* it became part of another feed */
        slot->again = 0;
        work_queue_want(f->queue, job->result_id, REASON_PING, now_ms);
    } else if (job->result_id != job->feed_id && !str_is_null(job->next_archive)) {
        work_queue_want(f->queue, job->result_id, REASON_PERIOD,
                        now_ms); /* its past is read there */
    }
    /* it may have been due while its past was read */
    if (!f->stopping && store_brief(f->store, job->feed_id, &brief))
        sweeper_put_if_absent(f->sweeper, job->feed_id, brief.next_fetch_at);
    work_queue_end(f->queue, slot, now_ms);
    job_free(&job);
    one_less(f);
}

/* ---- the pump ------------------------------------------------------------------------------ */

static void start(struct fetcher *f, struct slot *slot)
{
    struct waiting *w = waiting_of(slot);
    struct job *job = w->job;

    if (job != NULL) { /* it waited for a host and goes on */
        send_request(f, slot, job);
        return;
    }
    job = job_new(f, slot->feed_id, slot->reasons, &f->rules);
    job->announced_only = f->announced_only;
    f->n_jobs++;
    STAILQ_INSERT_TAIL(&f->to_read, job, link);
}

static void on_timer(void *ctx)
{
    struct fetcher *f = ctx;

    f->timer = NULL;
    dispatch_pump(f);
}

static void arm_timer(struct fetcher *f)
{
    int64_t now_ms = clock_mono_ms();
    int64_t wait_ms = -1, at_ms;

    if (!f->stopping && STAILQ_EMPTY(&f->parked))
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

void dispatch_pump(struct fetcher *f)
{
    struct slot *slot;

    f->retry_at_ms = INT64_MAX;
    unpark(f);
    if (!f->stopping) {
        work_queue_tick(f->queue, clock_mono_ms());
        while (STAILQ_EMPTY(&f->parked) &&
               (slot = work_queue_take(f->queue, clock_mono_ms())) != NULL)
            start(f, slot);
        look_up_hosts(f); /* after the queue has looked at the time: a delay may have ended */
        ask_records(f);
        stats_set(STAT_fetch_queued, (int64_t)work_queue_queued(f->queue));
    }
    arm_timer(f);
}

void dispatch_stop(struct fetcher *f)
{
    struct slot *slot;
    struct job *job;
    void *it = NULL;

    f->stopping = true;
    while ((job = STAILQ_FIRST(&f->to_read)) != NULL) {
        STAILQ_REMOVE_HEAD(&f->to_read, link);
        fail(f, job, RC_CLOSED, STR("shutting down"));
    }
    while ((slot = work_queue_next(f->queue, &it)) != NULL) {
        if (slot->state == SLOT_BETWEEN)
            fail(f, waiting_of(slot)->job, RC_CLOSED, STR("shutting down"));
        else if (slot->state != SLOT_RUNNING)
            drop_slot(f, slot, RC_CLOSED, STR("shutting down"));
    }
    pthread_mutex_lock(&f->idle_lock);
    f->is_idle = f->n_jobs == 0;
    pthread_mutex_unlock(&f->idle_lock);
}

void dispatch_cut(struct fetcher *f)
{
    http_client_free(&f->client);
    if (f->timer != NULL)
        loop_timer_cancel(&f->timer);
    dispatch_pump(f); /* what is parked still goes to the workers */
}
