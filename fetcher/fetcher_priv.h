/* fetcher/fetcher_priv.h - the fetcher's structs, for its own files only: fetcher.c (life cycle,
 * public calls), fetch_loop.c, parse_worker.c, delivery.c. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/histogram.h"
#include "base/queue.h"
#include "fetcher/budget.h"
#include "fetcher/due_slots.h"
#include "fetcher/fetcher.h"
#include "fetcher/job.h"
#include "fetcher/monitor.h"
#include "fetcher/outage.h"
#include "fetcher/upstream_subs.h"
#include "fetcher/sweeper.h"
#include "fetcher/work_queue.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "storage/nodes.h"

struct worker {
    struct fetcher *f;
    struct reader *reader; /* its own; the thread closes it */
    pthread_t thread;
};

/* Why nothing is fetched. */
#define FULL_TEXT "the database has its largest size (--max-size)"

/* What documents add to the database (fetcher/room.h). Bytes. */
struct room {
    pthread_mutex_t lock; /* guards all that follows */
    int64_t taken;      /* by documents that are not stored yet */
    int64_t given;      /* back, and not measured yet, ... */
    int64_t kept;       /* ... also before that: until the measurement after this number has ended */
    int64_t kept_since;
    int64_t mean;       /* what a fetched document takes */
    int64_t waited_until_ms; /* monotonic: pushes get nothing before */
};

struct fetcher {
    /* set before threads start, then read by all */
    struct store *store;
    struct guard *guard;
    char *user_agent;      /* without the closing parenthesis */
    char *full_user_agent; /* with it */
    struct loop *loop;
    struct sweeper *sweeper;
    struct sweeper *contents; /* when the next content of a metadata record is due, by feed */
    struct nodes *nodes;
    bool is_alone;       /* no other node can work on this database: all hosts are ours */
    struct queue *parse; /* struct job, loop and deliveries -> workers */
    struct histogram_series *times[RESPONSE_KINDS_]; /* of requests, by what the answer was */
    list_let_fn *let_unknown;
    void *let_ctx;
    atomic_bool give_up; /* workers must not wait for room in the storer any more */

    /* of the thread that starts, reloads and stops */
    struct fetcher_cfg cfg;  /* its strings are valid only during fetcher_new() */
    struct monitor *monitor; /* NULL: no ping servers */
    struct worker *workers;
    int n_workers; /* running */
    bool is_started;
    struct upstream_subs *upstreams; /* any thread */
    atomic_int n_parsing;            /* jobs of the loop in the parse queue */
    atomic_int n_deliveries;         /* deliveries that are not stored yet */
    atomic_llong delivered_bytes;    /* their bytes, as they came */
    struct room room;                /* any thread; it has a lock */
    atomic_llong n_made;             /* feeds added since the start */
    atomic_bool reads_due;           /* what is due is read, or was; from now on changes count */
    atomic_int n_wishes;             /* as in `wishes` */
    atomic_int n_looks;              /* calls of hubs that wait (fetcher/upstream_late.h); ... */
    atomic_int n_lates;              /* ... of these, for a second look, without a body; ... */
    atomic_int n_late_bodies;        /* ... deliveries, whose bodies have ... */
    atomic_llong late_bytes;         /* ... so many bytes */

    /* the fetch loop's own */
    struct http_client *client;
    struct work_queue *queue;
    struct schedule_rules rules;
    struct budget budget; /* fetcher/price.h, like the next three */
    int64_t began_at;     /* Unix seconds: the plan does not have what was fetched before */
    int64_t priced_ms;    /* monotonic: when the price of the rules was found, ... */
    int64_t n_priced;     /* ... and for how many feeds */
    bool is_full;         /* the database has its largest size: nothing is started */
    bool announced_only;
    bool with_contents;
    int catch_up;
    size_t max_body;
    int64_t timeout_ms;
    int parsing_max;           /* of n_parsing */
    struct job_list to_load;   /* started; their rows are not requested yet */
    struct job_list parked;    /* answered; they wait for a worker or for room, and nothing new is
                                  started meanwhile */
    STAILQ_HEAD(, late) lates; /* calls of hubs (fetcher/upstream_late.h) */
    struct map wishes;         /* of other nodes (fetcher/wishes.h) */
    struct due_slots due;      /* of what was gained and lost */
    bool has_hub_changes;      /* the same for the rows of hubs */
    STAILQ_HEAD(, unkept_rest) unkept_rests; /* rests of hosts (fetcher/rests.h) */
    bool rests_changed;                      /* they are to be read */
    bool rests_reading;
    struct loop_timer *watch;  /* NULL: alone, or not running */
    struct loop_timer *strays; /* the next look (fetcher/strays.h) */
    size_t strays_at;
    struct outage outage;
    struct loop_timer *take_back; /* fetcher/outage_watch.h, like the next three */
    struct feed_errors missed[OUTAGE_FAILED];
    size_t n_missed;
    int64_t missed_since;
    struct loop_timer *timer;
    int64_t timer_at_ms;
    int64_t retry_at_ms; /* something was refused and is tried again then; INT64_MAX: no */
    size_t n_counted;    /* slots of the queue, as the counters have them */
    size_t n_jobs;       /* anywhere; look-ups of content hosts counted */
    bool stopping;

    pthread_mutex_t idle_lock; /* guards is_idle */
    pthread_cond_t idle_cond;  /* CLOCK_MONOTONIC */
    bool is_idle;              /* stopping, and n_jobs is 0 */
};
