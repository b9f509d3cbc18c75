/* api/xmpp/xmpp_feeds.c - see xmpp_feeds.h. */
#include "api/xmpp/xmpp_feeds.h"

#include <stdatomic.h>

#include "api/xmpp/xmpp_service.h"
#include "base/mem.h"
#include "net/url.h"

#define WAITING_MAX 256   /* requests that wait for publishers */
#define WAITING_ONE_MAX 8 /* of them, those of one bare JID */
#define UNKNOWN_MAX 50    /* unknown feeds that one request may name */

/* A request that waits. It is freed when the last feed has come back. */
struct xmpp_gathering {
    TAILQ_ENTRY(xmpp_gathering) link;
    struct xmpp_request *req;
    struct gathered *items;
    size_t n;
    atomic_long n_left; /* feeds under way, and one for the function that starts them */
    xmpp_feeds_fn *done;
    void *ctx;
};

/* One feed under way. */
struct awaited {
    struct xmpp_gathering *g;
    struct gathered *item;
};

static void leave(struct xmpp_gathering *g)
{
    struct xmpp_service *s = g->req->service;

    if (atomic_fetch_sub(&g->n_left, 1) != 1)
        return;
    pthread_mutex_lock(&s->lock);
    TAILQ_REMOVE(&s->waiting, g, link);
    s->n_waiting--;
    pthread_mutex_unlock(&s->lock);
    g->done(g->req, g->items, g->n, g->ctx);
    mem_free(g);
}

static void fail(struct gathered *item, enum rc rc)
{
    item->failed = true;
    item->rc = rc;
}

static void end(struct awaited *w)
{
    struct xmpp_gathering *g = w->g;

    atomic_fetch_sub(&g->req->ask.api->n_waits, 1);
    mem_free(w);
    leave(g);
}

/* The fetcher calls this on any thread. */
static void on_fetched(void *ctx, const struct fetch_result *res)
{
    struct awaited *w = ctx;
    struct feed_brief brief;

    if (res->feed_id != 0)
        w->item->id = res->feed_id;
    w->item->ready = w->item->id != 0 &&
                     store_brief(w->g->req->ask.api->store, w->item->id, &brief) && brief.fetched;
    if (!w->item->ready) {
        fail(w->item, res->rc == RC_OK ? RC_PEER : res->rc);
        w->item->status = res->status;
    }
    end(w);
}

static void await(struct awaited *w)
{
    struct api *api = w->g->req->ask.api;

    api->ports.await_feed(api->ports.ctx, w->item->id, on_fetched, w);
}

/* The storer's thread. */
static void on_added(void *ctx, enum rc rc, const struct store_result *res,
                     const struct err *err UNUSED)
{
    struct awaited *w = ctx;
    struct feed_brief brief;

    if (rc != RC_OK) {
        fail(w->item, rc);
        end(w);
        return;
    }
    w->item->id = res->id;
    if (store_brief(w->g->req->ask.api->store, res->id, &brief) && brief.fetched) {
        w->item->ready = true;
        end(w);
    } else {
        await(w);
    }
}

static void start(struct xmpp_gathering *g, struct gathered *item)
{
    struct api *api = g->req->ask.api;
    struct feed_ref ref = {
        .url = item->want.url, .credential = item->want.credential, .shown_url = item->want.shown};
    bool known = gather_find(api, item);
    struct awaited *w;
    enum rc rc;

    if (item->ready)
        return;
    if (!gather_let(&g->req->ask, item, known)) {
        fail(item, RC_FULL);
        return;
    }
    w = NEW(struct awaited);
    *w = (struct awaited){g, item};
    atomic_fetch_add(&g->n_left, 1);
    atomic_fetch_add(&api->n_waits, 1);
    if (known) {
        await(w);
        return;
    }
    rc = store_add_feed(api->store, &ref, on_added, w);
    if (rc == RC_OK)
        return;
    fail(item, rc);
    end(w);
}

/* May the request wait? If so, it is counted. */
static bool enter(struct xmpp_gathering *g)
{
    struct xmpp_service *s = g->req->service;
    struct xmpp_gathering *other;
    size_t n_own = 0;
    bool may;

    pthread_mutex_lock(&s->lock);
    TAILQ_FOREACH (other, &s->waiting, link)
        n_own += str_eq(other->req->bare, g->req->bare);
    may = s->n_waiting < WAITING_MAX && n_own < WAITING_ONE_MAX;
    if (may) {
        TAILQ_INSERT_TAIL(&s->waiting, g, link);
        s->n_waiting++;
    }
    pthread_mutex_unlock(&s->lock);
    return may;
}

void xmpp_feeds_find(struct xmpp_request *req, const struct query *q, xmpp_feeds_fn *done,
                     void *ctx)
{
    struct gathered *items = ARENA_ARRAY(req->ask.arena, struct gathered, q->n_urls + 1);
    struct xmpp_gathering *g;
    size_t n_open = 0, n_unknown = 0;

    for (size_t i = 0; i < q->n_urls; i++) {
        items[i].want = q->urls[i];
        n_unknown += !gather_knows(&req->ask, &items[i]);
        n_open += !items[i].ready;
    }
    if (n_unknown > 0 && req->ask.caller.role < ROLE_SUBSCRIBE) {
        xmpp_refuse(req, XMPP_FORBIDDEN, NULL,
                    STR("A feed is not known here, and your address may only read known ones."));
        return;
    }
    if (n_open == 0) {
        done(req, items, q->n_urls, ctx);
        return;
    }
    if (n_open > UNKNOWN_MAX) {
        xmpp_refuse(req, XMPP_TOO_LARGE, NULL,
                    str_printf(req->ask.arena,
                               "%zu of the feeds are not known yet; at most %d may "
                               "be named in one request.",
                               n_open, UNKNOWN_MAX));
        return;
    }
    g = NEW(struct xmpp_gathering);
    *g = (struct xmpp_gathering){
        .req = req, .items = items, .n = q->n_urls, .done = done, .ctx = ctx};
    atomic_init(&g->n_left, 1);
    if (!enter(g)) {
        mem_free(g);
        xmpp_refuse(req, XMPP_BUSY, NULL, STR("Too many requests wait for publishers."));
        return;
    }
    for (size_t i = 0; i < g->n; i++)
        if (!items[i].ready)
            start(g, &items[i]);
    leave(g);
}

void xmpp_feeds_refuse(struct xmpp_request *req, const struct gathered *items, size_t n)
{
    enum rc rc = n == 0 ? RC_NOT_FOUND : items[0].rc;
    struct str url = n == 0 ? STR("") : url_public(req->ask.arena, items[0].want.url);
    struct str text = str_printf(req->ask.arena, "%.*s: %s.", STR_ARG(url), rc_meaning(rc));

    switch (rc) {
    case RC_TIMEOUT:
        xmpp_refuse(req, XMPP_UPSTREAM_TIMEOUT, NULL, text);
        return;
    case RC_UNSUPPORTED:
    case RC_NOT_FOUND:
        xmpp_refuse(req, XMPP_NOT_FOUND, NULL,
                    str_printf(req->ask.arena, "%.*s does not lead to a feed.", STR_ARG(url)));
        return;
    case RC_DENIED:
        xmpp_refuse(req, XMPP_FORBIDDEN, NULL, text);
        return;
    case RC_AGAIN:
    case RC_FULL:
    case RC_CLOSED:
    case RC_UNAVAILABLE:
    case RC_IO:
        xmpp_refuse(req, XMPP_BUSY, NULL, text);
        return;
    default:
        xmpp_refuse(req, XMPP_UPSTREAM_FAILED, NULL, text);
        return;
    }
}
