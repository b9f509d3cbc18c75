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

/* Start no more jobs. Callers that wait for a fetch that has not begun are told so. Runs on the
 * loop. */
void fetch_loop_stop(struct fetcher *f);

/* Cancel the transfers that are still running. Runs on the loop. */
void fetch_loop_cut(struct fetcher *f);
