/* api/lists/feed_forget.c - DELETE /sub/feed: a feed goes with all that it has. */
#include "api/http/handlers.h"

#include "api/http/reply.h"
#include "api/http/task.h"

/* The storer's thread. */
static void on_stored(void *ctx, enum rc rc, const struct store_result *res UNUSED,
                      const struct err *err)
{
    struct task *t = ctx;

    t->rc = rc;
    t->err = *err;
    task_finish(t);
}

static enum task_step work(struct task *t, struct reader *r UNUSED)
{
    const int64_t *id = t->data;

    return task_handed_over(t, store_forget_feed(t->api->store, *id, on_stored, t));
}

static void reply_forgotten(struct task *t, struct request *req)
{
    struct reply r = REPLY_INIT;
    struct problem p;

    if (t->rc == RC_OK) {
        r.status = 204;
        r.cache = "no-store";
        reply_send(req, &r);
        return;
    }
    if (t->rc == RC_CONFLICT)
        problem_set(&p, req->ask.arena, PROBLEM_IN_USE, "%s", t->err.text);
    else
        problem_of_err(&p, req->ask.arena, t->rc, &t->err);
    if (t->rc == RC_NOT_FOUND)
        p.parameter = STR("id");
    reply_problem(req, &p);
}

void feed_forget(struct request *req)
{
    struct problem p;
    struct task *t;
    int64_t id, *copy;

    if (!params_id(&req->ask.params, req->ask.arena, PARAM_feed_id, &id, &p)) {
        reply_problem(req, &p);
        return;
    }
    t = task_new(req, work, reply_forgotten);
    t->data = copy = ARENA_NEW(&t->arena, int64_t);
    *copy = id;
    task_start(t);
}
