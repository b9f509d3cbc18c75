/* api/opml.c - GET /opml: the merged feeds of an OPML list. */
#include "api/resources.h"

#include "api/gather.h"
#include "api/opml_list.h"
#include "api/pull.h"
#include "api/reply.h"
#include "net/url.h"

static void on_list(struct call *c, const struct feed_list *list,
                    const struct list_failure *failure, void *ctx)
{
    struct pull *q = ctx;
    const struct wanted_url *url = q->link_urls;
    struct str shown = url_public(c->arena, url->url);
    struct problem p;

    if (list != NULL) {
        q->title = list->title.len > 0 ? list->title
                                       : str_printf(c->arena, "Feeds of %.*s", STR_ARG(shown));
        pull_serve(c, q, list->urls, list->n);
        return;
    }
    if (failure->not_opml) {
        problem_set(&p, c->arena, failure->rc == RC_LIMIT ? PROBLEM_TOO_LARGE : PROBLEM_NOT_OPML,
                    "%.*s: %.*s.", STR_ARG(shown), STR_ARG(failure->text));
        p.status = 422; /* too large or not: it is the publisher's document, not the request */
        p.upstream = shown;
        p.upstream_status = failure->status;
    } else {
        gather_failure(c, failure->rc, failure->status, failure->text, url->url, &p);
    }
    reply_problem(c, &p);
}

void opml_get(struct call *c)
{
    struct pull *q = ARENA_NEW(c->arena, struct pull);
    struct wanted_url *url = ARENA_NEW(c->arena, struct wanted_url);
    struct problem p;

    if (!params_url(&c->params, c->arena, "url", url, &p) || !pull_read(c, q, &p)) {
        reply_problem(c, &p);
        return;
    }
    q->merged = true;
    q->id_seed = str_concat(c->arena, STR("opml\n"), url->url);
    q->link_urls = url;
    q->n_link_urls = 1;
    opml_list_get(c, url, on_list, q);
}
