/* api/hub/hub_wait.c - see hub_wait.h. */
#include "api/hub/hub_wait.h"

#include <pthread.h>
#include <string.h>

#include "api/http/ticket.h"
#include "api/hub/hub_early.h"
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
    struct hub_early early;
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
    if (notice->is_anew) { /* perhaps of another server, which gives these ids again */
        pthread_mutex_lock(&all->lock);
        memset(&all->early, 0, sizeof all->early);
        pthread_mutex_unlock(&all->lock);
    }
    for (size_t i = 0; i < notice->n_settled; i++) {
        struct str key = key_of(&notice->settled[i].intent_id);
        struct hub_wait *w;

        pthread_mutex_lock(&all->lock);
        w = map_get(&all->by_intent, key);
        if (w != NULL)
            map_del(&all->by_intent, key);
        else if (notice->is_foreign)
            hub_early_note(&all->early, &notice->settled[i]);
        pthread_mutex_unlock(&all->lock);
        hub_pending_settled(all->pending, notice->settled[i].intent_id);
        if (w == NULL)
            continue;
        w->result.settled = notice->settled[i];
        ticket_post(&w->ticket, on_over, w);
    }
}

/* The intent is on disk. Returns true when the request waits until it is settled. Another node may
 * have settled it already: then no notice will come any more. */
static bool waits_for(struct hub_wait *w, int64_t intent_id)
{
    struct hub_waiters *all = w->waiters;
    bool is_settled, waits;

    hub_pending_keep(all->pending, &w->counted, intent_id);
    pthread_mutex_lock(&all->lock);
    is_settled = hub_early_take(&all->early, intent_id, &w->result.settled);
    waits = w->is_sync && !is_settled;
    if (waits)
        map_put(&all->by_intent, key_of(&intent_id), w);
    pthread_mutex_unlock(&all->lock);
    if (is_settled)
        hub_pending_settled(all->pending, intent_id);
    return waits;
}

/* Runs on the storer's thread. */
static void on_stored(void *ctx, enum rc rc, const struct store_result *res,
                      const struct err *err UNUSED)
{
    struct hub_wait *w = ctx;

    w->result.rc = rc;
    if (rc == RC_OK && waits_for(w, res->id))
        return;
    if (rc != RC_OK)
        hub_pending_drop(w->waiters->pending, &w->counted);
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
