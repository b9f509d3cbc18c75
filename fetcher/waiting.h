/* fetcher/waiting.h - what the fetch loop keeps beside a slot of the work queue: the job in flight,
 * who waits for its end, and how the last one failed. The loop's own thread.
 */
#pragma once

#include <sys/queue.h>

#include "fetcher/fetcher.h"
#include "fetcher/job.h"
#include "fetcher/work_queue.h"

/* A failure answers for so long without another request. */
#define FAILURE_HOLDS_MS 1000

struct waiter {
    STAILQ_ENTRY(waiter) link;
    fetch_done_fn *done;
    void *ctx;
};

struct waiting {
    struct job *job; /* in flight and here; NULL while another thread has it, or none is */
    STAILQ_HEAD(, waiter) waiters;
    struct arena *failure_arena; /* NULL: the last fetch did not fail, or is forgotten */
    struct fetch_result failure;
    int64_t failed_ms; /* monotonic */
};

/* The slot's, made when missing. */
struct waiting *waiting_of(struct slot *slot);

/* For work_queue_cfg.user_free: nobody may wait any more. */
void waiting_free(void *waiting);

void waiting_add(struct slot *slot, fetch_done_fn *done, void *ctx);

/* Tell all who wait, and remember a failure. */
void waiting_tell(struct slot *slot, const struct fetch_result *res, int64_t now_ms);

/* The failure that still answers for the feed, or NULL. */
const struct fetch_result *waiting_failure(const struct slot *slot, int64_t now_ms);
