/* api/views/recall.c - shards, each with a map and a list in order of use. What is remembered of an
 * answer is never changed: a request that is answered anew replaces it. */
#include "api/views/recall.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "api/views/sub_book.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stats.h"
#include "storage/store.h"

#define N_SHARDS 16
#define SHARD_BYTES ((size_t)1024 * 1024)
#define ITEM_OVERHEAD 256    /* entry of the map, blocks of the allocator */
#define TOUCH_AGAIN_MS 60000 /* once in this time is enough: a feed's is written once an hour */

struct recalled {
    TAILQ_ENTRY(recalled) recent;
    atomic_int refs;
    size_t size;
    struct str request; /* the key of the map */
    /* it is valid as long as these are the present ones */
    const struct api_cfg *cfg;
    int64_t names, version;
    bool has_sets, is_undated, tags_content;
    int64_t edition, owner; /* has_sets: of the subscriptions; whose they are */
    enum access_role role;
    const int64_t *feed_ids;
    size_t n_feeds;
    atomic_llong changes;    /* store_stamp() before they were last looked at; -1: not yet */
    atomic_llong touched_ms; /* when its feeds were last touched; 0: not yet */
    /* the answer */
    struct str document; /* its name in the cache */
    struct str etag, fields;
    const char *cache;
    enum feed_format format;
    bool negotiated;
    struct arena arena; /* of all texts */
};

struct shard {
    pthread_mutex_t lock;                       /* guards the rest */
    struct map items;                           /* request -> struct recalled */
    TAILQ_HEAD(recalled_list, recalled) recent; /* the most recently used one first */
    size_t bytes;
};

struct recall {
    struct shard shards[N_SHARDS];
};

static void release(struct recalled *it)
{
    if (atomic_fetch_sub(&it->refs, 1) > 1)
        return;
    arena_release(&it->arena);
    mem_free(it);
}

/* The shard's lock is held. */
static void drop(struct shard *s, struct recalled *it)
{
    map_del(&s->items, it->request);
    TAILQ_REMOVE(&s->recent, it, recent);
    s->bytes -= it->size;
    release(it);
}

struct recall *recall_new(void)
{
    struct recall *all = NEW(struct recall);

    for (int i = 0; i < N_SHARDS; i++) {
        pthread_mutex_init(&all->shards[i].lock, NULL);
        TAILQ_INIT(&all->shards[i].recent);
    }
    return all;
}

void recall_free(struct recall **rp)
{
    struct recalled *it;

    if (*rp == NULL)
        return;
    for (int i = 0; i < N_SHARDS; i++) {
        struct shard *s = &(*rp)->shards[i];

        while ((it = TAILQ_FIRST(&s->recent)) != NULL)
            drop(s, it);
        map_release(&s->items, NULL);
        pthread_mutex_destroy(&s->lock);
    }
    mem_free(*rp);
    *rp = NULL;
}

/* All of the request on which its meaning depends. A field cannot have a line end. */
static struct str bytes_of(struct request *req)
{
    const struct str parts[] = {req->ask.target, req->ask.origin, req->ask.accept,
                                ask_is_private(&req->ask) ? STR("1") : STR("0")};
    size_t len = ARRAY_LEN(parts);
    char *bytes, *end;

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        len += parts[i].len;
    end = bytes = arena_alloc(req->ask.arena, len);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (parts[i].len > 0)
            end = mempcpy(end, parts[i].ptr, parts[i].len);
        *end++ = '\n';
    }
    return str_of(bytes, len);
}

/* A client that asks for a delta gets an answer that depends on what it has. */
static bool is_plain(struct request *req)
{
    return str_is_null(http_request_field(req->http, "a-im"));
}

static struct shard *shard_of(struct recall *all, struct str bytes)
{
    /* the high bits, because the shard's map uses the low ones */
    return &all->shards[(digest_seeded64(bytes.ptr, bytes.len) >> 48) % N_SHARDS];
}

/* Returns what is remembered of the request, with a reference; NULL: nothing. */
static struct recalled *find(struct recall *all, struct str bytes)
{
    struct shard *s = shard_of(all, bytes);
    struct recalled *it;

    pthread_mutex_lock(&s->lock);
    it = map_get(&s->items, bytes);
    if (it != NULL) {
        atomic_fetch_add(&it->refs, 1);
        TAILQ_REMOVE(&s->recent, it, recent);
        TAILQ_INSERT_HEAD(&s->recent, it, recent);
    }
    pthread_mutex_unlock(&s->lock);
    return it;
}

