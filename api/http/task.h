/* api/http/task.h - work for a request on a reader thread: a query, or something long. */
#pragma once

#include <stdatomic.h>

#include "api/http/ticket.h"

/* What happens after `work` has returned. */
enum task_step {
    TASK_ENDS,    /* `done` runs next */
    TASK_GOES_ON, /* on another thread: task_finish() will be called there, or has been called
                     already */
    TASK_YIELDS,  /* `work` runs again when others have had their turn; of task_start_long() only */
};

struct task;
/* Runs on a reader thread. It may touch the task, but nothing of the request. After it has given
 * the task to another thread (TASK_GOES_ON) it must not touch the task either. */
typedef enum task_step task_work_fn(struct task *t, struct reader *r);
/* Runs on the request's loop, unless the client has left. It replies, or starts more work. */
typedef void task_done_fn(struct task *t, struct request *req);

/* Work that may be long and is done in short steps. Of all such work one step is done at a time, so
 * that the other readers stay free; those who wait take turns. */
struct long_work {
    enum task_step (*step)(struct long_work *w, struct reader *r); /* on a reader thread */
    /* After TASK_ENDS, or when it would go on but has had its time; on the same thread. */
    void (*end)(struct long_work *w, struct reader *r);
    struct long_work *next; /* in the queue */
    int64_t until_ms;       /* monotonic */
};

/* Put it into the queue. RC_FULL, RC_CLOSED: it was not taken. Any thread. */
enum rc long_work_start(struct api *api, struct long_work *w) NODISCARD;

struct task {
    struct arena arena; /* freed together with the task */
    struct api *api;
    const struct api_cfg *cfg;
    struct caller caller; /* its source is in the arena */
    struct str request;   /* the id of the request; in the arena */
    task_work_fn *work;
    task_done_fn *done;
    void *data;                      /* the resource's own, in `arena` */
    void (*dispose)(struct task *t); /* frees what `data` holds outside the arena; NULL: nothing */
    enum rc rc;                      /* set by `work`; RC_OK at first */
    struct err err;
    struct ticket ticket;
    bool may_last;         /* it reads all there is, and may take its time once a reader has begun */
    atomic_bool has_begun; /* a reader has */
    struct long_work turns; /* of a long one; when it has had its time, `done` sees the rc of its
                               last `work` */
};

/* Make a task for this request, which is then held. */
struct task *task_new(struct request *req, task_work_fn *work, task_done_fn *done);

/* Is it under way, and may it last? Then the request waits for it, however long it takes, as long
 * as the database is within reach: each of its queries has a limit of its own. Request's loop. */
bool task_lasts(const struct task *t);

/* Give the task to a reader thread. When too many wait there, the request is answered with 503 and
 * the task is freed. */
void task_start(struct task *t);

/* The same as long work. Too much of it: 503. */
void task_start_long(struct task *t);

/* The queue of long work. */
struct long_tasks;
struct long_tasks *long_tasks_new(void);
void long_tasks_free(struct long_tasks **lp);

/* End a task whose work went on on another thread. Any thread. */
void task_finish(struct task *t);

/* What `work` returns after it has given the task to another thread, and rc says whether that was
 * taken. RC_OK: it was, and the task may be freed already, so it is not looked at; so never write
 * the rc of such a call into the task itself. Else rc is the task's and it ends. */
enum task_step task_handed_over(struct task *t, enum rc rc);
