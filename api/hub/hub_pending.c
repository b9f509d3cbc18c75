/* api/hub/hub_pending.c - counters of pending requests by name, and the names under which each
 * request is counted. */
#include "api/hub/hub_pending.h"

#include <pthread.h>
#include <string.h>

#include "api/http/buckets.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "model/hub.h"
#include "net/url.h"

enum { ALL, CLIENT, HOST, PAIR, BOUNDS };

static const struct {
    uintptr_t max;
    struct hub_full full;
} bounds[BOUNDS] = {
    [ALL] = {HUB_PENDING_MAX, {503, "Too many requests wait for their verification."}},
    [CLIENT] = {HUB_PENDING_CLIENT,
                {429, "Too many requests from your address wait for their verification."}},
    [HOST] = {HUB_PENDING_HOST,
              {429, "Too many requests wait for their verification by callbacks at this host."}},
    [PAIR] = {HUB_PENDING_PAIR,
              {429, "Too many requests for this callback and topic wait for their verification."}},
};

struct hub_request {
    struct arena arena;
    struct str keys[BOUNDS];
};

struct hub_pending {
    pthread_mutex_t lock; /* guards the rest */
    struct map counts;    /* key -> the count, stored in the pointer */
    struct map by_intent; /* id -> struct hub_place */
};

struct hub_pending *hub_pending_new(void)
{
    struct hub_pending *o = NEW(struct hub_pending);

    pthread_mutex_init(&o->lock, NULL);
    return o;
}

static void request_free(void *value)
{
    struct hub_request *p = value;

    arena_release(&p->arena);
    mem_free(p);
}

void hub_pending_free(struct hub_pending **op)
{
    struct hub_pending *o = *op;

    *op = NULL;
    if (o == NULL)
        return;
    map_release(&o->by_intent, request_free);
    map_release(&o->counts, NULL);
    pthread_mutex_destroy(&o->lock);
    mem_free(o);
}

static struct str id_key(const int64_t *id)
{
    return str_of((const char *)id, sizeof *id);
}

static struct hub_request *request_new(const struct sockaddr *client, struct str callback,
                                       struct str topic)
{
    struct hub_request *p = NEW(struct hub_request);
    struct arena *a = &p->arena;

    p->keys[ALL] = STR("all");
    p->keys[CLIENT] = str_concat(a, STR("client "), buckets_source(client));
    p->keys[HOST] = str_concat(a, STR("host "), url_authority(a, callback));
    p->keys[PAIR] = str_printf(a, "pair %.*s\n%.*s", STR_ARG(callback), STR_ARG(topic));
    return p;
}

struct hub_request *hub_pending_add(struct hub_pending *o, const struct sockaddr *client,
                                    struct str callback, struct str topic,
                                    const struct hub_full **full)
{
    struct hub_request *p = request_new(client, callback, topic);

    *full = NULL;
    pthread_mutex_lock(&o->lock);
    for (size_t i = 0; i < BOUNDS && *full == NULL; i++)
        if ((uintptr_t)map_get(&o->counts, p->keys[i]) >= bounds[i].max)
            *full = &bounds[i].full;
    for (size_t i = 0; i < BOUNDS && *full == NULL; i++)
        map_put(&o->counts, p->keys[i], (void *)((uintptr_t)map_get(&o->counts, p->keys[i]) + 1));
    pthread_mutex_unlock(&o->lock);
    if (*full != NULL) {
        request_free(p);
        return NULL;
    }
    return p;
}

static void drop_locked(struct hub_pending *o, struct hub_request *p)
{
    for (size_t i = 0; i < BOUNDS; i++) {
        uintptr_t n = (uintptr_t)map_get(&o->counts, p->keys[i]) - 1;

        if (n > 0)
            map_put(&o->counts, p->keys[i], (void *)n);
        else
            map_del(&o->counts, p->keys[i]);
    }
}

void hub_pending_keep(struct hub_pending *o, struct hub_request **request, int64_t intent_id)
{
    pthread_mutex_lock(&o->lock);
    map_put(&o->by_intent, id_key(&intent_id), *request);
    pthread_mutex_unlock(&o->lock);
    *request = NULL;
}

void hub_pending_drop(struct hub_pending *o, struct hub_request **request)
{
    pthread_mutex_lock(&o->lock);
    drop_locked(o, *request);
    pthread_mutex_unlock(&o->lock);
    request_free(*request);
    *request = NULL;
}

void hub_pending_settled(struct hub_pending *o, int64_t intent_id)
{
    struct hub_request *p;

    pthread_mutex_lock(&o->lock);
    p = map_del(&o->by_intent, id_key(&intent_id));
    if (p != NULL)
        drop_locked(o, p);
    pthread_mutex_unlock(&o->lock);
    if (p != NULL)
        request_free(p);
}

size_t hub_pending_ids(struct hub_pending *o, struct arena *a, int64_t **out)
{
    void *it = NULL, *value;
    struct str key;
    size_t n = 0;

    pthread_mutex_lock(&o->lock);
    *out = ARENA_ARRAY(a, int64_t, map_count(&o->by_intent) + 1);
    while (map_next(&o->by_intent, &it, &key, &value))
        memcpy(&(*out)[n++], key.ptr, sizeof **out);
    pthread_mutex_unlock(&o->lock);
    return n;
}
