/* fetcher/fetcher_priv.h - what fetcher.c (life cycle, public calls) and dispatch.c (the fetch
 * loop) share.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/queue.h"
#include "fetcher/fetcher.h"
#include "fetcher/job.h"
#include "fetcher/monitor.h"
#include "fetcher/outage.h"
#include "fetcher/subscriber.h"
#include "fetcher/sweeper.h"
#include "fetcher/work_queue.h"
#include "net/http_client.h"
#include "net/loop.h"

struct worker {
    struct fetcher *f;
    struct reader *reader; /* its own; the thread closes it */
    pthread_t thread;
};

struct fetcher {
    /* set before threads start, then read by all */
    struct store *store;
    struct guard *guard;
    char *user_agent;      /* without the closing parenthesis */
    char *full_user_agent; /* with it */
    struct loop *loop;
    struct sweeper *sweeper;
    struct sweeper *contents; /* when the content of a record of a feed is due */
    struct queue *parse;      /* struct job, loop -> workers */
    atomic_bool give_up;      /* workers wait for room in the storer no more */

    /* of the thread that starts, reloads and stops */
    struct fetcher_cfg cfg;  /* strings are not to be used but in fetcher_new() */
    struct monitor *monitor; /* NULL: no ping servers */
    struct worker *workers;
    int n_workers; /* running */
    bool is_started;
    struct subscriber *subscriber; /* any thread */
    struct queue *deliveries;      /* struct job of hubs, any thread -> workers */
    struct job wake; /* in the parse queue: there may be deliveries, and nothing else */
    atomic_llong delivered_bytes; /* held by deliveries that are not stored yet */
    atomic_llong n_made;          /* feed records made since the start; any thread */

    /* the fetch loop's own */
    struct http_client *client;
    struct work_queue *queue;
    struct schedule_rules rules;
    bool announced_only;
    bool with_contents;
    int catch_up;
    size_t max_body;
    int64_t timeout_ms;
    struct job_list to_read; /* started, their records not asked for yet */
    struct job_list parked;  /* answered, the workers' queue is full: nothing starts meanwhile */
    bool is_looking;         /* a look-up of hosts is under way */
    struct outage outage;
    struct loop_timer *timer;
    int64_t timer_at_ms;
    int64_t retry_at_ms; /* something was refused and is tried again then; INT64_MAX: no */
    size_t n_jobs;       /* anywhere, look-ups counted */
    bool stopping;

    pthread_mutex_t idle_lock; /* guards is_idle */
    pthread_cond_t idle_cond;  /* CLOCK_MONOTONIC */
    bool is_idle;              /* stopping, and n_jobs is 0 */
};

/* Start what may start, and wake again when time alone lets more start. Loop. */
void dispatch_pump(struct fetcher *f);

/* The threads of parse workers; arg: struct worker. */
void *dispatch_worker_main(void *arg);

/* Start nothing more; those who wait for what has not begun are told. Loop. */
void dispatch_stop(struct fetcher *f);

/* Cut the transfers that still run. Loop. */
void dispatch_cut(struct fetcher *f);
