/* fetcher/sweeper.h - the thread that knows when each feed is due.
 *
 * A heap of due times in memory, filled from the database at start and kept up to date from commit
 * notices; the database has the truth, so nothing is written here. Any thread may call.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sweeper;

/* These feeds are due; called on the sweeper's thread. A feed given here is not in the heap until
 * it is put there again. */
typedef void sweeper_due_fn(void *ctx, const int64_t *feed_ids, size_t n);

#define SWEEPER_BATCH 256

/* No thread yet: sweeper_start(). */
struct sweeper *sweeper_new(sweeper_due_fn *due, void *ctx);
void sweeper_start(struct sweeper *s);

/* End the thread. Times may still be put; nothing comes of them. */
void sweeper_stop(struct sweeper *s);
void sweeper_free(struct sweeper **sp);

/* A feed is due at this time (Unix seconds); TIME_UNKNOWN: never. */
void sweeper_put(struct sweeper *s, int64_t feed_id, int64_t due_at);

/* The same, unless the feed has a time already: for the initial load, which may be older than a
 * notice that has come meanwhile. */
void sweeper_put_if_absent(struct sweeper *s, int64_t feed_id, int64_t due_at);

/* Take at most `max` feeds that are due at `now_us` (microseconds), earliest first. When `now_us`
 * is much less than the last time, all times are moved back by as much. */
size_t sweeper_take_due(struct sweeper *s, int64_t now_us, int64_t *feed_ids, size_t max);

/* Microseconds until the next is due, at most `most_us`. */
int64_t sweeper_wait_us(struct sweeper *s, int64_t now_us, int64_t most_us);
