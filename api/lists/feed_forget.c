/* api/lists/feed_forget.c - DELETE /sub/feed: a feed goes with all that it has. */
#include "api/http/handlers.h"

#include "api/http/reply.h"
#include "api/lists/feed_shown.h"

struct forgetting {
    struct feed_named named;
    bool is_missing; /* then problem says so */
    struct problem problem;
};

/* The storer's thread. */
static void on_stored(void *ctx, enum rc rc, const struct store_result *res UNUSED,
                      const struct err *err)
{
    struct task *t = ctx;

    t->rc = rc;
    t->err = *err;
    task_finish(t);
}

static enum task_step work(struct task *t, struct reader *r)
{
    struct forgetting *f = t->data;

    f->is_missing = !feed_named_find(t, r, &f->named, &f->problem);
    if (f->is_missing)
        return TASK_ENDS;
    return task_handed_over(t, store_forget_feed(t->api->store, f->named.id, on_stored, t));
}

static void reply_forgotten(struct task *t, struct request *req)
{
    const struct forgetting *f = t->data;
    struct reply r = REPLY_INIT;
    struct problem p;

    if (f->is_missing) {
        reply_problem(req, &f->problem);
        return;
    }
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
        p.parameter = f->named.url.len > 0 ? STR("url") : STR("id");
    reply_problem(req, &p);
}

void feed_forget(struct request *req)
{
    struct feed_named named;
    struct forgetting *f;
    struct problem p;
    struct task *t;

    if (!feed_named_read(&req->ask.params, req->ask.arena, &named, &p)) {
        reply_problem(req, &p);
        return;
    }
    if (feed_named_prepare(req, feed_forget))
        return;
    t = task_new(req, work, reply_forgotten);
    t->data = f = ARENA_NEW(&t->arena, struct forgetting);
    f->named = feed_named_copy(&t->arena, &named);
    task_start(t);
}
