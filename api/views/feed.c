/* api/views/feed.c - GET /feed: the newest entries of one feed; GET /feeds: those of several feeds,
 * merged. */
#include "api/http/handlers.h"

#include <stdlib.h>

#include "api/http/reply.h"
#include "api/views/pull.h"
#include "api/views/queries.h"
#include "api/views/sub_book.h"

static void serve(struct request *req, query_read_fn *read)
{
    struct problem p;
    struct query q;

    if (read(&req->ask, &q, &p))
        pull_serve(req, q.own, &((const struct pull *)q.own)->asked);
    else
        reply_problem(req, &p);
}

static bool read_query(struct ask *ask, enum param_id urls, struct query *out, struct problem *p)
{
    struct pull *q = ARENA_NEW(ask->arena, struct pull);
    int64_t edition = sub_book_shown(ask->api->subs); /* before they are read */

    if (!pull_read(ask, q, p) || !feeds_asked_read(ask, urls, true, &q->asked, p))
        return false;
    q->edition = edition;
    q->has_sets = q->asked.has_sets;
    q->is_own = q->asked.is_own;
    q->link_urls = q->asked.urls;
    q->n_link_urls = q->asked.n_urls;
    q->link_is_feed = true;
    *out = (struct query){.urls = q->asked.urls,
                          .n_urls = q->asked.n_urls,
                          .lasting = q->what.lasting,
                          .describe = pull_describe,
                          .own = q};
    return true;
}

static void merge(struct ask *ask, struct pull *q);

bool feed_query(struct ask *ask, struct query *out, struct problem *p)
{
    struct pull *q;

    if (!read_query(ask, PARAM_url, out, p))
        return false;
    q = out->own;
    if (q->has_sets)
        merge(ask, q);
    else
        q->id_seed = str_concat(ask->arena, STR("feed\n"), q->asked.urls[0].url);
    return true;
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
    struct wanted_url *sorted = ARENA_ARRAY(a, struct wanted_url, n + 1);

    if (n > 0)
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

static void merge(struct ask *ask, struct pull *q)
{
    const struct feeds_asked *asked = &q->asked;

    q->merged = true;
    q->id_seed =
        str_concat(ask->arena, seed_of(ask->arena, asked->urls, asked->n_urls), asked->seed);
    q->title = feeds_asked_title(ask->arena, asked);
}

bool feeds_query(struct ask *ask, struct query *out, struct problem *p)
{
    if (!read_query(ask, PARAM_urls, out, p))
        return false;
    merge(ask, out->own);
    return true;
}

void feeds_get(struct request *req)
{
    serve(req, feeds_query);
}
