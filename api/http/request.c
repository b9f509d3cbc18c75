/* api/http/request.c - see request.h. */
#include "api/http/request.h"

#include "api/http/auth.h"
#include "api/http/reply.h"
#include "api/http/task.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "storage/store.h"

#define LOOK_MS 4000 /* then, and from then on each second, look whether the database is there */
#define LOOK_AGAIN_MS 1000

static void on_gone(void *ctx, uint64_t serial UNUSED)
{
    struct request *req = ctx;

    if (req->on_gone != NULL)
        req->on_gone(req);
}

static void on_late(void *ctx, uint64_t serial);

/* Is the store at work on an answer that may still come in time? Then wait for it. */
static bool waits_on(struct request *req)
{
    int64_t left_ms = req->until_ms - clock_mono_ms();

    if (req->task != NULL && task_lasts(req->task))
        left_ms = LOOK_AGAIN_MS;
    if (left_ms <= 0 || store_health(req->ask.api->store, NULL) == RC_AGAIN)
        return false;
    http_request_hold(req->http, on_gone, on_late,
                      left_ms < LOOK_AGAIN_MS ? left_ms : LOOK_AGAIN_MS, req);
    return true;
}

static bool is_stopping(struct api *api)
{
    bool is;

    pthread_mutex_lock(&api->stop_lock);
    is = api->stopping;
    pthread_mutex_unlock(&api->stop_lock);
    return is;
}

static void end_problem(const struct request *req, struct problem *p)
{
    problem_set(p, req->ask.arena, PROBLEM_BUSY, "The service is being started anew. Ask again.");
    p->retry_after_s = 1;
}

bool request_refuse_at_end(struct request *req)
{
    struct problem p;

    if (!is_stopping(req->ask.api))
        return false;
    end_problem(req, &p);
    reply_problem(req, &p);
    return true;
}

void request_leave_nothing(struct request *req UNUSED)
{
}

static void on_late(void *ctx, uint64_t serial UNUSED)
{
    struct request *req = ctx;
    struct problem p;
    bool is_end = is_stopping(req->ask.api);

    /* a request that waits for a publisher or for news is answered at once when the server stops */
    if (!(is_end && req->on_gone != NULL) && waits_on(req))
        return;
    req->is_late = true;
    req->task = NULL; /* it frees itself when it comes home */
    if (req->on_gone != NULL)
        req->on_gone(req);
    problem_set(&p, req->ask.arena, PROBLEM_BUSY, "No answer could be made in time.");
    p.retry_after_s = 5;
    if (is_end)
        end_problem(req, &p);
    reply_problem(req, &p);
}

void request_hold(struct request *req, int64_t deadline_ms)
{
    if (req->serial == 0)
        req->serial = http_request_hold(req->http, on_gone, on_late, deadline_ms, req);
}

void request_hold_for_store(struct request *req, int64_t deadline_ms)
{
    if (req->serial != 0)
        return;
    if (deadline_ms > LOOK_MS) {
        req->until_ms = clock_mono_ms() + deadline_ms;
        deadline_ms = LOOK_MS;
    }
    request_hold(req, deadline_ms);
}

bool request_in_rate(struct request *req, struct problem *p)
{
    const struct caller *c = &req->ask.caller;

    if (c->rate == 0)
        return true;
    req->has_rate = true;
    if (buckets_spend(req->ask.api->rates, c->source, c->rate, c->rate, clock_mono_ms(),
                      &req->rate_left))
        return true;
    problem_set(p, req->ask.arena, PROBLEM_TOO_MANY,
                "This token may make %lld requests a minute. Try again in %lld seconds.",
                (long long)c->rate, (long long)req->rate_left.next_s);
    p->retry_after_s = (int)req->rate_left.next_s;
    return false;
}

bool request_is_foreign(const struct request *req)
{
    return auth_is_foreign(http_request_field(req->http, "sec-fetch-site"),
                           http_request_field(req->http, "origin"),
                           http_request_field(req->http, "referer"), req->ask.cfg->cors_origin);
}

void request_foreign_problem(const struct request *req, const char *what, struct problem *p)
{
    problem_set(p, req->ask.arena, PROBLEM_FORBIDDEN,
                "A page of another site may not %s; --cors-origin names pages that may.", what);
}

void request_refuse_foreign(struct request *req, const char *what)
{
    struct problem p;

    request_foreign_problem(req, what, &p);
    reply_problem(req, &p);
}
