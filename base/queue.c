/* base/queue.c - a ring buffer with one mutex. A job takes tens of microseconds at least, and the
 * lock is held for well under one microsecond, so one lock is enough. */
#include "base/queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"

struct waiting {
    void *item;
    int64_t since_ms; /* monotonic, if it is watched */
};

struct queue {
    pthread_mutex_t lock;  /* guards every field below */
    pthread_cond_t filled; /* len grew, or closed was set; CLOCK_MONOTONIC */
    pthread_cond_t room;   /* len shrank, or closed was set */
    bool closed;           /* goes false -> true once, never back */
    size_t cap, head, len; /* live items: ring[(head + i) % cap], i < len */
    enum stat_id watch;    /* STAT_COUNT_: nobody watches */
    queue_item_free_fn *item_free;
    struct waiting ring[];
};

struct queue *queue_new(size_t cap, queue_item_free_fn *item_free)
{
    struct queue *q;
    pthread_condattr_t attr;

    ASSERT(cap >= 1);
    q = mem_zalloc(sizeof *q + cap * sizeof q->ring[0]);
    pthread_mutex_init(&q->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&q->filled, &attr);
    pthread_cond_init(&q->room, &attr);
    pthread_condattr_destroy(&attr);
    q->cap = cap;
    q->watch = STAT_COUNT_;
    q->item_free = item_free;
    return q;
}

void queue_free(struct queue **qp)
{
    struct queue *q = *qp;

    if (q == NULL)
        return;
    for (size_t i = 0; i < q->len; i++)
        if (q->item_free != NULL)
            q->item_free(q->ring[(q->head + i) % q->cap].item);
    queue_done(q->len);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->filled);
    pthread_cond_destroy(&q->room);
    mem_free(q);
    *qp = NULL;
}

void queue_watch(struct queue *q, enum stat_id stat)
{
    ASSERT(stats_kind(stat) == STAT_KIND_AGE && q->len == 0);
    q->watch = stat;
    stats_set(stat, 0);
}

/* Tell since when the oldest item waits. */
static void tell_oldest_locked(struct queue *q)
{
    if (q->watch != STAT_COUNT_)
        stats_set(q->watch, q->len > 0 ? q->ring[q->head].since_ms : 0);
}

/* There is room. */
static void add_locked(struct queue *q, void *item)
{
    struct waiting *w = &q->ring[(q->head + q->len++) % q->cap];

    w->item = item;
    w->since_ms = q->watch != STAT_COUNT_ ? clock_mono_ms() : 0;
    if (q->len == 1)
        tell_oldest_locked(q);
    stats_inc(STAT_work_pending);
}

enum rc queue_push(struct queue *q, void *item, int64_t wait_ms)
{
    struct timespec until = clock_mono_after_ms(wait_ms); /* -1: far future */
    enum rc rc = RC_OK;

    ASSERT(item != NULL); /* so that an empty slot is visible in a debugger */
    pthread_mutex_lock(&q->lock);
    while (q->len == q->cap && !q->closed && rc == RC_OK)
        if (wait_ms == 0 || pthread_cond_timedwait(&q->room, &q->lock, &until) == ETIMEDOUT)
            rc = RC_FULL;
    if (q->closed)
        rc = RC_CLOSED;
    if (rc == RC_OK)
        add_locked(q, item);
    pthread_mutex_unlock(&q->lock);
    if (rc == RC_OK)
        pthread_cond_signal(&q->filled); /* after unlock: the woken thread can run */
    return rc;
}

enum rc queue_try_push(struct queue *q, void *item)
{
    return queue_push(q, item, 0);
}

size_t queue_pop(struct queue *q, void **items, size_t n, int64_t wait_ms)
{
    struct timespec until = clock_mono_after_ms(wait_ms);
    size_t got = 0;

    pthread_mutex_lock(&q->lock);
    while (q->len == 0 && !q->closed)
        if (wait_ms == 0 || pthread_cond_timedwait(&q->filled, &q->lock, &until) == ETIMEDOUT)
            break;
    while (got < n && q->len > 0) {
        items[got++] = q->ring[q->head].item;
        q->head = (q->head + 1) % q->cap;
        q->len--;
    }
    if (got > 0)
        tell_oldest_locked(q);
    pthread_mutex_unlock(&q->lock);
    if (got > 0)
        pthread_cond_broadcast(&q->room);
    return got;
}

void queue_done(size_t n)
{
    stats_add(STAT_work_pending, -(int64_t)n);
}

void queue_close(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->closed = true;
    pthread_mutex_unlock(&q->lock);
    pthread_cond_broadcast(&q->filled);
    pthread_cond_broadcast(&q->room);
}

bool queue_is_closed(struct queue *q)
{
    bool closed;

    pthread_mutex_lock(&q->lock);
    closed = q->closed;
    pthread_mutex_unlock(&q->lock);
    return closed;
}

size_t queue_len(struct queue *q)
{
    size_t len;

    pthread_mutex_lock(&q->lock);
    len = q->len;
    pthread_mutex_unlock(&q->lock);
    return len;
}
