/* api/http/task.c - see task.h. */
#include "api/http/task.h"

#include "api/http/reply.h"
#include "base/log.h"
#include "base/mem.h"

#define TASK_MS 60000 /* if no reader thread has started it by then, they are stuck */

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
    return t;
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

    if (req != NULL)
        t->done(t, req);
    task_free(t);
}

void task_finish(struct task *t)
{
    ticket_post(&t->ticket, on_home, t);
}

static void on_reader(void *ctx, struct reader *r)
{
    struct task *t = ctx;

    enum task_step step;

    log_set_request(t->request);
    step = t->work(t, r);
    log_set_request(STR_NULL);
    if (step == TASK_ENDS)
        task_finish(t);
}

void task_start(struct task *t)
{
    struct request *req = t->ticket.request; /* we are on its loop, and it has just been held */
    enum rc rc = store_read(t->api->store, on_reader, t);
    struct problem p;

    if (rc == RC_OK)
        return;
    problem_of_err(&p, req->ask.arena, rc, NULL);
    reply_problem(req, &p);
    task_free(t);
}
