/* api/views/gather.c - finds the feeds of a request, adds unknown ones, and waits for those that
 * were never fetched.
 *
 * A `struct gather` is one waiting request. Each feed for which it waits has a `struct wait`, which
 * is handed to the storer, then to the fetcher, and comes back to the loop exactly once. If the
 * request was answered meanwhile, the wait is only counted. The last wait frees the gather.
 */
#include "api/views/gather.h"

#include "api/http/current.h"
#include "api/http/first_fetches.h"
#include "api/http/reply.h"
#include "api/http/ticket.h"
#include "base/mem.h"
#include "net/url.h"

#define WAITS_MAX 65536 /* of all requests together */
#define WINDOW 128      /* feeds of one request that the storer may be adding at once */
#define RETRY_MS 20     /* pause when the storer's queue is full */
#define REST_S 60       /* when another node knows how long the host rests */
#define MARGIN_MS 60000 /* time after fetch_wait_ms for the query that follows */

struct gather {
    struct ticket ticket; /* its request is valid while !over */
    struct api *api;
    struct gathered *items;
    size_t n;
    size_t next;            /* items before this index were looked up */
    size_t n_adding, n_out; /* waits that the storer has; waits that have not come back yet */
    bool over;
    struct loop_timer *deadline, *retry;
    gather_done_fn *done;
    void *ctx;
};

struct wait {
    struct ticket ticket;
    struct gather *g;
    size_t index;
    enum rc rc;
    int64_t feed_id;
    int status;
    int64_t rest_s;
    char *text; /* NULL: none */
};

static void pump(struct gather *g);

/* Find a member. A feed that has become part of another one is not found. */
static bool find_member(struct api *api, struct gathered *item, bool *is_new)
{
    struct feed_brief brief;
    bool known = store_brief(api->store, item->id, &brief);

    item->ready = known && brief.fetched;
    *is_new = known && !brief.fetched && brief.last_check_at == TIME_UNKNOWN;
    return known;
}

/* Is nothing to be awaited for this item? */
static bool is_settled(struct api *api, struct gathered *item)
{
    bool is_new = false;

    if (item->is_member)
        (void)find_member(api, item, &is_new);
    return item->ready || item->failed || (item->is_member && !is_new);
}

bool gather_find(struct api *api, struct gathered *item)
{
    struct feed_brief brief;
    struct str credential = item->want.credential;
    bool known, is_new;

    if (item->is_member)
        return find_member(api, item, &is_new);
    known = store_find_feed(api->store, item->want.url, credential, &brief);

    /* a user name without password may be the access key of one of our links */
    if (!known && str_ends(credential, STR(":")))
        known = store_find_feed(api->store, item->want.url,
                                str_slice(credential, 0, credential.len - 1), &brief);
    if (known) {
        item->id = brief.id;
        item->ready = brief.fetched;
    }
    return known;
}

static void gather_free(struct gather *g)
{
    if (g->over && g->n_out == 0)
        mem_free(g);
}

static void gather_leave(struct gather *g)
{
    g->over = true;
    if (g->deadline != NULL)
        loop_timer_cancel(&g->deadline);
    if (g->retry != NULL)
        loop_timer_cancel(&g->retry);
}

static void on_gone(struct request *req)
{
    struct gather *g = req->gone_ctx;

    gather_leave(g);
    gather_free(g);
}

/* The gathering is over: call `done`. */
static void gather_end(struct gather *g)
{
    struct request *req = g->ticket.request;
    struct gathered *items = g->items;
    size_t n = g->n;
    gather_done_fn *done = g->done;
    void *ctx = g->ctx;

    gather_leave(g);
    req->on_gone = NULL;
    gather_free(g);
    done(req, items, n, ctx);
}

