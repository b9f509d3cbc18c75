/* api/http/task.c - see task.h. */
#include "api/http/task.h"

#include "api/http/reply.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define TASK_MS 60000 /* if no reader thread has done it by then, they are stuck; but see may_last */
#define LONG_MS 30000 /* a client waits so long for work that yields */
#define LONG_MAX 256  /* of such work at a time */

struct long_tasks {
    pthread_mutex_t lock;
    struct long_work *first, **last;
    size_t n;
    bool is_at_work; /* a reader has some of it, or will take some */
};

struct task *task_new(struct request *req, task_work_fn *work, task_done_fn *done)
{
    struct task *t = NEW(struct task);

    t->api = req->ask.api;
    t->cfg = req->ask.cfg;
    t->caller = req->ask.caller;
    t->caller.source = str_dup(&t->arena, t->caller.source);
    t->request = str_dup(&t->arena, http_request_id(req->http));
    t->work = work;
    t->done = done;
    t->ticket = ticket_take(req, TASK_MS);
    req->task = t;
    return t;
}

bool task_lasts(const struct task *t)
{
    return t->may_last && atomic_load(&t->has_begun);
}

static void task_free(struct task *t)
{
    if (t->dispose != NULL)
        t->dispose(t);
    arena_release(&t->arena);
    mem_free(t);
}

static void on_home(struct request *req, void *work)
{
    struct task *t = work;

    if (req != NULL) {
        req->task = NULL;
        t->done(t, req);
    }
    task_free(t);
}

void task_finish(struct task *t)
{
    ticket_post(&t->ticket, on_home, t);
}

enum task_step task_handed_over(struct task *t, enum rc rc)
{
    if (rc == RC_OK)
        return TASK_GOES_ON;
    t->rc = rc;
    return TASK_ENDS;
}

static enum task_step step(struct task *t, struct reader *r)
{
    enum task_step next;

    atomic_store(&t->has_begun, true);
    log_set_request(t->request);
    next = t->work(t, r);
    log_set_request(STR_NULL);
    return next;
}

static void on_reader(void *ctx, struct reader *r)
{
    struct task *t = ctx;

    if (step(t, r) == TASK_ENDS)
        task_finish(t);
}

/* The task was not taken. We are on the loop of its request, which has just been held. */
static void refuse(struct task *t, enum rc rc)
{
    struct request *req = t->ticket.request;
    struct problem p;

    req->task = NULL;
    problem_of_err(&p, req->ask.arena, rc, NULL);
    reply_problem(req, &p);
    task_free(t);
}

void task_start(struct task *t)
{
    enum rc rc = store_read(t->api->store, on_reader, t);

    if (rc != RC_OK)
        refuse(t, rc);
}

/* ---- work that takes turns ------------------------------------------------------------------- */

struct long_tasks *long_tasks_new(void)
{
    struct long_tasks *l = NEW(struct long_tasks);

    pthread_mutex_init(&l->lock, NULL);
    l->last = &l->first;
    return l;
}

void long_tasks_free(struct long_tasks **lp)
{
    if (*lp == NULL)
        return;
    pthread_mutex_destroy(&(*lp)->lock);
    mem_free(*lp);
    *lp = NULL;
}

static void put_last(struct long_tasks *l, struct long_work *w)
{
    w->next = NULL;
    *l->last = w;
    l->last = &w->next;
    l->n++;
}

/* NULL: there is none, and nobody is at work any more. */
static struct long_work *take_first(struct long_tasks *l)
{
    struct long_work *w;

    pthread_mutex_lock(&l->lock);
    w = l->first;
    l->is_at_work = w != NULL;
    if (w != NULL) {
        l->first = w->next;
        if (l->first == NULL)
            l->last = &l->first;
        l->n--;
    }
    pthread_mutex_unlock(&l->lock);
    return w;
}

/* One step of what is first; then whoever waits for a reader comes before the next. When the store
 * is closing, or its queue is full, the others are not left behind. */
static void on_turn(void *ctx, struct reader *r)
{
    struct api *api = ctx;
    struct long_tasks *l = api->long_tasks;
    enum rc rc = RC_FULL;
    struct long_work *w;

    while (rc != RC_OK && (w = take_first(l)) != NULL) {
        enum task_step next = w->step(w, r);

        if (next == TASK_YIELDS && rc != RC_CLOSED && clock_mono_ms() < w->until_ms) {
            pthread_mutex_lock(&l->lock);
            put_last(l, w);
            pthread_mutex_unlock(&l->lock);
        } else if (next != TASK_GOES_ON) {
            w->end(w, r);
        }
        rc = store_read(api->store, on_turn, api);
    }
}

enum rc long_work_start(struct api *api, struct long_work *w)
{
    struct long_tasks *l = api->long_tasks;
    enum rc rc = RC_OK;

    w->until_ms = clock_mono_ms() + LONG_MS;
    pthread_mutex_lock(&l->lock);
    if (l->n >= LONG_MAX)
        rc = RC_FULL;
    else if (!l->is_at_work)
        rc = store_read(api->store, on_turn, api);
    if (rc == RC_OK) {
        l->is_at_work = true;
        put_last(l, w);
    }
    pthread_mutex_unlock(&l->lock);
    return rc;
}

static struct task *task_of(struct long_work *w)
{
    return CONTAINER_OF(w, struct task, turns);
}

static enum task_step step_task(struct long_work *w, struct reader *r)
{
    return step(task_of(w), r);
}

static void end_task(struct long_work *w, struct reader *r UNUSED)
{
    task_finish(task_of(w));
}

void task_start_long(struct task *t)
{
    enum rc rc;

    t->turns.step = step_task;
    t->turns.end = end_task;
    rc = long_work_start(t->api, &t->turns);
    if (rc != RC_OK)
        refuse(t, rc);
}
