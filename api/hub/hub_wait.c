/* api/hub/hub_wait.c - see hub_wait.h. */
#include "api/hub/hub_wait.h"

#include <pthread.h>

#include "api/http/ticket.h"
#include "base/map.h"
#include "base/mem.h"

#define STORE_MS 60000 /* if the storer has not answered by then, it is stuck */
#define SYNC_MS 120000 /* longest wait of a request for its verification */

/* A request that waits for the storer, and perhaps for the notifier. */
struct hub_wait {
    struct hub_waiters *waiters;
    struct hub_request *counted; /* held until the storer has answered */
    struct ticket ticket;
    bool is_sync;
    hub_end_fn *end;
    void *ctx; /* valid while the request is */
    struct hub_end result;
};

struct hub_waiters {
    pthread_mutex_t lock;
    struct map by_intent; /* id -> struct hub_wait */
    struct hub_pending *pending;
};

static struct str key_of(const int64_t *id)
{
    return str_of((const char *)id, sizeof *id);
}

struct hub_waiters *hub_waiters_new(void)
{
    struct hub_waiters *w = NEW(struct hub_waiters);

    pthread_mutex_init(&w->lock, NULL);
    w->pending = hub_pending_new();
    return w;
}

static void wait_free(void *value)
{
    mem_free(value);
}

void hub_waiters_free(struct hub_waiters **wp)
{
    if (*wp == NULL)
        return;
    map_release(&(*wp)->by_intent, wait_free);
    hub_pending_free(&(*wp)->pending);
    pthread_mutex_destroy(&(*wp)->lock);
    mem_free(*wp);
    *wp = NULL;
}

static void on_over(struct request *req, void *work)
{
    struct hub_wait *w = work;

    if (req != NULL) /* otherwise the client has left */
        w->end(req, &w->result, w->ctx);
    mem_free(w);
}

void hub_waiters_notice(struct hub_waiters *all, const struct commit_notice *notice)
{
    for (size_t i = 0; i < notice->n_settled; i++) {
        struct str key = key_of(&notice->settled[i].intent_id);
        struct hub_wait *w;

        hub_pending_settled(all->pending, notice->settled[i].intent_id);
        pthread_mutex_lock(&all->lock);
        w = map_get(&all->by_intent, key);
        if (w != NULL)
            map_del(&all->by_intent, key);
        pthread_mutex_unlock(&all->lock);
        if (w == NULL)
            continue;
        w->result.settled = notice->settled[i];
        ticket_post(&w->ticket, on_over, w);
    }
}

/* Runs on the storer's thread. Nothing is settled before this returns. */
static void on_stored(void *ctx, enum rc rc, const struct store_result *res,
                      const struct err *err UNUSED)
{
    struct hub_wait *w = ctx;

    w->result.rc = rc;
    if (rc == RC_OK)
        hub_pending_keep(w->waiters->pending, &w->counted, res->id);
    else
        hub_pending_drop(w->waiters->pending, &w->counted);
    if (rc == RC_OK && w->is_sync) {
        pthread_mutex_lock(&w->waiters->lock);
        map_put(&w->waiters->by_intent, key_of(&res->id), w);
        pthread_mutex_unlock(&w->waiters->lock);
        return;
    }
    ticket_post(&w->ticket, on_over, w);
}

const struct hub_full *hub_wait_start(struct request *req, const struct hub_intent *in,
                                      hub_end_fn *end, void *ctx)
{
    struct hub_waiters *all = req->ask.api->hub;
    const struct hub_full *full;
    struct hub_request *counted =
        hub_pending_add(all->pending, http_request_peer(req->http), in->callback, in->topic, &full);
    struct hub_wait *w;

    if (counted == NULL)
        return full;
    w = NEW(struct hub_wait);
    w->waiters = all;
    w->counted = counted;
    w->ticket = ticket_take(req, in->waits ? SYNC_MS : STORE_MS);
    w->is_sync = in->waits;
    w->end = end;
    w->ctx = ctx;
    if (store_hub_request(req->ask.api->store, in, on_stored, w) != RC_OK) {
        hub_pending_drop(all->pending, &w->counted);
        w->result.rc = RC_FULL;
        on_over(req, w);
    }
    return NULL;
}
