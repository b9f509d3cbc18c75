/* The bounded queue: order, bounds, closing, and many threads at once. */
#include "tests/unit/cmocka_all.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/compiler.h"
#include "base/queue.h"

static void test_queue__keeps_order_and_refuses_when_full(void **state UNUSED)
{
    struct queue *q = queue_new(2, NULL);
    int a, b, c;
    void *out[4];

    assert_int_equal(queue_try_push(q, &a), RC_OK);
    assert_int_equal(queue_try_push(q, &b), RC_OK);
    assert_int_equal(queue_try_push(q, &c), RC_FULL);
    assert_int_equal(queue_push(q, &c, 5), RC_FULL);
    assert_int_equal(queue_pop(q, out, 4, 0), 2);
    assert_ptr_equal(out[0], &a);
    assert_ptr_equal(out[1], &b);
    assert_int_equal(queue_pop(q, out, 4, 0), 0);
    queue_free(&q);
    assert_null(q);
}

static void test_queue__closed_still_gives_what_it_holds(void **state UNUSED)
{
    struct queue *q = queue_new(4, NULL);
    int a;
    void *out[1];

    assert_int_equal(queue_try_push(q, &a), RC_OK);
    queue_close(q);
    queue_close(q);
    assert_int_equal(queue_try_push(q, &a), RC_CLOSED);
    assert_int_equal(queue_pop(q, out, 1, -1), 1);
    assert_int_equal(queue_pop(q, out, 1, -1), 0);
    queue_free(&q);
}

static int freed;

static void count_free(void *item UNUSED)
{
    freed++;
}

static void test_queue__frees_what_is_left(void **state UNUSED)
{
    struct queue *q = queue_new(4, count_free);
    int a;

    freed = 0;
    assert_int_equal(queue_try_push(q, &a), RC_OK);
    assert_int_equal(queue_try_push(q, &a), RC_OK);
    queue_free(&q);
    assert_int_equal(freed, 2);
}

#define ITEMS 20000
static int items[ITEMS];
static _Atomic int taken[ITEMS];

static void *push_half(void *arg)
{
    struct queue *q = ((void **)arg)[0];
    int from = *(int *)((void **)arg)[1];

    for (int i = from; i < ITEMS; i += 2)
        if (queue_push(q, &items[i], -1) != RC_OK)
            abort();
    return NULL;
}

static void *pop_some(void *arg)
{
    struct queue *q = arg;
    void *out[7];
    size_t n;

    while ((n = queue_pop(q, out, 7, -1)) > 0)
        for (size_t i = 0; i < n; i++)
            atomic_fetch_add(&taken[(int *)out[i] - items], 1);
    return NULL;
}

static void test_queue__each_item_arrives_once_with_many_threads(void **state UNUSED)
{
    struct queue *q = queue_new(16, NULL);
    pthread_t in[2], out[3];
    int from[2] = {0, 1};
    void *args[2][2] = {{q, &from[0]}, {q, &from[1]}};

    for (int i = 0; i < 3; i++)
        pthread_create(&out[i], NULL, pop_some, q);
    for (int i = 0; i < 2; i++)
        pthread_create(&in[i], NULL, push_half, args[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(in[i], NULL);
    queue_close(q);
    for (int i = 0; i < 3; i++)
        pthread_join(out[i], NULL);
    for (int i = 0; i < ITEMS; i++)
        assert_int_equal(taken[i], 1);
    queue_free(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue__keeps_order_and_refuses_when_full),
        cmocka_unit_test(test_queue__closed_still_gives_what_it_holds),
        cmocka_unit_test(test_queue__frees_what_is_left),
        cmocka_unit_test(test_queue__each_item_arrives_once_with_many_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
