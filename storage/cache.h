/* storage/cache.h - finished documents in memory: shards, each with a lock and a list from the one
 * used last to the one to go next, bounded in bytes. Any thread.
 */
#pragma once

#include "storage/store.h"

struct cache;

/* Room for `bytes` in all; 0 holds nothing. A document larger than a shard's part is not kept. */
struct cache *cache_new(size_t bytes);
void cache_free(struct cache **cp);

/* As cache_get() and cache_put() of store.h, without memcached. */
bool cache_find(struct cache *c, struct str key, struct cached_doc *out);
void cache_add(struct cache *c, struct str key, const struct cached_doc *doc);
