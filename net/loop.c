/* net/loop.c - the mailbox is a list with a mutex and an eventfd; timers are events of libevent.
 *
 * The eventfd is written only when the mailbox was empty. The thread takes the whole list out of
 * the mailbox under the lock, and runs it without the lock. */
#include "net/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/pulse.h"
#include "base/stats.h"

#define TICK_MS 500 /* between looks for a jump of the clock */

struct mail {
    STAILQ_ENTRY(mail) link;
    loop_fn *fn;
    void *ctx;
};
STAILQ_HEAD(mail_list, mail);

struct loop_timer {
    LIST_ENTRY(loop_timer) link;
    struct loop *loop;
    struct event *event;
    int64_t mono_due; /* ms; kept only if the loop has a tick */
    loop_fn *fn;
    void *ctx;
};

struct loop {
    struct event_base *base; /* only the thread may use it, while it runs */
    struct event *wake;      /* the eventfd in the base */
    int wake_fd;
    pthread_t thread;
    bool joined;                    /* by the owner of the loop */
    void *owner;                    /* see loop_set_owner() */
    char name[16];                  /* the kernel keeps no more */
    LIST_HEAD(, loop_timer) timers; /* pending ones; own thread */
    struct event *tick;             /* looks for jumps of the clock; NULL: it makes none */
    int64_t ahead_us;               /* clock_ahead_us() when `tick` was here last */
    struct event *pulse;            /* beats when nothing happens; NULL: nobody looks */
    pthread_mutex_t lock;           /* guards mail and ended */
    struct mail_list mail;
    bool ended; /* goes false -> true once: the thread runs no more mail */
};

/* The loop of this thread; in loop_free(), the loop whose last messages are run. */
static _Thread_local struct loop *own_loop;

static struct mail_list detach_mail(struct loop *l)
{
    struct mail_list list = STAILQ_HEAD_INITIALIZER(list);

    pthread_mutex_lock(&l->lock);
    STAILQ_CONCAT(&list, &l->mail);
    pthread_mutex_unlock(&l->lock);
    return list;
}

static void run_mail(struct loop *l)
{
    struct mail_list list = detach_mail(l);
    struct mail *m;

    while ((m = STAILQ_FIRST(&list)) != NULL) {
        STAILQ_REMOVE_HEAD(&list, link);
        m->fn(m->ctx);
        mem_free(m);
        stats_add(STAT_work_pending, -1); /* what it led to is counted by now */
    }
}

static void on_wake(evutil_socket_t fd, short what UNUSED, void *arg)
{
    uint64_t n;

    if (read(fd, &n, sizeof n) < 0)
        ASSERT(errno == EAGAIN);
    run_mail(arg);
}

/* After the loop has ended: run messages until there are none, and set `ended` under the same lock,
 * so that no message that is posted meanwhile is lost. */
static void run_last_mail(struct loop *l)
{
    bool ended;

    do {
        run_mail(l);
        pthread_mutex_lock(&l->lock);
        ended = l->ended = STAILQ_EMPTY(&l->mail);
        pthread_mutex_unlock(&l->lock);
    } while (!ended);
}

static void *loop_main(void *arg)
{
    struct loop *l = arg;

    own_loop = l;
    thread_set_name(l->name);
    pulse_join(l->name);
    ASSERT(event_base_loop(l->base, EVLOOP_NO_EXIT_ON_EMPTY) == 0);
    run_last_mail(l);
    pulse_leave();
    return NULL;
}

/* Have the timer run when it is due. */
static void timer_arm(struct loop_timer *t, int64_t ms)
{
    struct timeval tv;

    if (ms < 0)
        ms = 0;
    tv.tv_sec = (time_t)(ms / 1000);
    tv.tv_usec = (suseconds_t)(ms % 1000) * 1000;
    ASSERT(evtimer_add(t->event, &tv) == 0);
}

/* libevent's own clock makes no jumps, so the timers are set anew after one. */
static void on_tick(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
    struct loop *l = arg;
    int64_t ahead_us = clock_ahead_us();
    struct loop_timer *t;

    if (ahead_us == l->ahead_us)
        return;
    l->ahead_us = ahead_us;
    LIST_FOREACH (t, &l->timers, link)
        timer_arm(t, t->mono_due - clock_mono_ms());
}

static void tick_start(struct loop *l)
{
    static const struct timeval each = {0, TICK_MS * 1000};

    l->ahead_us = clock_ahead_us();
    l->tick = event_new(l->base, -1, EV_PERSIST, on_tick, l);
    ASSERT(l->tick != NULL && event_add(l->tick, &each) == 0);
}

static void on_pulse(evutil_socket_t fd UNUSED, short what UNUSED, void *ctx UNUSED)
{
    pulse_beat();
}

static void pulse_start(struct loop *l)
{
    int64_t ms = pulse_period_ms();
    struct timeval each = {(time_t)(ms / 1000), (suseconds_t)(ms % 1000) * 1000};

    l->pulse = event_new(l->base, -1, EV_PERSIST, on_pulse, NULL);
    ASSERT(l->pulse != NULL && event_add(l->pulse, &each) == 0);
}

struct loop *loop_new(const char *name)
{
    struct loop *l = NEW(struct loop);
    struct event_config *config = event_config_new();
    sigset_t all, before;

