/* api/hub/hub_wait.c - see hub_wait.h. */
#include "api/hub/hub_wait.h"

#include <pthread.h>
#include <string.h>

#include "api/http/ticket.h"
#include "api/hub/hub_early.h"
#include "api/hub/hub_look.h"
#include "base/map.h"
#include "base/mem.h"

#define STORE_MS 60000 /* if the storer has not answered by then, it is stuck */
#define SYNC_MS 120000 /* longest wait of a request for its verification */

/* A request that waits for the storer, and perhaps for the notifier. */
struct hub_wait {
    struct hub_waiters *waiters;
    struct hub_request *counted; /* held until the storer has answered */
    int64_t n_anew;              /* that of the waiters when it began */
    struct ticket ticket;
    bool is_sync;
    hub_end_fn *end;
    void *ctx; /* valid while the request is */
    struct hub_end result;
};

struct hub_waiters {
    struct store *store;
    struct hub_pending *pending;
    pthread_mutex_t lock; /* guards the rest */
    struct map by_intent; /* id -> struct hub_wait */
    struct hub_early early;
    int64_t n_anew; /* how often the node had to read all anew */
    bool wants_look, is_looking;
};

static struct str key_of(const int64_t *id)
{
    return str_of((const char *)id, sizeof *id);
}

struct hub_waiters *hub_waiters_new(struct store *s)
{
    struct hub_waiters *w = NEW(struct hub_waiters);

    w->store = s;
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

/* The intent is settled. Nobody here may wait for it yet: then it is noted if `is_early`. */
static void settle(struct hub_waiters *all, enum rc rc, const struct hub_settled *settled,
                   bool is_early)
{
    struct str key = key_of(&settled->intent_id);
    struct hub_wait *w;

    pthread_mutex_lock(&all->lock);
    w = map_get(&all->by_intent, key);
    if (w != NULL)
        map_del(&all->by_intent, key);
    else if (is_early)
        hub_early_note(&all->early, settled);
    pthread_mutex_unlock(&all->lock);
    hub_pending_settled(all->pending, settled->intent_id);
    if (w == NULL)
        return;
    w->result = (struct hub_end){.rc = rc, .settled = *settled};
    ticket_post(&w->ticket, on_over, w);
}

/* ---- what was settled without a notice ------------------------------------------------------- */

static void on_looked(void *ctx, enum rc rc, const int64_t *gone, size_t n)
{
    struct hub_waiters *all = ctx;

    for (size_t i = 0; i < n; i++)
        settle(all, RC_AGAIN, &(struct hub_settled){.intent_id = gone[i]}, false);
    pthread_mutex_lock(&all->lock);
    all->is_looking = false;
    all->wants_look |= rc != RC_OK;
    pthread_mutex_unlock(&all->lock);
}

/* If it fails, the next commit or the next request makes it anew. */
static void look_if_wanted(struct hub_waiters *all)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    int64_t *ids;
    size_t n;
    bool begins;

    pthread_mutex_lock(&all->lock);
    begins = all->wants_look && !all->is_looking;
    if (begins) {
        all->wants_look = false;
        all->is_looking = true;
    }
    pthread_mutex_unlock(&all->lock);
    if (!begins)
        return;
    n = hub_pending_ids(all->pending, &a, &ids);
    if (n > 0)
        hub_look_start(all->store, ids, n, on_looked, all);
    else
        on_looked(all, RC_OK, NULL, 0);
}

/* All was read anew, perhaps from another server, which gives these ids again. */
static void forget_early(struct hub_waiters *all)
{
    pthread_mutex_lock(&all->lock);
    memset(&all->early, 0, sizeof all->early);
    all->n_anew++;
    all->wants_look = true;
    pthread_mutex_unlock(&all->lock);
}

void hub_waiters_notice(struct hub_waiters *all, const struct commit_notice *notice)
{
    if (notice->is_anew)
        forget_early(all);
    for (size_t i = 0; i < notice->n_settled; i++)
        settle(all, RC_OK, &notice->settled[i], notice->is_foreign);
    look_if_wanted(all);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* The intent is on disk. Returns true when the request waits until it is settled. Another node may
 * have settled it already: then no notice will come any more. */
static bool waits_for(struct hub_wait *w, int64_t intent_id)
{
    struct hub_waiters *all = w->waiters;
    bool is_settled, waits;

    hub_pending_keep(all->pending, &w->counted, intent_id);
    pthread_mutex_lock(&all->lock);
    all->wants_look |= w->n_anew != all->n_anew; /* it may have been settled before that */
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
    struct hub_waiters *all = w->waiters;

    w->result.rc = rc;
    if (rc != RC_OK)
        hub_pending_drop(all->pending, &w->counted);
    if (rc != RC_OK || !waits_for(w, res->id))
        ticket_post(&w->ticket, on_over, w);
    look_if_wanted(all);
}

const struct hub_full *hub_wait_start(struct request *req, const struct hub_intent *in,
                                      hub_end_fn *end, void *ctx)
{
    struct hub_waiters *all = req->ask.api->hub;
    const struct hub_full *full;
    struct hub_request *counted;
    struct hub_wait *w;

    if (in->waits && request_refuse_at_end(req))
        return NULL;
    counted =
        hub_pending_add(all->pending, http_request_peer(req->http), in->callback, in->topic, &full);
    if (counted == NULL)
        return full;
    w = NEW(struct hub_wait);
    w->waiters = all;
    w->counted = counted;
    pthread_mutex_lock(&all->lock);
    w->n_anew = all->n_anew;
    pthread_mutex_unlock(&all->lock);
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
