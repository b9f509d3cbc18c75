/* api/lists/opml.c - GET /opml: the entries of all feeds of an OPML list, merged, and of sets of
 * feeds. */
#include "api/http/handlers.h"

#include "api/http/reply.h"
#include "api/lists/opml_list.h"
#include "api/views/pull.h"
#include "net/url.h"

static void on_list(struct request *req, const struct feed_list *list,
                    const struct list_failure *failure, void *ctx)
{
    struct pull *q = ctx;
    const struct wanted_url *url = q->link_urls;
    struct str shown = url_public(req->ask.arena, url->url);
    struct problem p;

    if (list != NULL) {
        q->title = list->title.len > 0
                       ? list->title
                       : str_printf(req->ask.arena, "Feeds of %.*s", STR_ARG(shown));
        if (q->has_sets)
            q->title =
                str_printf(req->ask.arena, "%.*s, %.*s", STR_ARG(q->title), STR_ARG(q->asked.name));
        q->asked.urls = list->urls;
        q->asked.n_urls = list->n;
        pull_serve(req, q, &q->asked);
        return;
    }
    if (failure->not_opml) {
        problem_set(&p, req->ask.arena,
                    failure->rc == RC_LIMIT ? PROBLEM_TOO_LARGE : PROBLEM_NOT_OPML, "%.*s: %.*s.",
                    STR_ARG(shown), STR_ARG(failure->text));
        /* even if it is too large, because the publisher's document is wrong, not the request */
        p.status = 422;
        p.upstream = shown;
        p.upstream_status = failure->status;
    } else {
        gather_failure(req, failure->rc, failure->status, failure->rest_s, failure->text, url->url, &p);
    }
    reply_problem(req, &p);
}

/* What folders, subscriptions and views have, beside the feeds of the list, if there is one. */
static bool read_sets(struct ask *ask, struct pull *q, bool needs_some, struct problem *p)
{
    if (!feeds_asked_read(ask, PARAM_NONE, needs_some, &q->asked, p))
        return false;
    q->has_sets = q->asked.has_sets;
    q->is_own = q->asked.is_own;
    return true;
}

void opml_get(struct request *req)
{
    struct pull *q = ARENA_NEW(req->ask.arena, struct pull);
    struct wanted_url *url = ARENA_NEW(req->ask.arena, struct wanted_url);
    bool has_list = params_has(&req->ask.params, PARAM_list_url);
    struct problem p;

    if ((has_list && !params_url(&req->ask.params, req->ask.arena, PARAM_list_url, url, &p)) ||
        !pull_read(&req->ask, q, &p) || !read_sets(&req->ask, q, !has_list, &p)) {
        reply_problem(req, &p);
        return;
    }
    q->merged = true;
    q->id_seed =
        str_printf(req->ask.arena, "opml\n%.*s%.*s", STR_ARG(url->url), STR_ARG(q->asked.seed));
    q->link_urls = url;
    q->n_link_urls = has_list ? 1 : 0;
    q->title = q->asked.name;
    if (has_list)
        opml_list_get(req, url, on_list, q);
    else
        pull_serve(req, q, &q->asked);
}
