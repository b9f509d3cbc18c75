/* base/queue.h - bounded FIFO that moves ownership between threads.
 *
 * Any thread may push and any may pop. An item belongs to the caller until a push returns RC_OK,
 * then to the queue until a pop returns it, then to the caller of that pop. Event loops call only
 * queue_try_push(); the waiting calls are for workers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/stats.h"

struct queue;
typedef void queue_item_free_fn(void *item);

/* Make a queue for at most `cap` items (cap >= 1). `item_free` disposes of items that are still
 * queued when the queue is freed. Never fails. */
struct queue *queue_new(size_t cap, queue_item_free_fn *item_free);

/* Free *qp and what it still holds, and set *qp to NULL. Join every thread that uses the queue
 * first. A NULL queue is allowed. */
void queue_free(struct queue **qp);

/* From now on `stat`, an AGE, tells how long the oldest item has waited in the queue. Call it
 * before the first push. */
void queue_watch(struct queue *q, enum stat_id stat);

/* Hand `item` over without waiting.
 * RC_OK      the queue owns the item;
 * RC_FULL    at capacity: the caller keeps the item and must slow down;
 * RC_CLOSED  shutting down: the caller keeps the item. */
enum rc queue_try_push(struct queue *q, void *item) NODISCARD;

/* The same, but wait up to `wait_ms` milliseconds for room (-1: no limit). */
enum rc queue_push(struct queue *q, void *item, int64_t wait_ms) NODISCARD;

/* Move up to `n` oldest items into items[0..n). Waits at most `wait_ms` milliseconds for the first
 * one (-1: no limit) and takes what is there. Returns the count; 0 means timed out, or closed and
 * drained. */
size_t queue_pop(struct queue *q, void **items, size_t n, int64_t wait_ms);

/* Say that `n` items which were popped are done. Until then they count as pending work
 * (STAT_work_pending), so say it after what they lead to was handed over. Any thread. */
void queue_done(size_t n);

/* Refuse further pushes and wake all waiters; what is queued can still be popped. May be called
 * from any thread, and more than once. */
void queue_close(struct queue *q);

/* True after queue_close(). Any thread. */
bool queue_is_closed(struct queue *q);

/* The number of items in the queue. It may already have changed when the caller reads it, so use it
 * for counters only. */
size_t queue_len(struct queue *q);
