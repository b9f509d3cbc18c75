/* Loops, their mailboxes and their timers. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "net/loop.h"
#include "tests/unit/cmocka_all.h"

#define N_POSTS 20000
#define N_POSTERS 4

struct record {
    struct loop *loop;
    int n, last[N_POSTERS];
    bool in_order, on_loop;
};

struct message {
    struct record *record;
    int poster, number;
};

static void receive(void *ctx)
{
    struct message *m = ctx;
    struct record *r = m->record;

    r->in_order = r->in_order && m->number == r->last[m->poster] + 1;
    r->on_loop = r->on_loop && loop_is_own(r->loop);
    r->last[m->poster] = m->number;
    r->n++;
    mem_free(m);
}

static void post(struct record *r, int poster, int number)
{
    struct message *m = NEW(struct message);

    *m = (struct message){r, poster, number};
    loop_post(r->loop, receive, m);
}

struct poster {
    struct record *record;
    int poster;
};

static void *post_many(void *arg)
{
    struct poster *p = arg;

    for (int i = 1; i <= N_POSTS; i++)
        post(p->record, p->poster, i);
    return NULL;
}

static void nothing(void *ctx UNUSED)
{
}

static void test_loop__runs_posts_of_many_threads_in_order(void **state UNUSED)
{
    struct record r = {loop_new("test"), 0, {0}, true, true};
    struct poster posters[N_POSTERS];
    pthread_t threads[N_POSTERS];

    for (int i = 0; i < N_POSTERS; i++) {
        posters[i] = (struct poster){&r, i};
        pthread_create(&threads[i], NULL, post_many, &posters[i]);
    }
    for (int i = 0; i < N_POSTERS; i++)
        pthread_join(threads[i], NULL);
    loop_call(r.loop, nothing, NULL);
    assert_int_equal(r.n, N_POSTS * N_POSTERS);
    assert_true(r.in_order && r.on_loop);
    assert_false(loop_is_own(r.loop));
    loop_free(&r.loop);
    assert_null(r.loop);
}

static void post_again(void *ctx)
{
    struct record *r = ctx;

    if (++r->n < 10)
        loop_post(r->loop, post_again, r);
}

static void test_loop__what_is_posted_before_the_end_is_run_by_the_thread(void **state UNUSED)
{
    struct record r = {loop_new("test"), 0, {0}, true, true};

    loop_post(r.loop, post_again, &r); /* each posts the next, also while the loop ends */
    loop_stop(r.loop);
    assert_int_equal(r.n, 10);
    loop_free(&r.loop);
}

static void test_loop__what_is_posted_after_the_end_is_run_by_free(void **state UNUSED)
{
    struct record r = {loop_new("test"), 0, {0}, true, true};

    loop_stop(r.loop);
    loop_stop(r.loop);
    for (int i = 1; i <= 3; i++)
        post(&r, 0, i);
    assert_int_equal(r.n, 0);
    loop_free(&r.loop);
    assert_int_equal(r.n, 3);
    assert_true(r.in_order && r.on_loop);
}

struct probe {
    struct loop *loop;
    char name[16];
    bool own, signals_blocked;
    void *owner;
};

static void look(void *ctx)
{
    struct probe *p = ctx;
    sigset_t set;

    p->own = loop_is_own(p->loop);
    pthread_getname_np(pthread_self(), p->name, sizeof p->name);
    p->owner = loop_owner(p->loop);
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    p->signals_blocked = sigismember(&set, SIGTERM) == 1 && sigismember(&set, SIGHUP) == 1;
}

static void test_loop__calls_wait_and_run_on_the_thread(void **state UNUSED)
{
    struct probe p = {.loop = loop_new("a-thread")};

    loop_set_owner(p.loop, &p);
    loop_call(p.loop, look, &p);
    assert_true(p.own);
    assert_true(p.signals_blocked);
    assert_string_equal(p.name, "a-thread");
    assert_ptr_equal(p.owner, &p);
    loop_stop(p.loop);
    p.own = false;
    loop_call(p.loop, look, &p); /* no thread any more: here */
    assert_true(p.own);
    loop_free(&p.loop);
}

struct timing {
    struct loop *loop;
    struct loop_timer *timers[4];
    int order[4];
    int64_t start_ms, end_ms;
    int n;
    pthread_mutex_t lock;
    pthread_cond_t done;
};

static void fired(struct timing *t, int which)
{
    pthread_mutex_lock(&t->lock);
    t->order[t->n++] = which;
    t->end_ms = clock_mono_ms();
    pthread_cond_signal(&t->done);
    pthread_mutex_unlock(&t->lock);
}

static void on_first(void *ctx)
{
    struct timing *t = ctx;

    loop_timer_cancel(&t->timers[2]); /* one may cancel another */
    assert_null(t->timers[2]);
    loop_timer_cancel(&t->timers[2]);
    fired(t, 1);
}

static void on_second(void *ctx)
{
    fired(ctx, 2);
}

static void on_cancelled(void *ctx)
{
    fired(ctx, 3);
}

static void start_timers(void *ctx)
{
    struct timing *t = ctx;

    t->start_ms = clock_mono_ms();
    t->timers[1] = loop_timer_start(t->loop, 30, on_second, t);
    t->timers[0] = loop_timer_start(t->loop, -5, on_first, t);
    t->timers[2] = loop_timer_start(t->loop, 10, on_cancelled, t);
    t->timers[3] = loop_timer_start(t->loop, 3600 * 1000, on_cancelled, t); /* left to loop_free */
}

static void test_loop__timers_run_in_time_unless_cancelled(void **state UNUSED)
{
    struct timing t = {.loop = loop_new("test"),
                       .lock = PTHREAD_MUTEX_INITIALIZER,
                       .done = PTHREAD_COND_INITIALIZER};

    loop_call(t.loop, start_timers, &t);
    pthread_mutex_lock(&t.lock);
    while (t.n < 2)
        pthread_cond_wait(&t.done, &t.lock);
    pthread_mutex_unlock(&t.lock);
    assert_int_equal(t.order[0], 1);
    assert_int_equal(t.order[1], 2);
    assert_in_range(t.end_ms - t.start_ms, 29, 5000);
    loop_free(&t.loop);
    assert_int_equal(t.n, 2);
}

static void start_long_timer(void *ctx)
{
    struct timing *t = ctx;

    t->timers[1] = loop_timer_start(t->loop, 3600 * 1000, on_second, t);
}

/* DELIV-09: the clock of tests */
static void test_loop__timers_take_part_in_jumps_of_the_clock(void **state UNUSED)
{
    struct timing t = {.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

    clock_set_ahead_us(0);
    t.loop = loop_new("test");
    loop_call(t.loop, start_long_timer, &t);
    clock_set_ahead_us(INT64_C(3600) * 1000000);
    pthread_mutex_lock(&t.lock);
    while (t.n < 1)
        pthread_cond_wait(&t.done, &t.lock);
    pthread_mutex_unlock(&t.lock);
    assert_int_equal(t.order[0], 2);
    loop_free(&t.loop);
    clock_set_ahead_us(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loop__runs_posts_of_many_threads_in_order),
        cmocka_unit_test(test_loop__what_is_posted_before_the_end_is_run_by_the_thread),
        cmocka_unit_test(test_loop__what_is_posted_after_the_end_is_run_by_free),
        cmocka_unit_test(test_loop__calls_wait_and_run_on_the_thread),
        cmocka_unit_test(test_loop__timers_run_in_time_unless_cancelled),
        cmocka_unit_test(test_loop__timers_take_part_in_jumps_of_the_clock),
    };

    return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
