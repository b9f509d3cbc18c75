#include "../cmocka_all.h"

#include "api/pings/ping_log.h"
#include "base/clock.h"
#include "base/digest.h"
#include "feed/lists/changes.h"

#define NOW 1700000000

static struct arena arena;

static size_t rows_at(struct ping_log *l, int64_t now, struct change_row **rows)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct err err = ERR_INIT;
    size_t n;

    ping_log_write(l, &out, now);
    if (changes_read(&arena, str_dup(&arena, buf_view(&out)), now, rows, &n, &err) != RC_OK)
        fail_msg("%s", err.text);
    return n;
}

/* PING-06 */
static void test_ping_log__newest_first_for_three_hours(void **state UNUSED)
{
    struct ping_log *l = ping_log_new();
    struct change_row *rows;

    ping_log_add(l, STR("old"), STR("http://o/"), STR_NULL, NOW - 4 * 3600);
    ping_log_add(l, STR("A"), STR("http://a/"), STR("http://a/rss"), NOW - 100);
    ping_log_add(l, STR("B"), STR("http://b/"), STR_NULL, NOW - 50);
    assert_int_equal(2, rows_at(l, NOW, &rows));
    assert_str(rows[0].url, "http://b/");
    assert_int_equal(NOW - 50, rows[0].when_at);
    assert_str(rows[1].name, "A");
    assert_int_equal(NOW - 100, rows[1].when_at);
    ping_log_free(&l);
}

static void test_ping_log__url_stands_once(void **state UNUSED)
{
    struct ping_log *l = ping_log_new();
    struct change_row *rows;

    ping_log_add(l, STR("A"), STR("http://a/"), STR_NULL, NOW - 100);
    ping_log_add(l, STR("B"), STR("http://b/"), STR_NULL, NOW - 90);
    ping_log_add(l, STR("A2"), STR("http://a/"), STR_NULL, NOW - 80);
    assert_int_equal(2, rows_at(l, NOW, &rows));
    assert_str(rows[0].name, "A2");
    ping_log_free(&l);
}

static void test_ping_log__is_bounded(void **state UNUSED)
{
    struct ping_log *l = ping_log_new();
    struct change_row *rows;

    for (int i = 0; i < 10000; i++) {
        char url[32];

        snprintf(url, sizeof(url), "http://p/%d", i);
        ping_log_add(l, STR("n"), str_from(url), STR_NULL, NOW - 10);
        ping_log_add(l, STR("n"), STR("http://same/"), STR_NULL, NOW - 10);
    }
    assert_in_range(rows_at(l, NOW, &rows), 1000, 4096);
    assert_str(rows[0].url, "http://same/");
    assert_str(rows[1].url, "http://p/9999");
    ping_log_free(&l);
}

static void test_ping_log__same_bytes_until_something_happens(void **state UNUSED)
{
    AUTO(buf_release) struct buf x = BUF_INIT(BUF_ANY), y = BUF_INIT(BUF_ANY);
    struct ping_log *l;

    clock_fake_us((NOW - 1000) * INT64_C(1000000));
    l = ping_log_new();
    clock_fake_us(0);
    ping_log_add(l, STR("A"), STR("http://a/"), STR_NULL, NOW - 100);
    assert_int_equal(NOW - 100, ping_log_write(l, &x, NOW));
    ping_log_write(l, &y, NOW + 5);
    assert_true(str_eq(buf_view(&x), buf_view(&y)));
    ping_log_free(&l);
}

static int setup(void **state UNUSED)
{
    digest_init();
    clock_fake_us((NOW - 5 * 3600) * INT64_C(1000000)); /* so that the log began before its pings */
    return 0;
}

static int release(void **state UNUSED)
{
    clock_fake_us(0);
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ping_log__newest_first_for_three_hours),
        cmocka_unit_test(test_ping_log__url_stands_once),
        cmocka_unit_test(test_ping_log__is_bounded),
        cmocka_unit_test(test_ping_log__same_bytes_until_something_happens),
    };

    return cmocka_run_group_tests_name("ping_log", tests, setup, release);
}
