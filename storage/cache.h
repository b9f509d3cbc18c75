/* storage/cache.h - finished documents in memory, bounded in bytes. Any thread.
 *
 * It has several shards, each with a lock of its own. When a shard is full, the documents that were
 * not used for longest make room.
 */
#pragma once

#include "storage/store.h"

struct cache;

/* Room for `bytes` in all; 0: nothing is kept. A document larger than a shard is not kept. */
struct cache *cache_new(size_t bytes);
void cache_free(struct cache **cp);

/* As cache_get() and cache_put() of store.h, without memcached. */
bool cache_find(struct cache *c, struct str key, struct cached_doc *out);
void cache_add(struct cache *c, struct str key, const struct cached_doc *doc);
