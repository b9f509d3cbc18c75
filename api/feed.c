/* api/feed.c - GET /feed: the newest entries of one feed; GET /feeds: of several, merged. */
#include "api/resources.h"

#include <stdlib.h>

#include "api/pull.h"
#include "api/reply.h"
#include "api/topic.h"

static void serve(struct call *c, topic_read_fn *read)
{
    struct problem p;
    struct topic t;

    if (read(c, &t, &p))
        pull_serve(c, t.own, t.urls, t.n_urls);
    else
        reply_problem(c, &p);
}

static bool topic_of(struct topic *t, struct pull *q, struct wanted_url *urls, size_t n)
{
    q->link_urls = urls;
    q->n_link_urls = n;
    q->link_is_feed = true;
    *t = (struct topic){.urls = urls, .n_urls = n, .describe = pull_describe, .own = q};
    return true;
}

bool feed_topic(struct call *c, struct topic *t, struct problem *p)
{
    struct pull *q = ARENA_NEW(c->arena, struct pull);
    struct wanted_url *url = ARENA_NEW(c->arena, struct wanted_url);

    return params_url(&c->params, c->arena, "url", url, p) && pull_read(c, q, p) &&
           topic_of(t, q, url, 1);
}

void feed_get(struct call *c)
{
    serve(c, feed_topic);
}

static int by_url(const void *x, const void *y)
{
    return str_cmp(((const struct wanted_url *)x)->url, ((const struct wanted_url *)y)->url);
}

/* The set of URLs, in whatever order and however often they were named. */
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

bool feeds_topic(struct call *c, struct topic *t, struct problem *p)
{
    struct pull *q = ARENA_NEW(c->arena, struct pull);
    struct wanted_url *urls;
    size_t n;

    if (!params_urls(&c->params, c->arena, true, &urls, &n, p) || !pull_read(c, q, p))
        return false;
    q->merged = true;
    q->id_seed = seed_of(c->arena, urls, n);
    q->title = str_printf(c->arena, "%zu feed%s merged", n, n == 1 ? "" : "s");
    return topic_of(t, q, urls, n);
}

void feeds_get(struct call *c)
{
    serve(c, feeds_topic);
}