static void on_deadline(void *ctx)
{
    struct gather *g = ctx;

    g->deadline = NULL;
    for (size_t i = 0; i < g->n; i++) {
        if (!g->items[i].ready && !g->items[i].failed)
            gather_find(g->api, &g->items[i]); /* what is stored is shown; the fetch goes on */
        if (g->items[i].ready || g->items[i].failed)
            continue;
        g->items[i].failed = true;
        g->items[i].rc = RC_TIMEOUT;
        g->items[i].text = str_printf(g->ticket.request->ask.arena, "no answer within %lld ms",
                                      (long long)g->ticket.request->ask.cfg->fetch_wait_ms);
    }
    gather_end(g);
}

static void wait_free(struct wait *w)
{
    atomic_fetch_sub(&w->g->api->n_waits, 1);
    mem_free(w->text);
    mem_free(w);
}

/* The wait has come back to the loop, with the result of the fetch. */
static void on_home(struct request *req UNUSED, void *work)
{
    struct wait *w = work;
    struct gather *g = w->g;

    g->n_out--;
    if (!g->over && !g->items[w->index].failed) {
        struct gathered *item = &g->items[w->index];
        struct feed_brief brief;

        if (w->feed_id != 0)
            item->id = w->feed_id;
        item->ready =
            item->id != 0 && store_brief(g->api->store, item->id, &brief) && brief.fetched;
        if (!item->ready) {
            item->failed = true;
            item->rc = w->rc == RC_OK ? RC_PEER : w->rc;
            item->status = w->status;
            item->rest_s = w->rest_s;
            item->text = str_dup(g->ticket.request->ask.arena, str_from(w->text));
        }
    }
    wait_free(w);
    if (g->over)
        gather_free(g);
    else
        pump(g);
}

/* The fetcher calls this on any thread. */
static void on_fetched(void *ctx, const struct fetch_result *res)
{
    struct wait *w = ctx;

    w->rc = res->rc;
    w->feed_id = res->feed_id;
    w->status = res->status;
    w->rest_s = res->rest_s;
    if (!str_is_null(res->text))
        w->text = mem_strndup(res->text.ptr, res->text.len);
    ticket_post(&w->ticket, on_home, w);
}

static void await(struct gather *g, struct wait *w, int64_t feed_id)
{
    g->api->ports.await_feed(g->api->ports.ctx, feed_id, on_fetched, w);
}

/* The wait has come back to the loop, with a feed that this node knows. */
static void on_known_home(struct request *req, void *work)
{
    struct wait *w = work;
    struct gather *g = w->g;
    struct feed_brief brief;

    g->n_adding--;
    if (w->rc != RC_OK || g->over || /* the feed was due at once, and may be fetched already */
        (store_brief(g->api->store, w->feed_id, &brief) && brief.fetched && !brief.partial)) {
        on_home(req, w);
        return;
    }
    await(g, w, w->feed_id);
    pump(g);
}

/* Perhaps on another thread. */
static void on_current(void *ctx, enum rc rc)
{
    struct wait *w = ctx;

    w->rc = rc;
    ticket_post(&w->ticket, on_known_home, w);
}

/* The wait has come back to the loop, with the feed that was added. Another node may have added it
 * a moment ago, and this one does not know it yet. */
static void on_added_home(struct request *req, void *work)
{
    struct wait *w = work;
    struct store *s = w->g->api->store;
    struct feed_brief brief;

    if (w->rc == RC_OK && !w->g->over && !store_is_current(s) &&
        !store_brief(s, w->feed_id, &brief))
        store_catch_up(s, on_current, w);
    else
        on_known_home(req, w);
}

/* Runs on the storer's thread. */
static void on_added(void *ctx, enum rc rc, const struct store_result *res, const struct err *err)
{
    struct wait *w = ctx;

    w->rc = rc;
    if (rc == RC_OK)
        w->feed_id = res->id;
    else if (err != NULL)
        w->text = mem_strdup(err->text);
    ticket_post(&w->ticket, on_added_home, w);
}

static void on_retry(void *ctx)
{
    struct gather *g = ctx;

    g->retry = NULL;
    pump(g);
}

