/* bench/work.h - what the rows share: a store in a directory of its own, waiting, addresses. */
#pragma once

#include "base/arena.h"
#include "storage/store.h"

/* A fresh database in `dir`, which must exist. The program ends with a sentence when it fails. */
struct store *work_store(const char *dir, const char *name);

/* Count of operations that have not been answered; give &work_pending as ctx. */
extern _Atomic long work_pending;
void work_done(void *ctx, enum rc rc, const struct store_result *res, const struct err *err);
void work_wait(void);

/* Hand an outcome over, waiting while the queue is full. */
void work_outcome(struct store *s, const struct poll_outcome *o);

/* A fetch that found `n` new entries of about `len` bytes each, numbered from `first`. */
struct poll_outcome work_fetch(struct arena *a, int64_t feed_id, unsigned seed, unsigned first,
                               size_t n, size_t len);

/* Add a feed, waiting while the queue is full; or until it is there, for its id. */
void work_add(struct store *s, const struct feed_ref *ref);
int64_t work_feed(struct store *s, const char *url);

/* An address of 127.0.0.0/8 as text, another one for each number. */
const char *work_address(struct arena *a, unsigned number);
