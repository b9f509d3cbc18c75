/* api/call.h - one request in the hands of the API, from its parameters to its reply.
 *
 * A call lives in the arena of its request: while the request does. What runs elsewhere (a reader
 * thread, a port) holds a `struct task` or a message of its own and finds the call again by number
 * on the call's loop; when the client has left, it finds nothing and frees what it held.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "api/api.h"
#include "api/params.h"

/* What a reload replaces as a whole. Snapshots live until api_free(): readers need no lock. */
struct api_conf {
    struct api_cfg cfg; /* strings in `arena` */
    struct arena arena;
    struct api_conf *older;
};

struct api {
    _Atomic(struct api_conf *) conf;
    pthread_mutex_t reload_lock;
    struct store *store;
    struct api_ports ports;
    struct renders *renders;     /* render.c */
    struct opml_lists *lists;    /* opml_list.c */
    struct log_waiters *waiters; /* log.c */
    struct ping_log *pings;      /* ping_log.c */
    struct buckets *buckets;     /* buckets.c: pings */
    struct buckets *hub_calls;   /* calls at /websub */
    struct hub_waiters *hub;     /* hub.c */
    atomic_long n_waits;         /* fetches that requests wait for */
    pthread_mutex_t stop_lock;   /* held by who asks for documents beside the http loops */
    bool stopping;               /* under it: nobody asks any more */
};

struct call {
    struct api *api;
    const struct api_cfg *cfg;
    struct http_request *req;
    struct arena *arena;             /* the request's */
    struct str target, accept;       /* what is asked for: the request's, or a topic's (topic.c) */
    struct str origin;               /* of links; null: as configured, or as the request has it */
    struct params params;            /* query, and form body where the route takes one */
    uint64_t serial;                 /* 0: not held */
    bool negotiated;                 /* Accept decided: Vary says so */
    void (*on_gone)(struct call *c); /* the client left; on the loop; NULL: nothing to do */
    void *gone_ctx;
    struct ping_wait *ping; /* taken, but perhaps not on disk yet (ping.c); NULL: none */
};

/* Hold the request, once; it is answered 503 if nothing has answered it after `deadline_ms`. */
void call_hold(struct call *c, int64_t deadline_ms);

/* The call of a held request, or NULL when the client has left. Loop's own thread. */
struct call *call_find(struct loop *l, uint64_t serial, struct call *c);

/* ---- work on a reader thread ---- */

struct task;
/* Reader thread. Nothing of the call may be touched. False: the work goes on elsewhere, the task
 * is not to be touched here any more, and task_finish() will be called. */
typedef bool task_work_fn(struct task *t, struct reader *r);
/* The call's loop; not run when the client has left. It replies or starts more. */
typedef void task_done_fn(struct task *t, struct call *c);

struct task {
    struct arena arena; /* dies with the task */
    struct api *api;
    const struct api_cfg *cfg;
    task_work_fn *work;
    task_done_fn *done;
    void *data;                      /* the resource's own, in `arena` */
    void (*dispose)(struct task *t); /* frees what `data` holds beside the arena; may be NULL */
    enum rc rc;                      /* left by `work`; RC_OK at first */
    struct err err;
    struct loop *loop;
    uint64_t serial;
    struct call *call;
};

/* A task for this call, which becomes held. */
struct task *task_new(struct call *c, task_work_fn *work, task_done_fn *done);

/* Give it to a reader thread. When too many wait, the call is answered 503 and the task freed. */
void task_start(struct task *t);

/* For work that ends on another thread than it began: end the task, from any thread. */
void task_finish(struct task *t);
