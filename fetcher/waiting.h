/* fetcher/waiting.h - what the fetch loop keeps with each slot of the work queue: the job in
 * flight, the callers that wait for its end, and the failure of the last fetch. All calls come from
 * the loop's thread.
 */
#pragma once

#include <sys/queue.h>

#include "fetcher/fetcher.h"
#include "fetcher/job.h"
#include "fetcher/work_queue.h"

/* For this time after a failed fetch, its failure is returned to callers, and the feed is not
 * fetched again. */
#define FAILURE_HOLDS_MS 1000

struct waiter {
    STAILQ_ENTRY(waiter) link;
    fetch_done_fn *done;
    void *ctx;
};

STAILQ_HEAD(waiter_list, waiter);

struct waiting {
    struct job *asking; /* the job whose transfer is under way; NULL: there is none */
    bool is_wished;     /* somebody waits for this fetch at another node, too */
    struct job *job;    /* the job, if the loop has it; NULL while another thread has it, or when no
                           job is in flight */
    struct waiter_list waiters;
    struct arena *failure_arena; /* memory of `failure`; NULL: the last fetch did not fail, or its
                                    failure is forgotten */
    struct fetch_result failure;
    int64_t failed_ms; /* when it failed: milliseconds of the monotonic clock */
};

/* Return the slot's struct; it is made if it does not exist. */
struct waiting *waiting_of(struct slot *slot);

/* Free it. This is the user_free of work_queue_cfg. No waiter may be left. */
void waiting_free(void *waiting);

void waiting_add(struct slot *slot, fetch_done_fn *done, void *ctx);

/* Tell the waiters of a list, which is empty then. */
void waiting_tell_list(struct waiter_list *list, const struct fetch_result *res);

/* Tell all waiters the result, and remember it if it is a failure. */
void waiting_tell(struct slot *slot, const struct fetch_result *res, int64_t now_ms);

/* The failure of the last fetch, if it is not older than FAILURE_HOLDS_MS; otherwise NULL. */
const struct fetch_result *waiting_failure(const struct slot *slot, int64_t now_ms);