    ASSERT(config != NULL);
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    l->base = event_base_new_with_config(config);
    ASSERT(l->base != NULL);
    event_config_free(config);
    strncpy(l->name, name, sizeof l->name - 1);
    STAILQ_INIT(&l->mail);
    LIST_INIT(&l->timers);
    pthread_mutex_init(&l->lock, NULL);
    l->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    ASSERT(l->wake_fd >= 0);
    l->wake = event_new(l->base, l->wake_fd, EV_READ | EV_PERSIST, on_wake, l);
    ASSERT(l->wake != NULL && event_add(l->wake, NULL) == 0);
    if (clock_jumps())
        tick_start(l);
    if (pulse_period_ms() > 0)
        pulse_start(l);

    /* signals belong to the main thread */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    ASSERT(pthread_create(&l->thread, NULL, loop_main, l) == 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return l;
}

/* Put a message in the mailbox. False: the thread has ended, and nobody would run it. */
static bool try_post(struct loop *l, loop_fn *fn, void *ctx, bool even_ended)
{
    struct mail *m = NEW(struct mail);
    uint64_t one = 1;
    bool was_empty, posted;

    m->fn = fn;
    m->ctx = ctx;
    pthread_mutex_lock(&l->lock);
    posted = even_ended || !l->ended;
    was_empty = STAILQ_EMPTY(&l->mail);
    if (posted) {
        STAILQ_INSERT_TAIL(&l->mail, m, link);
        stats_inc(STAT_work_pending);
    }
    pthread_mutex_unlock(&l->lock);
    if (!posted)
        mem_free(m);
    else if (was_empty && write(l->wake_fd, &one, sizeof one) < 0)
        ASSERT(errno == EAGAIN); /* the counter is full, so the thread will wake up */
    return posted;
}

void loop_post(struct loop *l, loop_fn *fn, void *ctx)
{
    try_post(l, fn, ctx, true);
}

struct awaited_call {
    loop_fn *fn;
    void *ctx;
    pthread_mutex_t lock;
    pthread_cond_t done_cond;
    bool done;
};

static void run_call(void *arg)
{
    struct awaited_call *call = arg;

    call->fn(call->ctx);
    pthread_mutex_lock(&call->lock);
    call->done = true;
    pthread_cond_signal(&call->done_cond);
    pthread_mutex_unlock(&call->lock);
}

void loop_call(struct loop *l, loop_fn *fn, void *ctx)
{
    struct awaited_call call = {fn, ctx, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
                                false};
    struct loop *before = own_loop;

    ASSERT(!loop_is_own(l));
    if (try_post(l, run_call, &call, false)) {
        pthread_mutex_lock(&call.lock);
        while (!call.done)
            pthread_cond_wait(&call.done_cond, &call.lock);
        pthread_mutex_unlock(&call.lock);
    } else { /* the thread has ended, so nobody else uses the loop */
        own_loop = l;
        fn(ctx);
        own_loop = before;
    }
    pthread_mutex_destroy(&call.lock);
    pthread_cond_destroy(&call.done_cond);
}

static void break_loop(void *ctx)
{
    struct loop *l = ctx;

    event_base_loopbreak(l->base);
}

void loop_stop(struct loop *l)
{
    if (l->joined)
        return;
    ASSERT(!loop_is_own(l));
    loop_post(l, break_loop, l);
    ASSERT(pthread_join(l->thread, NULL) == 0);
    l->joined = true;
}

static void timer_free(struct loop_timer *t)
{
    LIST_REMOVE(t, link);
    event_free(t->event);
    mem_free(t);
}

void loop_free(struct loop **lp)
{
    struct loop *l = *lp, *before = own_loop;
    struct loop_timer *t;

    if (l == NULL)
        return;
    loop_stop(l);
    own_loop = l;
    run_last_mail(l);
    own_loop = before;
    while ((t = LIST_FIRST(&l->timers)) != NULL)
        timer_free(t);
    event_free(l->wake);
    if (l->tick != NULL)
        event_free(l->tick);
    if (l->pulse != NULL)
        event_free(l->pulse);
    close(l->wake_fd);
    event_base_free(l->base);
    pthread_mutex_destroy(&l->lock);
    mem_free(l);
    *lp = NULL;
}

struct event_base *loop_base(struct loop *l)
{
    return l->base;
}

bool loop_is_own(const struct loop *l)
{
    return own_loop == l;
}

void loop_set_owner(struct loop *l, void *owner)
{
    l->owner = owner;
}

void *loop_owner(const struct loop *l)
{
    return l->owner;
}

static void on_timer(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
    struct loop_timer *t = arg;
    loop_fn *fn = t->fn;
    void *ctx = t->ctx;

    timer_free(t);
    fn(ctx);
}

struct loop_timer *loop_timer_start(struct loop *l, int64_t ms, loop_fn *fn, void *ctx)
{
    struct loop_timer *t = NEW(struct loop_timer);

    ASSERT(loop_is_own(l));
    t->loop = l;
    t->fn = fn;
    t->ctx = ctx;
    t->event = evtimer_new(l->base, on_timer, t);
    ASSERT(t->event != NULL);
    if (l->tick != NULL)
        t->mono_due = clock_mono_ms() + ms;
    timer_arm(t, ms);
    LIST_INSERT_HEAD(&l->timers, t, link);
    return t;
}

void loop_timer_cancel(struct loop_timer **tp)
{
    struct loop_timer *t = *tp;

    if (t == NULL)
        return;
    ASSERT(loop_is_own(t->loop));
    timer_free(t);
    *tp = NULL;
}
