/* storage/memcached.h - the cache that several processes share. Any failure counts as a miss.
 *
 * A handle belongs to one reader thread; a call may take up to MEMCACHED_MS. After two failures in
 * a row the server is not asked for two seconds, then for twice as long, up to half a minute.
 * Values carry a checksum. Keys are hashes of the caller's key and the log's id, so several
 * databases can share one server.
 */
#pragma once

#include "storage/store.h"

#define MEMCACHED_MS 50
#define MEMCACHED_VALUE_MAX (1000 * 1000) /* the server's limit is 1 MiB with key and header */

struct far_cache;

/* `server`: "HOST:PORT", else RC_INPUT. Does not connect. */
enum rc far_open(struct str server, struct str log_id, struct far_cache **out,
                 struct err *err) NODISCARD;
void far_close(struct far_cache **mp);

/* A hit fills *out as cache_get() does. */
bool far_find(struct far_cache *m, struct str key, struct cached_doc *out);

/* Larger documents than MEMCACHED_VALUE_MAX are not sent. */
void far_add(struct far_cache *m, struct str key, const struct cached_doc *doc);

/* When to ask a server that fails, and when to leave it alone. Pure. */
struct breaker {
    int n_failures;    /* in a row */
    int64_t pause_ms;  /* of the last time it opened; 0: never since a success */
    int64_t closed_at; /* monotonic ms: not asked before it */
};
bool breaker_allows(const struct breaker *b, int64_t now_ms);
void breaker_note(struct breaker *b, bool ok, int64_t now_ms);
