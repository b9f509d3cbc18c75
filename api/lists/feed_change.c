/* api/lists/feed_change.c - PATCH /sub/feed: pause a feed, fetch it now, or set how often it is
 * fetched, what is sent with that and how much of it is kept. */
#include "api/http/handlers.h"

#include "api/http/body.h"
#include "api/lists/feed_shown.h"
#include "api/lists/keep_read.h"
#include "api/lists/sub_secrets.h"
#include "api/views/shapes.h"
#include "base/clock.h"

struct patching {
    struct feed_shown shown; /* first */
    struct str query, body, content_type;
    struct params params;
    struct feed_named named;
    struct feed_change change;
};

static bool read_change(struct task *t, struct reader *r, struct patching *pt)
{
    struct problem *p = &pt->shown.problem;
    struct feed_change *c = &pt->change;
    struct arena *a = &t->arena;
    int paused;

    if (!params_add(&pt->params, a, pt->query, p) ||
        !body_params_add(&pt->params, a, pt->body, pt->content_type, SHAPE_FEED_TOLD, p) ||
        !feed_named_read(&pt->params, a, &pt->named, p) ||
        !params_choice(&pt->params, a, PARAM_feed_paused, &paused, p) ||
        !params_flag(&pt->params, a, PARAM_feed_fetch, &c->fetches, p) ||
        !params_freq(&pt->params, a, &c->level, &c->period_s, p) ||
        !keep_read(&pt->params, a, &c->keep, p) || !feed_named_find(t, r, &pt->named, p))
        return false;
    c->feed_id = pt->named.id;
    if (!sub_secrets_read(&pt->params, t->cfg->fetch_guard, a,
                          store_feed_url(t->api->store, c->feed_id, a), true, &c->secrets, p))
        return false;
    c->has_pause = paused >= 0;
    c->is_paused = paused == 0; /* the first of the values */
    return true;
}

/* ETIQ-03: a host cools all its feeds, whoever wants them. */
static void refuse_at_rest(struct task *t, int64_t until)
{
    struct problem *p = &((struct patching *)t->data)->shown.problem;
    char text[CLOCK_TEXT];

    clock_rfc3339(until, text);
    problem_set(p, &t->arena, PROBLEM_HOST_RESTS,
                "The host of this feed asked for a pause until %s, so none of its feeds is fetched before, also not by hand.",
                text);
    p->retry_after_s = (int)(until - clock_now_s());
    if (p->retry_after_s < 1)
        p->retry_after_s = 1;
}

/* First the feed is looked for as GET does, which knows whose it is. */
static enum task_step work(struct task *t, struct reader *r)
{
    struct patching *pt = t->data;
    enum rc rc;

    if (!read_change(t, r, pt))
        return feed_shown_fail(t);
    pt->shown.id = pt->change.feed_id;
    feed_shown_read(t, r);
    if (pt->shown.failed)
        return TASK_ENDS;
    if (pt->change.has_pause && pt->shown.is_shared) {
        problem_set(&pt->shown.problem, &t->arena, PROBLEM_FORBIDDEN,
                    "Others have subscribed to this feed, too. Only an admin may pause it or have "
                    "it go on.");
        return feed_shown_fail(t);
    }
    if (!str_is_null(pt->change.secrets) &&
        !sub_secrets_may(&t->caller, &t->arena, &pt->shown.problem))
        return feed_shown_fail(t);
    if ((pt->change.keep.age_s != 0 || pt->change.keep.entries != 0) && pt->shown.is_shared) {
        problem_set(&pt->shown.problem, &t->arena, PROBLEM_FORBIDDEN,
                    "Others have subscribed to this feed, too. Only an admin may say how much of "
                    "it is kept; a subscription may have a wish of its own.");
        return feed_shown_fail(t);
    }
    if (pt->change.fetches && store_fill(t->api->store) == FILL_FULL) {
        problem_set(&pt->shown.problem, &t->arena, PROBLEM_UNAVAILABLE,
                    "The database has its largest size (--max-size), so nothing is fetched until there is room.");
        return feed_shown_fail(t);
    }
    if (pt->change.fetches && pt->shown.cool_until != 0) {
        refuse_at_rest(t, pt->shown.cool_until);
        return feed_shown_fail(t);
    }
    rc = store_change_feed(t->api->store, &pt->change, feed_shown_stored, t);
    if (rc == RC_OK)
        return TASK_GOES_ON;
    problem_of_err(&pt->shown.problem, &t->arena, rc, NULL);
    return feed_shown_fail(t);
}

void feed_patch(struct request *req)
{
    struct patching *pt;
    struct task *t;

    if (feed_named_prepare(req, feed_patch))
        return;
    t = task_new(req, work, feed_shown_reply);
    pt = ARENA_NEW(&t->arena, struct patching);
    pt->query = str_dup(&t->arena, http_request_query(req->http));
    pt->body = str_dup(&t->arena, http_request_body(req->http));
    pt->content_type = str_dup(&t->arena, http_request_field(req->http, "content-type"));
    pt->params = params_like(&req->ask.params);
    t->data = pt;
    task_start(t);
}