bool gather_let(const struct ask *ask, struct gathered *item, bool known)
{
    struct feed_brief brief;

    if (item->is_let)
        return true;
    /* a first fetch that has not ended was let by somebody else; of a feed that somebody has
     * subscribed the fetches do not depend on readers */
    item->is_let = (known && store_brief(ask->api->store, item->id, &brief) &&
                    (brief.last_check_at == TIME_UNKNOWN || brief.n_subscriptions > 0)) ||
                   first_fetches_take(ask, &item->wait_s);
    return item->is_let;
}

/* Start adding or awaiting item `i`. RC_FULL: try again later. */
static enum rc start_item(struct gather *g, size_t i)
{
    struct gathered *item = &g->items[i];
    struct wait *w;
    enum rc rc = RC_OK;
    bool known;

    known = gather_find(g->api, item);
    if (is_settled(g->api, item))
        return RC_OK;
    if (!gather_let(&g->ticket.request->ask, item, known)) {
        item->failed = true;
        item->rc = RC_FULL;
        return RC_OK;
    }
    if (known)
        store_touch(g->api->store, &item->id, 1); /* or it might be forgotten meanwhile */
    w = NEW(struct wait);
    w->ticket = g->ticket;
    w->g = g;
    w->index = i;
    atomic_fetch_add(&g->api->n_waits, 1);
    if (!known) {
        struct feed_ref ref = {.url = item->want.url,
                               .credential = item->want.credential,
                               .shown_url = item->want.shown};

        rc = store_add_feed(g->api->store, &ref, on_added, w);
    }
    if (rc != RC_OK) {
        wait_free(w);
        return rc;
    }
    g->n_out++;
    if (known)
        await(g, w, item->id);
    else
        g->n_adding++;
    return RC_OK;
}

static void pump(struct gather *g)
{
    bool full = false;

    while (g->next < g->n && g->n_adding < WINDOW && g->retry == NULL) {
        enum rc rc = start_item(g, g->next);

        if (rc == RC_FULL) {
            g->retry = loop_timer_start(g->ticket.loop, RETRY_MS, on_retry, g);
            full = true;
            break;
        }
        if (rc != RC_OK) {
            g->items[g->next].failed = true;
            g->items[g->next].rc = rc;
            g->items[g->next].text = str_from(rc_meaning(rc));
        }
        g->next++;
    }
    if (!full && g->next == g->n && g->n_out == 0)
        gather_end(g);
}

bool gather_knows(const struct ask *ask, struct gathered *item)
{
    struct feed_brief brief;

    if (!gather_find(ask->api, item))
        return item->is_member;
    return item->is_member || item->ready || ask->caller.role >= ROLE_SUBSCRIBE ||
           (store_brief(ask->api->store, item->id, &brief) && brief.n_subscriptions > 0);
}

/* Known feeds are served beside them. */
static void refuse_unknown(const struct ask *ask, struct gathered *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!gather_knows(ask, &items[i])) {
            items[i].failed = items[i].is_refused = true;
            items[i].rc = RC_DENIED;
        }
}

void gather_start(struct request *req, struct gathered *items, size_t n, gather_done_fn *done,
                  void *ctx)
{
    size_t n_settled = 0, n_unknown = 0;
    struct gather *g;

    for (size_t i = 0; i < n; i++) {
        n_unknown += gather_knows(&req->ask, &items[i]) ? 0 : 1;
        n_settled += is_settled(req->ask.api, &items[i]) ? 1 : 0;
    }
    if (n_settled == n) {
        done(req, items, n, ctx);
        return;
    }
    if (current_once(req)) /* another node may have them, or have fetched them just now */
        return;
    if (n_unknown > 0 && req->ask.caller.role < ROLE_SUBSCRIBE) {
        refuse_unknown(&req->ask, items, n);
    } else if (n_unknown > 0 && request_is_foreign(req)) {
        request_refuse_foreign(req, "make this server fetch an unknown feed");
        return;
    }
    if (request_refuse_at_end(req))
        return;
    if (atomic_load(&req->ask.api->n_waits) > WAITS_MAX) {
        struct problem p;

        problem_set(&p, req->ask.arena, PROBLEM_BUSY, "Too many requests wait for publishers.");
        p.retry_after_s = 5;
        reply_problem(req, &p);
        return;
    }
    g = NEW(struct gather);
    g->ticket = ticket_take(req, req->ask.cfg->fetch_wait_ms + MARGIN_MS);
    g->api = req->ask.api;
    g->items = items;
    g->n = n;
    g->done = done;
    g->ctx = ctx;
    g->deadline = loop_timer_start(g->ticket.loop, req->ask.cfg->fetch_wait_ms, on_deadline, g);
    req->on_gone = on_gone;
    req->gone_ctx = g;
    pump(g);
}