static bool has_same_sets(struct request *req, const struct recalled *it)
{
    const struct caller *c = &req->ask.caller;

    return it->edition == sub_book_edition(req->ask.api->subs) && it->owner == c->owner &&
           it->role == c->role;
}

/* Are its feeds as they were? If nothing at all has changed since they were last looked at, they
 * need not be looked at again. */
static bool has_same_feeds(struct store *s, struct recalled *it)
{
    int64_t changes = store_stamp(s);

    if (atomic_load(&it->changes) == changes)
        return true;
    if (it->names != store_names(s) || it->version != store_version(s, it->feed_ids, it->n_feeds))
        return false;
    atomic_store(&it->changes, changes);
    return true;
}

static bool is_valid(struct request *req, struct recalled *it)
{
    return it->cfg == req->ask.cfg && (!it->has_sets || has_same_sets(req, it)) &&
           has_same_feeds(req->ask.api->store, it);
}

static void touch(struct store *s, struct recalled *it)
{
    int64_t now = clock_mono_ms(), last = atomic_load(&it->touched_ms);

    if (last != 0 && now - last < TOUCH_AGAIN_MS)
        return;
    atomic_store(&it->touched_ms, now);
    store_touch(s, it->feed_ids, it->n_feeds);
}

static bool answer(struct request *req, struct recalled *it)
{
    struct document_spec spec = {.view.format = it->format, .key = it->document};
    struct reply r = REPLY_INIT;

    r.cache = it->cache;
    r.is_undated = it->is_undated;
    r.varies_encoding = true;
    r.etag = it->etag;
    r.tags_content = it->tags_content;
    req->ask.negotiated = it->negotiated;
    touch(req->ask.api->store, it);
    if (reply_unmodified(req, &r))
        return true;
    r.fields = it->fields;
    return document_from_cache(req, &spec, &r);
}

bool recall_serve(struct request *req)
{
    struct recalled *it = is_plain(req) ? find(req->ask.api->recall, bytes_of(req)) : NULL;
    bool done;

    if (it == NULL)
        return false;
    done = is_valid(req, it) && answer(req, it);
    if (done)
        stats_inc(STAT_recalled_total);
    release(it);
    return done;
}

static struct recalled *recalled_new(struct request *req, struct str bytes,
                                     const struct recall_facts *facts)
{
    struct recalled *it = NEW(struct recalled);
    const struct document_spec *spec = facts->spec;
    size_t ids_len = spec->view.n_feeds * sizeof *spec->view.feed_ids;
    struct arena *a = &it->arena;

    it->refs = 1;
    it->changes = -1;
    it->cfg = req->ask.cfg;
    it->names = facts->names;
    it->version = facts->version;
    it->has_sets = facts->has_sets;
    it->edition = facts->edition;
    it->owner = req->ask.caller.owner;
    it->role = req->ask.caller.role;
    it->request = str_dup(a, bytes);
    it->feed_ids = (const int64_t *)(const void *)arena_copy(a, spec->view.feed_ids, ids_len);
    it->n_feeds = spec->view.n_feeds;
    it->document = str_dup(a, spec->key);
    it->etag = str_dup(a, facts->reply->etag);
    it->fields = str_dup(a, facts->fields);
    it->cache = facts->reply->cache;
    it->is_undated = facts->reply->is_undated;
    it->tags_content = facts->reply->tags_content;
    it->format = spec->view.format;
    it->negotiated = req->ask.negotiated;
    it->size = sizeof *it + ITEM_OVERHEAD + bytes.len + arena_size(a);
    return it;
}

void recall_keep(struct request *req, const struct recall_facts *facts)
{
    struct str bytes = bytes_of(req);
    struct shard *s = shard_of(req->ask.api->recall, bytes);
    struct recalled *it, *old;

    if (!is_plain(req))
        return;
    it = recalled_new(req, bytes, facts);
    pthread_mutex_lock(&s->lock);
    old = map_get(&s->items, bytes);
    if (old != NULL)
        drop(s, old);
    map_put(&s->items, it->request, it);
    TAILQ_INSERT_HEAD(&s->recent, it, recent);
    s->bytes += it->size;
    while (s->bytes > SHARD_BYTES)
        drop(s, TAILQ_LAST(&s->recent, recalled_list));
    pthread_mutex_unlock(&s->lock);
}
