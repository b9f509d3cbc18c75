/* api/lists/list_thread.c - see list_thread.h. */
#include "api/lists/list_thread.h"

#include <pthread.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/queue.h"

#define WAITING_MAX 64 /* waiting documents, each of up to LIMIT_FETCH_BODY bytes */

struct list_work {
    list_work_fn *fn;
    void *ctx;
};

struct list_thread {
    struct queue *queue;
    pthread_t thread;
    bool joined;
};

static void *run(void *ctx)
{
    struct list_thread *t = ctx;
    void *item;

    while (queue_pop(t->queue, &item, 1, -1) == 1) {
        struct list_work *work = item;

        work->fn(work->ctx);
        mem_free(work);
        queue_done(1);
    }
    return NULL;
}

static void free_work(void *item)
{
    mem_free(item);
}

struct list_thread *list_thread_new(void)
{
    struct list_thread *t = NEW(struct list_thread);

    t->queue = queue_new(WAITING_MAX, free_work);
    queue_watch(t->queue, STAT_list_queue_oldest_age_seconds);
    ASSERT(pthread_create(&t->thread, NULL, run, t) == 0);
    return t;
}

enum rc list_thread_run(struct list_thread *t, list_work_fn *fn, void *ctx)
{
    struct list_work *work = NEW(struct list_work);
    enum rc rc;

    *work = (struct list_work){fn, ctx};
    rc = queue_try_push(t->queue, work);
    if (rc != RC_OK)
        mem_free(work);
    return rc;
}

void list_thread_stop(struct list_thread *t)
{
    if (t->joined)
        return;
    queue_close(t->queue);
    pthread_join(t->thread, NULL);
    t->joined = true;
}

void list_thread_free(struct list_thread **tp)
{
    if (*tp == NULL)
        return;
    list_thread_stop(*tp);
    queue_free(&(*tp)->queue);
    mem_free(*tp);
    *tp = NULL;
}
