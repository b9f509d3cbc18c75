/* storage/memcached.h - a cache of documents that several processes share. A failure is a miss.
 *
 * A handle belongs to one reader thread. A call may take up to `call_ms` milliseconds. After two
 * failures in a row, the server is not asked for two seconds. If it fails again, the pause is
 * doubled, up to half a minute. Values have a checksum. Keys are hashes of the caller's key and the
 * log's id, so several databases can share one server.
 */
#pragma once

#include "storage/store.h"

#define MEMCACHED_MS 50                   /* `call_ms` of the daemon */
#define MEMCACHED_VALUE_MAX (1000 * 1000) /* the server's limit is 1 MiB with key and header */

struct far_cache;

/* Read the address of a server: "HOST:PORT". *host is yours. RC_INPUT: it is something else. */
enum rc far_address(struct str server, char **host, int *port, struct err *err) NODISCARD;

/* Make a handle for a server; it connects later. `server`: "HOST:PORT"; RC_INPUT: it is something
 * else. Close it with far_close(). */
enum rc far_open(struct str server, struct str log_id, int call_ms, struct far_cache **out,
                 struct err *err) NODISCARD;
void far_close(struct far_cache **mp);

/* Find a document. True: *out is filled as by cache_get() in store.h. */
bool far_find(struct far_cache *m, struct str key, struct cached_doc *out);

/* Store a document. One that is larger than MEMCACHED_VALUE_MAX is not sent. */
void far_add(struct far_cache *m, struct str key, const struct cached_doc *doc);

/* When to ask a server that fails. All zero: ask it. Pure. breaker_allows(): may the server be
 * asked at `now_ms`? breaker_note(): a call has succeeded (`ok`) or failed. */
struct breaker {
    int n_failures;    /* in a row */
    int64_t pause_ms;  /* the last pause; 0: there was none since the last success */
    int64_t closed_at; /* monotonic ms: the server is not asked before this time */
};
bool breaker_allows(const struct breaker *b, int64_t now_ms);
void breaker_note(struct breaker *b, bool ok, int64_t now_ms);
