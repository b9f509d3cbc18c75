/* tests/unit/fetcher/test_sweeper.c - the heap of due times and its thread. */
#include "tests/unit/cmocka_all.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/stats.h"
#include "fetcher/due_heap.h"
#include "fetcher/sweeper.h"
#include "fetcher/time_heap.h"

#define S ((int64_t)1000000)

/* SCHED-03: feeds come out when they are due, in order, once. */
static void test_sweeper__takes_due_in_order(void **state UNUSED)
{
    struct sweeper *s = sweeper_new(NULL, NULL);
    int64_t ids[8];

    sweeper_put(s, 1, 300);
    sweeper_put(s, 2, 100);
    sweeper_put(s, 3, 200);
    assert_int_equal(sweeper_take_due(s, 100 * S - 1, ids, 8), 0);
    assert_int_equal(sweeper_wait_us(s, 99 * S, 10 * S), 1 * S);
    assert_int_equal(sweeper_wait_us(s, 10 * S, 5 * S), 5 * S);
    assert_int_equal(sweeper_take_due(s, 250 * S, ids, 8), 2);
    assert_int_equal(ids[0], 2);
    assert_int_equal(ids[1], 3);
    assert_int_equal(sweeper_take_due(s, 250 * S, ids, 8), 0);
    assert_int_equal(sweeper_take_due(s, 300 * S, ids, 8), 1);
    sweeper_free(&s);
    assert_null(s);
}

/* A notice moves a feed, or takes it out; the initial load does not undo a notice. */
static void test_sweeper__last_notice_counts(void **state UNUSED)
{
    struct sweeper *s = sweeper_new(NULL, NULL);
    int64_t ids[8];

    sweeper_put(s, 1, 100);
    sweeper_put(s, 1, 500);
    sweeper_put_if_absent(s, 1, 50);
    sweeper_put_if_absent(s, 2, 60);
    sweeper_put(s, 3, 70);
    sweeper_put(s, 3, TIME_UNKNOWN);
    sweeper_put(s, 4, TIME_UNKNOWN);
    assert_int_equal(sweeper_take_due(s, 400 * S, ids, 8), 1);
    assert_int_equal(ids[0], 2);
    assert_int_equal(sweeper_take_due(s, 500 * S, ids, 8), 1);
    assert_int_equal(ids[0], 1);
    sweeper_free(&s);
}

/* A clock that is set back takes the times with it; one that is corrected by a little does not. */
static void test_sweeper__clock_is_set_back(void **state UNUSED)
{
    enum { YEAR = 365 * 86400 };
    struct sweeper *s = sweeper_new(NULL, NULL);
    int64_t ids[8];

    sweeper_put(s, 1, YEAR + 300);
    sweeper_put(s, 2, YEAR + 200);
    assert_int_equal(sweeper_take_due(s, (YEAR + 100) * S, ids, 8), 0);
    assert_int_equal(sweeper_take_due(s, (YEAR + 90) * S, ids, 8), 0);
    assert_int_equal(sweeper_take_due(s, (YEAR + 199) * S, ids, 8), 0);
    assert_int_equal(sweeper_take_due(s, 199 * S, ids, 8), 0);
    assert_int_equal(sweeper_take_due(s, 200 * S, ids, 8), 1);
    assert_int_equal(ids[0], 2);
    assert_int_equal(sweeper_wait_us(s, 299 * S, 10 * S), 1 * S);
    assert_int_equal(sweeper_take_due(s, 300 * S, ids, 8), 1);
    sweeper_free(&s);
}

/* The heap keeps its order under puts, moves and removals. */
static void test_sweeper__heap_order_survives_changes(void **state UNUSED)
{
    enum { N = 500 };
    static struct time_node nodes[N];
    struct time_heap h = TIME_HEAP_INIT;
    struct time_node *first;
    int64_t last = INT64_MIN;
    size_t n_out = 0;
    unsigned x = 1;

    for (int round = 0; round < 5; round++)
        for (int i = 0; i < N; i++) {
            x = x * 1103515245u + 12345u;
            if (round > 0 && x % 7 == 0)
                time_heap_remove(&h, &nodes[i]);
            else
                time_heap_put(&h, &nodes[i], (int64_t)(x >> 8) % 1000);
        }
    while ((first = time_heap_first(&h)) != NULL) {
        assert_true(first->at >= last);
        last = first->at;
        time_heap_remove(&h, first);
        assert_int_equal(first->index, 0);
        n_out++;
    }
    assert_true(n_out > N / 2);
    time_heap_release(&h);
}

