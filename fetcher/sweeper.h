/* fetcher/sweeper.h - the thread that knows when each feed is due.
 *
 * It keeps a heap of due times in memory. The heap is filled from the database at start and kept up
 * to date from commit notices. The sweeper writes nothing, because the times are stored in the
 * database. Any thread may call.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct sweeper;

/* Called on the sweeper's thread with the feeds that are due. These feeds are then not in the heap
 * until they are put there again. It hands them over and returns; it may not call the sweeper. */
typedef void sweeper_due_fn(void *ctx, const int64_t *feed_ids, size_t n);

#define SWEEPER_BATCH 256

/* sweeper_new() makes the sweeper without a thread; sweeper_start() starts the thread. */
struct sweeper *sweeper_new(sweeper_due_fn *due, void *ctx);
void sweeper_start(struct sweeper *s);

/* For tests: the clock has jumped. What is due counts as pending work when this returns. Any thread.
 */
void sweeper_look(struct sweeper *s);

/* End the thread. sweeper_put() may still be called, but has no effect any more. */
void sweeper_stop(struct sweeper *s);
void sweeper_free(struct sweeper **sp);

/* Set the time at which the feed is due (Unix seconds). TIME_UNKNOWN: it is never due. */
void sweeper_put(struct sweeper *s, int64_t feed_id, int64_t due_at);

/* The same, unless the feed has a time already. This is for the initial load: a commit notice that
 * came in the meantime may be newer. */
void sweeper_put_if_absent(struct sweeper *s, int64_t feed_id, int64_t due_at);

/* Write the ids of all feeds in the heap to *out, in no particular order. Returns how many. Arena.
 */
size_t sweeper_ids(struct sweeper *s, struct arena *a, int64_t **out);

/* Take at most `max` feeds that are due at `now_us` (microseconds), earliest first. When `now_us`
 * is much less than the last time, all times are moved back by as much. */
size_t sweeper_take_due(struct sweeper *s, int64_t now_us, int64_t *feed_ids, size_t max);

/* Microseconds until the next is due, at most `most_us`. */
int64_t sweeper_wait_us(struct sweeper *s, int64_t now_us, int64_t most_us);
