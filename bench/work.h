/* bench/work.h - shared by the rows: a store in its own directory, waiting, addresses. */
#pragma once

#include "base/arena.h"
#include "storage/store.h"

/* Make a new database in `dir`, which must exist. If that fails, the program ends with an error
 * message. */
struct store *work_store(const char *dir, const char *name);

/* The same with an address of a database, which other processes may have, too. */
struct store *work_node(const char *uri);

/* Number of operations that have not been answered yet. Give &work_pending to them as ctx. */
extern _Atomic long work_pending;
void work_done(void *ctx, enum rc rc, const struct store_result *res, const struct err *err);
void work_wait(void);

/* Give an outcome to the store, and wait while the queue is full. */
void work_outcome(struct store *s, const struct poll_outcome *o);

/* Make a fetch that found `n` new entries of about `len` bytes each, numbered from `first`. */
struct poll_outcome work_fetch(struct arena *a, int64_t feed_id, unsigned seed, unsigned first,
                               size_t n, size_t len);

/* Add a feed, and wait while the queue is full. The second function also waits until the feed is
 * there, and returns its id. */
void work_add(struct store *s, const struct feed_ref *ref);
int64_t work_feed(struct store *s, const char *url);

/* Returns an address of 127.0.0.0/8 as text; each number gives another one. */
const char *work_address(struct arena *a, unsigned number);
