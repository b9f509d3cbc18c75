/* tests/unit/storage/test_quota.c - how many new entries a feed may bring within a day. */
#include "tests/unit/cmocka_all.h"

#include "base/compiler.h"
#include "storage/quota.h"

#define DAY 86400
#define START 1000000

/* KEEP-05 */
static void test_quota__a_day_begins_with_the_first_entry(void **state UNUSED)
{
    struct quotas *q = quotas_new(10);

    assert_int_equal(10, quotas_room(q, 1, START));
    quotas_take(q, 1, 4, START);
    assert_int_equal(6, quotas_room(q, 1, START + DAY - 1));
    assert_int_equal(10, quotas_room(q, 2, START));
    quotas_take(q, 1, 20, START + 50); /* outcomes of one transaction do not see each other */
    assert_int_equal(0, quotas_room(q, 1, START + 60));
    assert_int_equal(START + DAY, quotas_until(q, 1, START + 60));
    quotas_tell(q, 1, START + 60);
    assert_true(quotas_has_told(q, 1, START + 60));
    assert_false(quotas_has_told(q, 2, START + 60));
    assert_false(quotas_has_told(q, 1, START + DAY));
    assert_int_equal(10, quotas_room(q, 1, START + DAY));
    quotas_take(q, 1, 1, START + DAY + 7);
    assert_false(quotas_has_told(q, 1, START + DAY + 9));
    assert_int_equal(START + 2 * DAY + 7, quotas_until(q, 1, START + DAY + 9));
    assert_int_equal(10, quotas_room(q, 1, START - 2 * DAY)); /* the clock was set back */
    quotas_free(&q);
}

/* KEEP-05 */
static void test_quota__without_a_bound(void **state UNUSED)
{
    struct quotas *q = quotas_new(0);

    quotas_take(q, 1, 1000, START);
    assert_true(quotas_room(q, 1, START) == INT64_MAX);
    assert_true(quotas_room(NULL, 1, START) == INT64_MAX);
    quotas_free(&q);
}

/* KEEP-05: what is over is not kept, and what is not over is. */
static void test_quota__many_feeds(void **state UNUSED)
{
    struct quotas *q = quotas_new(10);

    for (int64_t feed = 1; feed <= 5000; feed++)
        quotas_take(q, feed, 3, START + feed * 100);
    assert_int_equal(7, quotas_room(q, 5000, START + 500000));
    assert_int_equal(7, quotas_room(q, 4200, START + 500000));
    assert_int_equal(10, quotas_room(q, 1, START + 500000));
    quotas_free(&q);
}

int main(void)
{
#define T(name) cmocka_unit_test(test_quota__##name)
    const struct CMUnitTest tests[] = {
        T(a_day_begins_with_the_first_entry),
        T(without_a_bound),
        T(many_feeds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
