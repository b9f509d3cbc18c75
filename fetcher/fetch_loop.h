/* fetcher/fetch_loop.h - the fetch loop: it moves jobs from step to step (steps.def). */
#pragma once

#include "fetcher/fetcher_priv.h"

/* Start all jobs that may start, and set the timer for the time when more may start. Runs on the
 * loop. */
void fetch_loop_pump(struct fetcher *f);

/* Give a job back to the loop, which goes on with this step. From then on the job belongs to the
 * loop. Any thread. */
void fetch_loop_give(struct job *job, enum job_step step);

/* Count one more, or one less, in f->n_jobs: a job, or something else that is counted there, begins
 * or has ended. Run on the loop. */
void fetch_loop_one_more(struct fetcher *f);
void fetch_loop_one_less(struct fetcher *f);

/* Ask for a fetch of the feed. Any thread. */
void fetch_loop_want(struct fetcher *f, int64_t feed_id, enum fetch_reason reason);

/* Slots of hosts have come or gone: what waits for a host that is not ours any more leaves the
 * queue, and jobs that may not go on are cut off. Runs on the loop. */
void fetch_loop_owners_changed(struct fetcher *f);

/* With several nodes: look now and then at what runs and waits. Runs on the loop. */
void fetch_loop_watch(struct fetcher *f);

/* Start no more jobs. Callers that wait for a fetch that has not begun are told so. Runs on the
 * loop. */
void fetch_loop_stop(struct fetcher *f);

/* Cancel the transfers that are still running. Runs on the loop. */
void fetch_loop_cut(struct fetcher *f);
