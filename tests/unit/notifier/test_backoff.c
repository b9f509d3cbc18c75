/* tests/unit/notifier/test_backoff.c - pauses and their bounds. */
#include "base/compiler.h"
#include "notifier/backoff.h"
#include "tests/unit/cmocka_all.h"

static const struct backoff usual = {2000, 3600000};

static void test_backoff__the_usual_pauses(void **state UNUSED)
{
    static const int64_t seconds[] = {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600};

    for (size_t i = 0; i < ARRAY_LEN(seconds); i++)
        assert_int_equal(backoff_nominal_ms(&usual, (int)i + 1), seconds[i] * 1000);
}

/* PUSH-09: the first retry comes within five seconds, at least five tries within ten minutes,
 * whatever the jitter, and also when every call takes thirty seconds to fail. */
static void test_backoff__bounds_of_the_first_ten_minutes(void **state UNUSED)
{
    static const struct backoff all[] = {{2000, 3600000}, {5000, 3600000}, {900000, 3600000}};

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        for (uint32_t random = 0; random <= 1000; random++) {
            int64_t at_ms = 0;

            assert_true(backoff_pause_ms(&all[i], 1, random) <= 5000);
            for (int n = 1; n < 5; n++)
                at_ms += 30000 + backoff_pause_ms(&all[i], n, random);
            assert_true(at_ms <= 600000);
        }
}

static void test_backoff__jitter_stays_within_a_tenth(void **state UNUSED)
{
    int64_t least = INT64_MAX, most = 0;

    for (uint32_t random = 0; random < 5000; random++) {
        int64_t ms = backoff_pause_ms(&usual, 5, random);

        least = ms < least ? ms : least;
        most = ms > most ? ms : most;
    }
    assert_int_equal(least, 28800);
    assert_int_equal(most, 35200);
}

static void test_backoff__never_over_the_longest(void **state UNUSED)
{
    struct backoff b = {2000, 3000};

    for (int n = 1; n < 200; n++)
        for (uint32_t random = 0; random <= 1000; random += 10) {
            assert_true(backoff_pause_ms(&usual, n, random) <= 3600000);
            assert_true(backoff_pause_ms(&b, n, random) <= 3000);
        }
}

static void test_backoff__odd_settings_still_pause(void **state UNUSED)
{
    struct backoff none = {0, 0}, negative = {-5, -5};

    for (int n = -1; n < 100; n++) {
        assert_true(backoff_pause_ms(&none, n, 7) >= 1);
        assert_true(backoff_pause_ms(&negative, n, 7) >= 1);
    }
}

static void test_backoff__many_failures_do_not_overflow(void **state UNUSED)
{
    assert_int_equal(backoff_nominal_ms(&usual, INT32_MAX), 3600000);
}

/* PUSH-09: over days. */
static void test_backoff__seven_days_then_over(void **state UNUSED)
{
    int64_t week = 7 * 86400;

    assert_false(backoff_is_over(&usual, 170, week - 1, week));
    assert_true(backoff_is_over(&usual, 170, week, week));
}

/* After days of our own silence a failing endpoint gets its hour of tries first. */
static void test_backoff__time_alone_is_not_enough(void **state UNUSED)
{
    int64_t week = 7 * 86400;

    assert_false(backoff_is_over(&usual, 2, 30 * week, week));
    assert_false(backoff_is_over(&usual, 9, 30 * week, week));
    assert_true(backoff_is_over(&usual, 12, 30 * week, week));
}

static void test_backoff__short_limit_is_over_soon(void **state UNUSED)
{
    struct backoff b = {100, 1000};

    assert_false(backoff_is_over(&b, 1, 0, 1));
    assert_false(backoff_is_over(&b, 2, 5, 1));
    assert_true(backoff_is_over(&b, 5, 1, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backoff__the_usual_pauses),
        cmocka_unit_test(test_backoff__bounds_of_the_first_ten_minutes),
        cmocka_unit_test(test_backoff__jitter_stays_within_a_tenth),
        cmocka_unit_test(test_backoff__never_over_the_longest),
        cmocka_unit_test(test_backoff__odd_settings_still_pause),
        cmocka_unit_test(test_backoff__many_failures_do_not_overflow),
        cmocka_unit_test(test_backoff__seven_days_then_over),
        cmocka_unit_test(test_backoff__time_alone_is_not_enough),
        cmocka_unit_test(test_backoff__short_limit_is_over_soon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
