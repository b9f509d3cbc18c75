/* storage/cache.c - shards, each with a map and a list in order of use.
 *
 * A key names the version of its document, so a document in the cache is never wrong. When nobody
 * asks for it any more, it moves to the end of the list, and is removed. */
#include "storage/cache.h"

#include <pthread.h>
#include <sys/queue.h>

#include "base/digest.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stats.h"

#define N_SHARDS 8
#define ITEM_OVERHEAD 256 /* this struct, the map's entry, the blobs' headers */

struct cache_item {
    TAILQ_ENTRY(cache_item) recent;
    size_t size;
    struct blob *body, *gzip;
    size_t key_len, meta_len;
    char bytes[]; /* key, then meta */
};

struct shard {
    pthread_mutex_t lock; /* guards the rest */
    struct map items;
    TAILQ_HEAD(item_list, cache_item) recent; /* the most recently used one first */
    size_t bytes;
};

struct cache {
    size_t shard_bytes;
    struct shard shards[N_SHARDS];
};

struct cache *cache_new(size_t bytes)
{
    struct cache *c = NEW(struct cache);

    c->shard_bytes = bytes / N_SHARDS;
    for (int i = 0; i < N_SHARDS; i++) {
        pthread_mutex_init(&c->shards[i].lock, NULL);
        TAILQ_INIT(&c->shards[i].recent);
    }
    return c;
}

static struct str item_key(const struct cache_item *it)
{
    return str_of(it->bytes, it->key_len);
}

static void drop(struct shard *s, struct cache_item *it)
{
    map_del(&s->items, item_key(it));
    TAILQ_REMOVE(&s->recent, it, recent);
    s->bytes -= it->size;
    stats_add(STAT_cache_bytes, -(int64_t)it->size);
    blob_unref(&it->body);
    blob_unref(&it->gzip);
    mem_free(it);
}

void cache_free(struct cache **cp)
{
    struct cache *c = *cp;
    struct cache_item *it;

    if (c == NULL)
        return;
    for (int i = 0; i < N_SHARDS; i++) {
        while ((it = TAILQ_FIRST(&c->shards[i].recent)) != NULL)
            drop(&c->shards[i], it);
        map_release(&c->shards[i].items, NULL);
        pthread_mutex_destroy(&c->shards[i].lock);
    }
    mem_free(c);
    *cp = NULL;
}

static struct shard *shard_of(struct cache *c, struct str key)
{
    /* the high bits, because the shard's map uses the low ones */
    return &c->shards[(digest_seeded64(key.ptr, key.len) >> 48) % N_SHARDS];
}

bool cache_find(struct cache *c, struct str key, struct cached_doc *out)
{
    struct shard *s = shard_of(c, key);
    struct cache_item *it;

    pthread_mutex_lock(&s->lock);
    it = map_get(&s->items, key);
    if (it != NULL) {
        TAILQ_REMOVE(&s->recent, it, recent);
        TAILQ_INSERT_HEAD(&s->recent, it, recent);
        out->meta = str_of(mem_strndup(it->bytes + it->key_len, it->meta_len), it->meta_len);
        out->body = blob_ref(it->body);
        out->gzip = blob_ref(it->gzip);
    }
    pthread_mutex_unlock(&s->lock);
    stats_inc(it != NULL ? STAT_cache_hit_total : STAT_cache_miss_total);
    return it != NULL;
}

void cache_add(struct cache *c, struct str key, const struct cached_doc *doc)
{
    struct shard *s = shard_of(c, key);
    size_t size = ITEM_OVERHEAD + key.len * 2 + doc->meta.len + blob_bytes(doc->body).len +
                  blob_bytes(doc->gzip).len;
    struct cache_item *it, *old;

    if (size > c->shard_bytes)
        return;
    it = mem_zalloc(sizeof *it + key.len + doc->meta.len);
    it->size = size;
    it->key_len = key.len;
    it->meta_len = doc->meta.len;
    if (key.len > 0)
        memcpy(it->bytes, key.ptr, key.len);
    if (doc->meta.len > 0)
        memcpy(it->bytes + key.len, doc->meta.ptr, doc->meta.len);
    it->body = blob_ref(doc->body);
    it->gzip = blob_ref(doc->gzip);
    pthread_mutex_lock(&s->lock);
    old = map_get(&s->items, key);
    if (old != NULL)
        drop(s, old);
    while (s->bytes + size > c->shard_bytes)
        drop(s, TAILQ_LAST(&s->recent, item_list));
    map_put(&s->items, key, it);
    TAILQ_INSERT_HEAD(&s->recent, it, recent);
    s->bytes += size;
    pthread_mutex_unlock(&s->lock);
    stats_add(STAT_cache_bytes, (int64_t)size);
}

void cached_doc_release(struct cached_doc *doc)
{
    mem_free((char *)(uintptr_t)doc->meta.ptr);
    blob_unref(&doc->body);
    blob_unref(&doc->gzip);
    doc->meta = STR_NULL;
}
