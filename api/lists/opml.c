/* api/lists/opml.c - GET /opml: the entries of all feeds of an OPML list, merged. */
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
        q->asked = (struct feeds_asked){.urls = list->urls, .n_urls = list->n};
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
        gather_failure(req, failure->rc, failure->status, failure->text, url->url, &p);
    }
    reply_problem(req, &p);
}

void opml_get(struct request *req)
{
    struct pull *q = ARENA_NEW(req->ask.arena, struct pull);
    struct wanted_url *url = ARENA_NEW(req->ask.arena, struct wanted_url);
    struct problem p;

    if (!params_url(&req->ask.params, req->ask.arena, PARAM_list_url, url, &p) ||
        !pull_read(&req->ask, q, &p)) {
        reply_problem(req, &p);
        return;
    }
    q->merged = true;
    q->id_seed = str_concat(req->ask.arena, STR("opml\n"), url->url);
    q->link_urls = url;
    q->n_link_urls = 1;
    opml_list_get(req, url, on_list, q);
}
