/* fetcher/sweeper.c - a heap under one mutex. The thread sleeps until the earliest time. */
#include "fetcher/sweeper.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/stats.h"
#include "fetcher/due_heap.h"

#define SLEEP_MAX_US 5000000     /* wall time may be set while we sleep */
#define SET_BACK_MIN_US 60000000 /* if the clock goes back by less, it was only corrected */

struct sweeper {
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t moved; /* the earliest time changed, or stopping was set; CLOCK_MONOTONIC */
    struct due_heap heap;
    int64_t seen_us; /* wall time at the last look */
    bool has_work;   /* a feed was put that is due already: the thread has to take it */
    bool is_running, stopping;

    pthread_t thread;
    sweeper_due_fn *due;
    void *ctx;
};

struct sweeper *sweeper_new(sweeper_due_fn *due, void *ctx)
{
    struct sweeper *s = NEW(struct sweeper);
    pthread_condattr_t attr;

    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->moved, &attr);
    pthread_condattr_destroy(&attr);
    s->due = due;
    s->ctx = ctx;
    return s;
}

/* What is due already is pending work from the moment at which it is put. */
static void set_work_locked(struct sweeper *s, bool has_work)
{
    stats_add(STAT_work_pending, (int64_t)has_work - (int64_t)s->has_work);
    s->has_work = has_work;
}

static void put_locked(struct sweeper *s, int64_t feed_id, int64_t due_at)
{
    due_heap_put(&s->heap, feed_id, due_at);
    if (due_at <= clock_now_s())
        set_work_locked(s, true);
    if (s->heap.dues[0].feed_id == feed_id)
        pthread_cond_signal(&s->moved);
}

void sweeper_put(struct sweeper *s, int64_t feed_id, int64_t due_at)
{
    pthread_mutex_lock(&s->lock);
    if (due_at != TIME_UNKNOWN)
        put_locked(s, feed_id, due_at);
    else
        due_heap_remove(&s->heap, feed_id);
    pthread_mutex_unlock(&s->lock);
}

void sweeper_put_if_absent(struct sweeper *s, int64_t feed_id, int64_t due_at)
{
    pthread_mutex_lock(&s->lock);
    if (due_at != TIME_UNKNOWN && !due_heap_has(&s->heap, feed_id))
        put_locked(s, feed_id, due_at);
    pthread_mutex_unlock(&s->lock);
}

void sweeper_look(struct sweeper *s)
{
    pthread_mutex_lock(&s->lock);
    if (s->heap.len > 0 && s->heap.dues[0].at <= clock_now_s()) {
        set_work_locked(s, true);
        pthread_cond_signal(&s->moved);
    }
    pthread_mutex_unlock(&s->lock);
}

size_t sweeper_ids(struct sweeper *s, struct arena *a, int64_t **out)
{
    size_t n;

    pthread_mutex_lock(&s->lock);
    n = s->heap.len;
    *out = ARENA_ARRAY(a, int64_t, n + 1);
    for (size_t i = 0; i < n; i++)
        (*out)[i] = s->heap.dues[i].feed_id;
    pthread_mutex_unlock(&s->lock);
    return n;
}

static int64_t wait_us_locked(const struct sweeper *s, int64_t now_us, int64_t most_us)
{
    int64_t now_s = now_us / 1000000, at = s->heap.len == 0 ? INT64_MAX : s->heap.dues[0].at;

    if (at > now_s + most_us / 1000000 + 1)
        return most_us;
    if (at <= now_s)
        return 0;
    return at * 1000000 - now_us < most_us ? at * 1000000 - now_us : most_us;
}

int64_t sweeper_wait_us(struct sweeper *s, int64_t now_us, int64_t most_us)
{
    int64_t wait_us;

    pthread_mutex_lock(&s->lock);
    wait_us = wait_us_locked(s, now_us, most_us);
    pthread_mutex_unlock(&s->lock);
    return wait_us;
}

static size_t take_due_locked(struct sweeper *s, int64_t now_us, int64_t *feed_ids, size_t max)
{
    size_t n = 0;

    /* the clock was set back; the remaining waits stay the same */
    if (now_us < s->seen_us - SET_BACK_MIN_US)
        due_heap_shift(&s->heap, (now_us - s->seen_us) / 1000000);
    s->seen_us = now_us;
    for (; n < max && s->heap.len > 0 && s->heap.dues[0].at <= now_us / 1000000; n++) {
        feed_ids[n] = s->heap.dues[0].feed_id;
        due_heap_remove(&s->heap, feed_ids[n]);
    }
    return n;
}

size_t sweeper_take_due(struct sweeper *s, int64_t now_us, int64_t *feed_ids, size_t max)
{
    size_t n;

    pthread_mutex_lock(&s->lock);
    n = take_due_locked(s, now_us, feed_ids, max);
    pthread_mutex_unlock(&s->lock);
    return n;
}

static void *sweeper_main(void *arg)
{
    struct sweeper *s = arg;
    int64_t ids[SWEEPER_BATCH];

    thread_set_name("sweeper");
    pthread_mutex_lock(&s->lock);
    while (!s->stopping) {
        size_t n = take_due_locked(s, clock_now_us(), ids, SWEEPER_BATCH);

        if (n > 0) {
            /* under the lock: who puts a later time for a feed finds it either in the heap or
             * handed over, and never on the way, which would fetch it once more after its fetch */
            s->due(s->ctx, ids, n);
        } else {
            int64_t wait_us = wait_us_locked(s, clock_now_us(), SLEEP_MAX_US);
            struct timespec until = clock_mono_after_ms((wait_us + 999) / 1000);

            set_work_locked(s, false);
            pthread_cond_timedwait(&s->moved, &s->lock, &until);
        }
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

void sweeper_start(struct sweeper *s)
{
    ASSERT(!s->is_running);
    s->stopping = false;
    s->is_running = pthread_create(&s->thread, NULL, sweeper_main, s) == 0;
    ASSERT(s->is_running);
}

void sweeper_stop(struct sweeper *s)
{
    if (!s->is_running)
        return;
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_signal(&s->moved);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    s->is_running = false;
}

void sweeper_free(struct sweeper **sp)
{
    struct sweeper *s = *sp;

    if (s == NULL)
        return;
    sweeper_stop(s);
    set_work_locked(s, false);
    due_heap_release(&s->heap);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->moved);
    mem_free(s);
    *sp = NULL;
}
