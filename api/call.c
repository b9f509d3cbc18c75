/* api/call.c - holding a request and finding it again. */
#include "api/call.h"

#include "api/reply.h"
#include "base/mem.h"

#define TASK_MS 60000 /* a reader thread that has not come to it by then is stuck */

static void on_gone(void *ctx, uint64_t serial UNUSED)
{
    struct call *c = ctx;

    if (c->on_gone != NULL)
        c->on_gone(c);
}

static void on_late(void *ctx, uint64_t serial UNUSED)
{
    struct call *c = ctx;
    struct problem p;

    if (c->on_gone != NULL)
        c->on_gone(c);
    problem_set(&p, c->arena, PROBLEM_BUSY, "No answer could be made in time.");
    p.retry_after_s = 5;
    reply_problem(c, &p);
}

void call_hold(struct call *c, int64_t deadline_ms)
{
    if (c->serial == 0)
        c->serial = http_request_hold(c->req, on_gone, on_late, deadline_ms, c);
}

struct call *call_find(struct loop *l, uint64_t serial, struct call *c)
{
    return http_request_find(l, serial) != NULL ? c : NULL;
}

struct task *task_new(struct call *c, task_work_fn *work, task_done_fn *done)
{
    struct task *t = NEW(struct task);

    call_hold(c, TASK_MS);
    t->api = c->api;
    t->cfg = c->cfg;
    t->work = work;
    t->done = done;
    t->loop = http_request_loop(c->req);
    t->serial = c->serial;
    t->call = c;
    return t;
}

static void task_free(struct task *t)
{
    if (t->dispose != NULL)
        t->dispose(t);
    arena_release(&t->arena);
    mem_free(t);
}

static void on_finished(void *ctx)
{
    struct task *t = ctx;
    struct call *c = call_find(t->loop, t->serial, t->call);

    if (c != NULL)
        t->done(t, c);
    task_free(t);
}

void task_finish(struct task *t)
{
    loop_post(t->loop, on_finished, t);
}

static void on_reader(void *ctx, struct reader *r)
{
    struct task *t = ctx;

    if (t->work(t, r))
        task_finish(t);
}

void task_start(struct task *t)
{
    enum rc rc = store_read(t->api->store, on_reader, t);
    struct problem p;

    if (rc == RC_OK)
        return;
    problem_of_err(&p, t->call->arena, rc, NULL);
    reply_problem(t->call, &p);
    task_free(t);
}
