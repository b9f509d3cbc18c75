/* storage/cache.h - a cache of finished documents in the memory of this process. Any thread.
 *
 * It has several shards, each with a lock of its own. When a shard is full, the documents that were
 * not used for the longest time are removed.
 */
#pragma once

#include "storage/store.h"

struct cache;

/* Make a cache for `bytes` bytes in all; 0: it keeps nothing. A document that is larger than a
 * shard is not kept. */
struct cache *cache_new(size_t bytes);
void cache_free(struct cache **cp);

/* Find a document: as cache_get() in store.h. Add a document: as cache_put(), without memcached. */
bool cache_find(struct cache *c, struct str key, struct cached_doc *out);
void cache_add(struct cache *c, struct str key, const struct cached_doc *doc);
