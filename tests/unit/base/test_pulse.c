/* Signs of life: the oldest beat of the threads that have a pulse. */
#include "tests/unit/cmocka_all.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/pulse.h"

static atomic_int turn; /* 1: the other thread has joined, 2: it is to leave */

static void *stalls(void *ctx UNUSED)
{
    pulse_join("stalls");
    atomic_store(&turn, 1);
    while (atomic_load(&turn) != 2)
        usleep(1000);
    pulse_leave();
    return NULL;
}

/* OPS-06 */
static void test_pulse__the_thread_that_stalls_is_named(void **state UNUSED)
{
    char name[16];
    pthread_t other;

    assert_int_equal(pulse_oldest_ms(name), 0);
    assert_string_equal(name, "");
    assert_int_equal(pthread_create(&other, NULL, stalls, NULL), 0);
    while (atomic_load(&turn) != 1)
        usleep(1000);
    usleep(20000);
    pulse_join("a name that is longer than what is kept");
    assert_true(pulse_oldest_ms(name) >= 20);
    assert_string_equal(name, "stalls");
    pulse_beat();
    assert_true(pulse_oldest_ms(name) >= 20);
    atomic_store(&turn, 2);
    pthread_join(other, NULL);
    pulse_oldest_ms(name);
    assert_string_equal(name, "a name that is ");
    pulse_leave();
    pulse_leave();
    assert_int_equal(pulse_oldest_ms(name), 0);
    pulse_beat(); /* of a thread that has none */
}

static void test_pulse__waits_are_cut_only_when_somebody_looks(void **state UNUSED)
{
    assert_int_equal(pulse_wait_ms(-1), -1);
    pulse_set_period_ms(50);
    assert_int_equal(pulse_wait_ms(-1), -1); /* this thread has no pulse */
    pulse_join("test");
    assert_int_equal(pulse_period_ms(), 50);
    assert_int_equal(pulse_wait_ms(-1), 50);
    assert_int_equal(pulse_wait_ms(51), 50);
    assert_int_equal(pulse_wait_ms(49), 49);
    assert_int_equal(pulse_wait_ms(0), 0);
    pulse_set_period_ms(0);
    assert_int_equal(pulse_wait_ms(-1), -1);
    pulse_leave();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pulse__the_thread_that_stalls_is_named),
        cmocka_unit_test(test_pulse__waits_are_cut_only_when_somebody_looks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
