/* api/hub/hub_open.c - counters of pending requests by name, and the names under which each request
 * is counted. */
#include "api/hub/hub_open.h"

#include <pthread.h>

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
    [ALL] = {HUB_OPEN_MAX, {503, "Too many requests wait for their verification."}},
    [CLIENT] = {HUB_OPEN_CLIENT,
                {429, "Too many requests from your address wait for their verification."}},
    [HOST] = {HUB_OPEN_HOST,
              {429, "Too many requests wait for their verification by callbacks at this host."}},
    [PAIR] = {HUB_OPEN_PAIR,
              {429, "Too many requests for this callback and topic wait for their verification."}},
};

struct hub_place {
    struct arena arena;
    struct str keys[BOUNDS];
};

struct hub_open {
    pthread_mutex_t lock; /* guards the rest */
    struct map counts;    /* key -> the count, stored in the pointer */
    struct map by_intent; /* id -> struct hub_place */
};

struct hub_open *hub_open_new(void)
{
    struct hub_open *o = NEW(struct hub_open);

    pthread_mutex_init(&o->lock, NULL);
    return o;
}

static void place_free(void *value)
{
    struct hub_place *p = value;

    arena_release(&p->arena);
    mem_free(p);
}

void hub_open_free(struct hub_open **op)
{
    struct hub_open *o = *op;

    *op = NULL;
    if (o == NULL)
        return;
    map_release(&o->by_intent, place_free);
    map_release(&o->counts, NULL);
    pthread_mutex_destroy(&o->lock);
    mem_free(o);
}

static struct str id_key(const int64_t *id)
{
    return str_of((const char *)id, sizeof *id);
}

static struct hub_place *place_new(const struct sockaddr *client, struct str callback,
                                   struct str topic)
{
    struct hub_place *p = NEW(struct hub_place);
    struct arena *a = &p->arena;

    p->keys[ALL] = STR("all");
    p->keys[CLIENT] = str_concat(a, STR("client "), buckets_source(client));
    p->keys[HOST] = str_concat(a, STR("host "), url_authority(a, callback));
    p->keys[PAIR] = str_printf(a, "pair %.*s\n%.*s", STR_ARG(callback), STR_ARG(topic));
    return p;
}

struct hub_place *hub_open_take(struct hub_open *o, const struct sockaddr *client,
                                struct str callback, struct str topic, const struct hub_full **full)
{
    struct hub_place *p = place_new(client, callback, topic);

    *full = NULL;
    pthread_mutex_lock(&o->lock);
    for (size_t i = 0; i < BOUNDS && *full == NULL; i++)
        if ((uintptr_t)map_get(&o->counts, p->keys[i]) >= bounds[i].max)
            *full = &bounds[i].full;
    for (size_t i = 0; i < BOUNDS && *full == NULL; i++)
        map_put(&o->counts, p->keys[i], (void *)((uintptr_t)map_get(&o->counts, p->keys[i]) + 1));
    pthread_mutex_unlock(&o->lock);
    if (*full != NULL) {
        place_free(p);
        return NULL;
    }
    return p;
}

static void leave_locked(struct hub_open *o, struct hub_place *p)
{
    for (size_t i = 0; i < BOUNDS; i++) {
        uintptr_t n = (uintptr_t)map_get(&o->counts, p->keys[i]) - 1;

        if (n > 0)
            map_put(&o->counts, p->keys[i], (void *)n);
        else
            map_del(&o->counts, p->keys[i]);
    }
}

void hub_open_keep(struct hub_open *o, struct hub_place **place, int64_t intent_id)
{
    pthread_mutex_lock(&o->lock);
    map_put(&o->by_intent, id_key(&intent_id), *place);
    pthread_mutex_unlock(&o->lock);
    *place = NULL;
}

void hub_open_leave(struct hub_open *o, struct hub_place **place)
{
    pthread_mutex_lock(&o->lock);
    leave_locked(o, *place);
    pthread_mutex_unlock(&o->lock);
    place_free(*place);
    *place = NULL;
}

void hub_open_settled(struct hub_open *o, int64_t intent_id)
{
    struct hub_place *p;

    pthread_mutex_lock(&o->lock);
    p = map_del(&o->by_intent, id_key(&intent_id));
    if (p != NULL)
        leave_locked(o, p);
    pthread_mutex_unlock(&o->lock);
    if (p != NULL)
        place_free(p);
}
