/* fetcher/parse_job.h - the work of a parse worker: compare hashes, parse, discover, diff, store.
 *
 * Workers may wait: for the database, and for room in the storer's queue.
 */
#pragma once

#include <stdatomic.h>

#include "fetcher/job.h"
#include "storage/store.h"

struct parse_worker {
    struct store *store;
    struct reader *reader;      /* the worker's own */
    const atomic_bool *give_up; /* true: do not wait for room any more */
    store_done_fn *stored;      /* called by the storer with the job */
};

/* Work on a job that was answered. JOB_SEND: it has another URL to ask. JOB_WORK: the storer has it
 * now, and calls `stored`. JOB_END: nothing could be stored; job->rc and text say why. */
enum job_step parse_job_run(const struct parse_worker *w, struct job *job);