/* "URL: why"; only the why, if it already names the URL. */
static struct str told(struct arena *a, struct str upstream, enum rc rc, struct str text)
{
    if (text.len == 0)
        text = str_from(rc_meaning(rc));
    return str_find(text, upstream) >= 0
               ? text
               : str_printf(a, "%.*s: %.*s", STR_ARG(upstream), STR_ARG(text));
}

void gather_failure(struct request *req, enum rc rc, int status, int64_t rest_s, struct str text,
                    struct str url, struct problem *p)
{
    struct str upstream = url_public(req->ask.arena, url);
    struct str why = told(req->ask.arena, upstream, rc, text);

    switch (rc) {
    case RC_TIMEOUT:
        problem_set(p, req->ask.arena, PROBLEM_UPSTREAM_TIMEOUT, "%.*s.", STR_ARG(why));
        break;
    case RC_RESTING:
        problem_set(p, req->ask.arena, PROBLEM_HOST_RESTS, "%.*s.", STR_ARG(why));
        p->retry_after_s = rest_s > 0 ? (int)rest_s : REST_S;
        break;
    case RC_UNSUPPORTED:
        problem_set(p, req->ask.arena, PROBLEM_NO_FEED, "%.*s.", STR_ARG(why));
        break;
    case RC_DENIED:
        problem_set(p, req->ask.arena, PROBLEM_UPSTREAM_FAILED,
                    "%.*s; --allow-fetch CIDR would open it.", STR_ARG(why));
        p->status = 403;
        break;
    case RC_UNAVAILABLE:
        problem_of_err(p, req->ask.arena, rc, NULL);
        if (text.len > 0) /* the fetcher knows which of the causes it is */
            p->detail = str_printf(req->ask.arena, "Nothing is fetched: %.*s.", STR_ARG(text));
        return;
    case RC_AGAIN:
    case RC_FULL:
    case RC_CLOSED:
    case RC_IO:
    case RC_INTERNAL:
        problem_of_err(p, req->ask.arena, rc, NULL);
        return;
    default:
        problem_set(p, req->ask.arena, PROBLEM_UPSTREAM_FAILED, "%.*s.", STR_ARG(why));
        break;
    }
    p->upstream = upstream;
    p->upstream_status = status;
}

void gather_problem(struct request *req, const struct gathered *items, size_t n, struct problem *p)
{
    const struct gathered *shown = &items[0];
    bool same = true;

    for (size_t i = 0; i < n; i++) {
        if (items[i].is_refused) {
            problem_role(p, req->ask.arena, ROLE_SUBSCRIBE, req->ask.caller.role);
            p->detail = str_concat(req->ask.arena, STR("A feed is not known here. "), p->detail);
            return;
        }
        if (items[i].wait_s > 0) {
            first_fetches_problem(p, req->ask.arena, items[i].wait_s);
            return;
        }
    }
    for (size_t i = 1; i < n; i++) {
        same = same && items[i].rc == shown->rc;
        if (shown->rc == RC_TIMEOUT && items[i].rc != RC_TIMEOUT)
            shown = &items[i]; /* an answer of a publisher says more than a missing answer */
    }
    gather_failure(req, same || shown->rc == RC_PEER ? shown->rc : RC_PEER, shown->status,
                   shown->rest_s, shown->text, shown->want.url, p);
    if (n > 1)
        p->detail = str_printf(req->ask.arena, "None of the %zu feeds can be served; for one, %.*s",
                               n, STR_ARG(p->detail));
}
