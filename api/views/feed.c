/* api/views/feed.c - GET /feed: the newest entries of one feed; GET /feeds: those of several feeds,
 * merged. */
#include "api/http/handlers.h"

#include <stdlib.h>

#include "api/http/reply.h"
#include "api/views/pull.h"
#include "api/views/queries.h"

static void serve(struct request *req, query_read_fn *read)
{
    struct problem p;
    struct query q;

    if (read(&req->ask, &q, &p))
        pull_serve(req, q.own, q.urls, q.n_urls);
    else
        reply_problem(req, &p);
}

static bool query_of(struct query *out, struct pull *q, struct wanted_url *urls, size_t n)
{
    q->link_urls = urls;
    q->n_link_urls = n;
    q->link_is_feed = true;
    *out = (struct query){.urls = urls, .n_urls = n, .describe = pull_describe, .own = q};
    return true;
}

bool feed_query(struct ask *ask, struct query *out, struct problem *p)
{
    struct pull *q = ARENA_NEW(ask->arena, struct pull);
    struct wanted_url *url = ARENA_NEW(ask->arena, struct wanted_url);

    if (!params_url(&ask->params, ask->arena, PARAM_url, url, p) || !pull_read(ask, q, p))
        return false;
    q->id_seed = str_concat(ask->arena, STR("feed\n"), url->url);
    return query_of(out, q, url, 1);
}

void feed_get(struct request *req)
{
    serve(req, feed_query);
}

static int by_url(const void *x, const void *y)
{
    return str_cmp(((const struct wanted_url *)x)->url, ((const struct wanted_url *)y)->url);
}

/* Returns a text that is the same for the same set of URLs, in whatever order and however often
 * they are given. */
static struct str seed_of(struct arena *a, const struct wanted_url *urls, size_t n)
{
    AUTO(buf_release) struct buf seed = BUF_INIT(BUF_ANY);
    struct wanted_url *sorted = ARENA_ARRAY(a, struct wanted_url, n);

    memcpy(sorted, urls, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_url);
    buf_puts(&seed, "feeds");
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && str_eq(sorted[i].url, sorted[i - 1].url))
            continue;
        buf_putc(&seed, '\n');
        buf_str(&seed, sorted[i].url);
    }
    return str_dup(a, buf_view(&seed));
}

bool feeds_query(struct ask *ask, struct query *out, struct problem *p)
{
    struct pull *q = ARENA_NEW(ask->arena, struct pull);
    struct wanted_url *urls;
    size_t n;

    if (!params_urls(&ask->params, ask->arena, PARAM_urls, &urls, &n, p) || !pull_read(ask, q, p))
        return false;
    q->merged = true;
    q->id_seed = seed_of(ask->arena, urls, n);
    q->title = str_printf(ask->arena, "%zu feed%s merged", n, n == 1 ? "" : "s");
    return query_of(out, q, urls, n);
}

void feeds_get(struct request *req)
{
    serve(req, feeds_query);
}
