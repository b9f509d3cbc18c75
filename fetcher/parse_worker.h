/* fetcher/parse_worker.h - the threads that read documents. They take jobs from one queue, and let
 * each job's source understand the answer. Workers may wait for the database and for room in the
 * storer.
 */
#pragma once

/* The main function of a worker's thread; arg: struct worker. Ends when the queue is closed and
 * drained. */
void *parse_worker_main(void *arg);
