/* The calendar against libc's, and the date formats. */
#include "tests/unit/cmocka_all.h"

#include <time.h>

#include "base/clock.h"

static void test_clock__civil_agrees_with_gmtime(void **state UNUSED)
{
    for (int64_t at = -5000000000; at < 9000000000; at += 12345677) {
        struct civil c = clock_civil(at);
        time_t t = (time_t)at;
        struct tm tm;
        gmtime_r(&t, &tm);
        assert_int_equal(c.year, tm.tm_year + 1900);
        assert_int_equal(c.month, tm.tm_mon + 1);
        assert_int_equal(c.day, tm.tm_mday);
        assert_int_equal(c.hour, tm.tm_hour);
        assert_int_equal(c.second, tm.tm_sec);
        assert_int_equal(c.weekday, (tm.tm_wday + 6) % 7);
        assert_int_equal(c.yearday, tm.tm_yday + 1);
        assert_true(clock_from_civil(c.year, c.month, c.day, c.hour, c.minute, c.second) == at);
    }
}

static void test_clock__formats(void **state UNUSED)
{
    char text[CLOCK_TEXT];

    clock_http_date(784111777, text); /* RFC 9110 §5.6.7's example */
    assert_string_equal(text, "Sun, 06 Nov 1994 08:49:37 GMT");
    clock_rfc3339(784111777, text);
    assert_string_equal(text, "1994-11-06T08:49:37Z");
    clock_rfc3339_us(-1, text);
    assert_string_equal(text, "1969-12-31T23:59:59.999999Z");
    clock_rfc3339(INT64_MAX, text);
    assert_string_equal(text, "9999-12-31T23:59:59Z");
    clock_rfc3339(INT64_MIN, text);
    assert_string_equal(text, "0000-01-01T00:00:00Z");
}

static void test_clock__can_be_frozen(void **state UNUSED)
{
    clock_fake_us(5000001);
    assert_int_equal(clock_now_s(), 5);
    assert_int_equal(clock_now_us(), 5000001);
    clock_fake_us(0);
    assert_true(clock_now_s() > 1600000000);
}

static void test_clock__can_be_ahead(void **state UNUSED)
{
    int64_t wall = clock_now_us(), mono = clock_mono_ms();

    assert_false(clock_jumps());
    clock_set_ahead_us(INT64_C(3600) * 1000000);
    assert_true(clock_jumps());
    assert_true(clock_now_us() - wall >= INT64_C(3600) * 1000000);
    assert_true(clock_mono_ms() - mono >= 3600 * 1000);
    clock_set_ahead_us(0);
    assert_true(clock_mono_ms() - mono < 3600 * 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock__civil_agrees_with_gmtime),
        cmocka_unit_test(test_clock__formats),
        cmocka_unit_test(test_clock__can_be_frozen),
        cmocka_unit_test(test_clock__can_be_ahead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