/* ETIQ-12: the heap of feeds does so, too, and knows each feed's place. */
static void test_sweeper__feeds_keep_their_order(void **state UNUSED)
{
    enum { N = 5000 };
    static int64_t times[N + 1]; /* by feed id; -1: not in */
    struct due_heap h = {.dues = NULL};
    int64_t last = 0;
    size_t n = 0, n_out = 0;
    unsigned x = 7;

    memset(times, -1, sizeof times);
    for (int i = 0; i < 10 * N; i++) {
        int64_t id;

        x = x * 1103515245u + 12345u;
        id = 1 + (int64_t)(x >> 8) % N;
        x = x * 1103515245u + 12345u;
        times[id] = x % 5 == 0 ? -1 : (int64_t)(x >> 8) % 100000;
        if (times[id] < 0)
            due_heap_remove(&h, id);
        else
            due_heap_put(&h, id, times[id]);
        assert_int_equal(due_heap_has(&h, id), times[id] >= 0);
    }
    for (int id = 1; id <= N; id++)
        n += times[id] >= 0;
    due_heap_shift(&h, 50);
    for (; h.len > 0; n_out++) {
        struct due first = h.dues[0];

        assert_true(first.at >= last);
        assert_int_equal(first.at, times[first.feed_id] + 50);
        last = first.at;
        due_heap_remove(&h, first.feed_id);
    }
    assert_int_equal(n, n_out);
    due_heap_put(&h, 4000000000, INT64_MAX);
    due_heap_put(&h, 1, -5);
    assert_int_equal(h.dues[0].feed_id, 1);
    due_heap_release(&h);
}

struct seen {
    pthread_mutex_t lock;
    pthread_cond_t more;
    size_t n;
    int64_t ids[8];
};

static void on_due(void *ctx, const int64_t *ids, size_t n)
{
    struct seen *seen = ctx;

    pthread_mutex_lock(&seen->lock);
    for (size_t i = 0; i < n && seen->n < 8; i++)
        seen->ids[seen->n++] = ids[i];
    pthread_cond_signal(&seen->more);
    pthread_mutex_unlock(&seen->lock);
}

/* The thread wakes for a time that is put while it sleeps. */
static void test_sweeper__thread_hands_over_due_feeds(void **state UNUSED)
{
    struct seen seen = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, {0}};
    struct sweeper *s = sweeper_new(on_due, &seen);

    sweeper_put(s, 1, clock_now_s() + 1000);
    sweeper_start(s);
    sweeper_put(s, 2, clock_now_s());
    pthread_mutex_lock(&seen.lock);
    while (seen.n == 0)
        pthread_cond_wait(&seen.more, &seen.lock);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.ids[0], 2);
    pthread_mutex_unlock(&seen.lock);
    sweeper_stop(s);
    sweeper_put(s, 3, 0);
    sweeper_free(&s);
}

/* What is due already is pending work as soon as it is put, until it was handed over; what is due
 * later is none. */
static void test_sweeper__due_feeds_are_pending_work(void **state UNUSED)
{
    struct seen seen = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, {0}};
    struct sweeper *s = sweeper_new(on_due, &seen);

    assert_int_equal(stats_get(STAT_work_pending), 0);
    sweeper_put(s, 1, clock_now_s() + 1000);
    assert_int_equal(stats_get(STAT_work_pending), 0);
    sweeper_put(s, 2, clock_now_s());
    sweeper_put(s, 3, clock_now_s());
    assert_int_equal(stats_get(STAT_work_pending), 1);
    sweeper_start(s);
    while (stats_get(STAT_work_pending) > 0)
        sched_yield();
    sweeper_stop(s);
    assert_int_equal(seen.n, 2);
    sweeper_put(s, 2, 0); /* the thread has ended: nobody takes it any more */
    sweeper_free(&s);
    assert_int_equal(stats_get(STAT_work_pending), 0);
}

/* The feeds are handed over under the lock: one that is put again at that moment is either among
 * them or still in the heap, so it does not come out for its old time after it has got a new one.
 */
struct handover {
    atomic_bool is_new;
    atomic_int n_late;
};

static void on_handover(void *ctx, const int64_t *ids UNUSED, size_t n UNUSED)
{
    struct handover *h = ctx;

    sched_yield();
    if (atomic_load(&h->is_new))
        atomic_fetch_add(&h->n_late, 1);
}

static void test_sweeper__a_new_time_counts_at_once(void **state UNUSED)
{
    struct handover h = {false, 0};
    struct sweeper *s = sweeper_new(on_handover, &h);

    sweeper_start(s);
    for (int i = 0; i < 2000; i++) {
        atomic_store(&h.is_new, false);
        sweeper_put(s, 1, 0);
        if (i % 2 == 0)
            sched_yield();
        sweeper_put(s, 1, clock_now_s() + 1000);
        atomic_store(&h.is_new, true);
        sched_yield();
    }
    sweeper_stop(s);
    assert_int_equal(atomic_load(&h.n_late), 0);
    sweeper_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sweeper__takes_due_in_order),
        cmocka_unit_test(test_sweeper__last_notice_counts),
        cmocka_unit_test(test_sweeper__clock_is_set_back),
        cmocka_unit_test(test_sweeper__heap_order_survives_changes),
        cmocka_unit_test(test_sweeper__feeds_keep_their_order),
        cmocka_unit_test(test_sweeper__thread_hands_over_due_feeds),
        cmocka_unit_test(test_sweeper__due_feeds_are_pending_work),
        cmocka_unit_test(test_sweeper__a_new_time_counts_at_once),
    };

    digest_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
