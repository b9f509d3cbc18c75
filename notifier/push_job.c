/* notifier/push_job.c - see push_job.h. */
#include "notifier/push_job.h"

#include "base/log.h"
#include "base/mem.h"
#include "model/sinks.h"

#define SPARE_MAX 64                    /* jobs that are kept */
#define SPARE_BYTES ((size_t)64 * 1024) /* a job that has grown beyond this is not kept */

void push_jobs_init(struct push_jobs *js, const struct notifier_cfg *cfg)
{
    *js = (struct push_jobs){.cfg = cfg, .bodies = bodies_new(), .hooks = hook_cache_new()};
    SLIST_INIT(&js->spare);
}

static void job_free(struct push_job *job)
{
    buf_release(&job->load.body);
    arena_free(&job->arena);
    mem_free(job);
}

void push_jobs_release(struct push_jobs *js)
{
    struct push_job *job;

    while ((job = SLIST_FIRST(&js->spare)) != NULL) {
        SLIST_REMOVE_HEAD(&js->spare, next);
        job_free(job);
    }
    bodies_free(&js->bodies);
    hook_cache_free(&js->hooks);
}

struct push_job *push_job_new(struct push_jobs *js, int64_t sub_id)
{
    const struct notifier_cfg *cfg = js->cfg;
    struct push_job *job = SLIST_FIRST(&js->spare), made;

    if (job != NULL) {
        SLIST_REMOVE_HEAD(&js->spare, next);
        js->n_spare--;
    } else {
        job = NEW(struct push_job);
        job->arena = arena_new();
        (void)arena_alloc(job->arena, 1); /* so that the arena keeps its first chunk */
        job->start = arena_mark(job->arena);
        job->load.body = (struct buf)BUF_INIT(SINK_BODY_MAX);
    }
    made = (struct push_job){.jobs = js,
                             .bodies = js->bodies,
                             .hooks = js->hooks,
                             .store = cfg->store,
                             .draw = cfg->draw,
                             .draw_items = cfg->draw_items,
                             .draw_ctx = cfg->draw_ctx,
                             .component = cfg->component,
                             .sub_id = sub_id,
                             .max_entries = cfg->max_entries < 1 ? 1 : cfg->max_entries,
                             .arena = job->arena,
                             .start = job->start,
                             .load.body = job->load.body};
    *job = made;
    return job;
}

void push_job_free(struct push_job **jp)
{
    struct push_job *job = *jp;
    struct push_jobs *js;

    *jp = NULL;
    if (job == NULL)
        return;
    js = job->jobs;
    blob_unref(&job->load.shared);
    if (js->n_spare == SPARE_MAX || arena_size(job->arena) > SPARE_BYTES ||
        job->load.body.cap > SPARE_BYTES) {
        job_free(job);
        return;
    }
    arena_rewind(job->arena, job->start);
    buf_reset(&job->load.body);
    job->load.body.max = SINK_BODY_MAX;
    SLIST_INSERT_HEAD(&js->spare, job, next);
    js->n_spare++;
}

/* Read the subscriptions of all jobs. */
static void read_subs(struct push_job *const *jobs, size_t n, struct reader *r)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    struct push_sub *subs = ARENA_ARRAY(&scratch, struct push_sub, n + 1);
    struct err err = ERR_INIT;
    enum rc rc;

    for (size_t i = 0; i < n; i++)
        subs[i] = (struct push_sub){.id = jobs[i]->sub_id, .arena = jobs[i]->arena};
    rc = reader_push_subs(r, subs, n, &err);
    for (size_t i = 0; i < n; i++) {
        struct push_job *job = jobs[i];

        job->sub = rc == RC_OK ? subs[i].sub : NULL;
        job->credential = subs[i].credential;
        job->settings = subs[i].settings;
        job->sink = job->sub == NULL ? NULL : sink_find(job->sub->sink);
        job->found = rc == RC_OK ? PUSH_ENDED : PUSH_UNREAD;
        if (rc != RC_OK)
            job->err = err;
    }
}

/* The subscription was read. PUSH_READY: it may be due a delivery. */
static enum push_found look_at(struct push_job *job)
{
    if (job->sub == NULL)
        return job->found;
    if (str_is_null(job->sub->endpoint))
        return PUSH_ENDED;
    if (job->sub->state != SUB_ACTIVE)
        return PUSH_SUSPENDED;
    if (job->sink != NULL)
        return PUSH_READY;
    err_set(&job->err, RC_UNSUPPORTED, "there is no sink \"%.*s\"", STR_ARG(job->sub->sink));
    return PUSH_UNSENDABLE;
}

/* At most so many entries in this delivery. */
static size_t limit_of(const struct push_job *job)
{
    int of_sink = sinks_batch(job->sub->sink);
    size_t n = job->max_entries;

    if (job->sub->batch > 0)
        n = (size_t)job->sub->batch;
    else if (of_sink > 0)
        n = (size_t)of_sink;
    return job->sub->part_max > 0 && (size_t)job->sub->part_max < n ? (size_t)job->sub->part_max
                                                                    : n;
}

/* Draw the delivery of a subscription that may be due one. */
static void draw(struct push_job *job, struct reader *r)
{
    job->max_entries = limit_of(job);
    job->found = job->sink->draw(job, r);
}

/* What has a filter may have much to be judged. If enough was judged for others, it waits. */
static void draw_unless(bool is_spent, struct push_job *job, struct reader *r)
{
    if (is_spent && !str_is_null(job->sub->filter))
        job->found = PUSH_LATER;
    else
        draw(job, r);
}

void push_jobs_read(struct push_job *const *jobs, size_t n, struct reader *r)
{
    bool is_spent = false;

    if (reader_hold(r, NULL) != RC_OK) /* then each call has a snapshot of its own, or fails */
        log_debug("notifier", "snapshot", "jobs=%zu error=\"no snapshot for all\"", n);
    read_subs(jobs, n, r);
    for (size_t i = 0; i < n; i++) {
        jobs[i]->found = look_at(jobs[i]);
        if (jobs[i]->found == PUSH_READY && jobs[i]->sink->in_snapshot)
            draw_unless(reader_has_judged_enough(r), jobs[i], r);
    }
    reader_let_go(r);
    for (size_t i = 0; i < n; i++)
        if (jobs[i]->found == PUSH_READY && !jobs[i]->sink->in_snapshot) {
            draw_unless(is_spent, jobs[i], r);
            is_spent |= jobs[i]->found == PUSH_LATER;
        }
}

static enum push_found read_tested(struct push_job *job, struct reader *r)
{
    read_subs(&job, 1, r);
    if (job->sub == NULL)
        return job->found;
    if (str_is_null(job->sub->endpoint)) {
        err_set(&job->err, RC_UNSUPPORTED, "it has no endpoint");
        return PUSH_UNSENDABLE;
    }
    if (job->sink == NULL || job->sink->draw_test == NULL) {
        err_set(&job->err, RC_UNSUPPORTED, "its sink \"%.*s\" has no test",
                STR_ARG(job->sub->sink));
        return PUSH_UNSENDABLE;
    }
    return job->sink->draw_test(job, r);
}

void push_job_read_test(struct push_job *job, struct reader *r)
{
    job->found = read_tested(job, r);
}
