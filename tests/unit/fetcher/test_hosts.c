/* tests/unit/fetcher/test_hosts.c - politeness per host. */
#include "tests/unit/cmocka_all.h"

#include "base/digest.h"
#include "fetcher/hosts.h"

/* SCHED-10: a host has so many requests at once and no more, whoever asks. */
static void test_hosts__limit_at_once(void **state UNUSED)
{
    struct hosts hs;
    struct host *h;

    hosts_init(&hs, 2, 0, 0);
    h = hosts_hold(&hs, STR("a:80"));
    host_start(&hs, h, WORK_SWEEP, 1000);
    assert_int_equal(host_ready_ms(&hs, h, WORK_SWEEP, 1000), 1000);
    host_start(&hs, h, WORK_SWEEP, 1000);
    for (int cls = 0; cls < WORK_CLASSES; cls++)
        assert_true(host_ready_ms(&hs, h, (enum work_class)cls, 2000) >= 3000);
    host_end(h, 1000);
    assert_int_equal(host_ready_ms(&hs, h, WORK_READER, 2000), 2000);
    host_end(h, 1000);
    hosts_drop(&h);
    hosts_release(&hs);
}

/* SCHED-09, SCHED-10: transfers that take long do not hold up readers and pings, up to twice the
 * limit; sweeps wait for them. */
static void test_hosts__slow_transfers_make_room(void **state UNUSED)
{
    struct hosts hs;
    struct host *h;

    hosts_init(&hs, 2, 0, 0);
    h = hosts_hold(&hs, STR("a:80"));
    host_start(&hs, h, WORK_SWEEP, 1000);
    host_start(&hs, h, WORK_SWEEP, 1500);
    assert_int_equal(host_ready_ms(&hs, h, WORK_READER, 1600), 1000 + HOST_SLOW_MS);
    assert_int_equal(host_ready_ms(&hs, h, WORK_PING, 3000), 3000);
    assert_true(host_ready_ms(&hs, h, WORK_SWEEP, 9000) == INT64_MAX);
    host_start(&hs, h, WORK_READER, 3000);
    assert_int_equal(host_ready_ms(&hs, h, WORK_READER, 3000), 1500 + HOST_SLOW_MS);
    host_start(&hs, h, WORK_READER, 3500);
    assert_true(host_ready_ms(&hs, h, WORK_READER, 9000) == INT64_MAX); /* four are enough */
    host_end(h, 3000);
    assert_int_equal(host_ready_ms(&hs, h, WORK_READER, 9000), 9000);
    host_end(h, 1000); /* in any order */
    host_end(h, 3500);
    host_end(h, 1500);
    assert_int_equal(host_ready_ms(&hs, h, WORK_SWEEP, 9000), 9000);
    hosts_drop(&h);
    hosts_release(&hs);
}

/* The gap between starts holds sweeps, not readers and pings. */
static void test_hosts__gap_is_for_sweeps(void **state UNUSED)
{
    struct hosts hs;
    struct host *h;

    hosts_init(&hs, 8, 250, 0);
    h = hosts_hold(&hs, STR("a:80"));
    assert_int_equal(host_ready_ms(&hs, h, WORK_SWEEP, 1000), 1000);
    host_start(&hs, h, WORK_SWEEP, 1000);
    assert_int_equal(host_ready_ms(&hs, h, WORK_SWEEP, 1010), 1250);
    assert_int_equal(host_ready_ms(&hs, h, WORK_PING, 1010), 1010);
    assert_int_equal(host_ready_ms(&hs, h, WORK_READER, 1010), 1010);
    assert_int_equal(host_ready_ms(&hs, h, WORK_SWEEP, 1250), 1250);
    host_end(h, 1000);
    hosts_drop(&h);
    hosts_release(&hs);
}

/* SCHED-14, ETIQ-03: a cooled host gets no sweeps until then, and afterwards one after another, each
 * after the answer to the one before. */
static void test_hosts__cooling_spreads_what_follows(void **state UNUSED)
{
    struct hosts hs;
    struct host *h;

    hosts_init(&hs, 8, 0, 0);
    h = hosts_hold(&hs, STR("a:80"));
    host_cool(h, 30000, 1000);
    assert_int_equal(host_ready_ms(&hs, h, WORK_SWEEP, 1000), 31000);
    assert_int_equal(host_ready_ms(&hs, h, WORK_READER, 1000), 1000);
    host_cool(h, 5000, 2000); /* a shorter wish does not shorten */
    assert_int_equal(host_ready_ms(&hs, h, WORK_SWEEP, 2000), 31000);
    host_start(&hs, h, WORK_SWEEP, 31000);
    assert_true(host_ready_ms(&hs, h, WORK_SWEEP, 39000) == INT64_MAX); /* no answer yet */
    assert_int_equal(host_ready_ms(&hs, h, WORK_READER, 31000), 31000);
    host_end(h, 31000);
    assert_int_equal(host_ready_ms(&hs, h, WORK_SWEEP, 31000), 32000);
    host_cool(h, (int64_t)365 * 86400 * 1000, 40000); /* one answer does not end a host */
    assert_int_equal(host_ready_ms(&hs, h, WORK_SWEEP, 40000), 40000 + 24 * 3600 * 1000);
    hosts_drop(&h);
    hosts_release(&hs);
}

/* ETIQ-03: the daemon was stopped while the host rested and was to be asked gently. What became due meanwhile comes one after another
 * all the same; but a rest that is over changes nothing while the daemon runs. */
static void test_hosts__a_rest_that_was_over_at_the_start(void **state UNUSED)
{
    const struct host_rest over = {.cool_ms = -700000, .gentle_ms = -100000};
    struct hosts hs;
    struct host *h;

    hosts_init(&hs, 8, 50, 0);
    h = hosts_hold(&hs, STR("a:80"));
    host_rest(h, &over, 1000);
    assert_true(host_is_resting(h, 1000));
    host_start(&hs, h, WORK_SWEEP, 1000);
    assert_int_equal(host_ready_ms(&hs, h, WORK_SWEEP, 5000), INT64_MAX); /* until the answer */
    host_end(h, 1000);
    assert_int_equal(host_ready_ms(&hs, h, WORK_SWEEP, 1100), 2000);
    assert_false(host_is_resting(h, 601000));
    host_rest(h, &over, 601000);
    assert_false(host_is_resting(h, 601000));
    hosts_drop(&h);
    hosts_release(&hs);
}

/* SCHED-14: what a host asked for before is as if it asked now; a clock that went back makes no
 * rest longer than one can be. */
static void test_hosts__a_rest_from_before(void **state UNUSED)
{
    struct hosts hs;
    struct host *h;

    hosts_init(&hs, 8, 0, 0);
    h = hosts_hold(&hs, STR("a:80"));
    host_rest(h, &(struct host_rest){.cool_ms = -5000, .gentle_ms = 4000}, 1000);
    assert_int_equal(host_ready_ms(&hs, h, WORK_SWEEP, 1000), 1000);
    host_start(&hs, h, WORK_SWEEP, 1000);
    host_end(h, 1000);
    assert_int_equal(host_ready_ms(&hs, h, WORK_SWEEP, 1000), 2000); /* it is still gentle */
    host_rest(h, &(struct host_rest){.cool_ms = 30000, .gentle_ms = 40000}, 2000);
    assert_int_equal(host_ready_ms(&hs, h, WORK_SWEEP, 2000), 32000);
    host_rest(h, &(struct host_rest){.cool_ms = 1000, .gentle_ms = 2000}, 3000);
    assert_int_equal(host_ready_ms(&hs, h, WORK_SWEEP, 3000), 32000);
    host_rest(h, &(struct host_rest){.cool_ms = INT64_C(1) << 40, .gentle_ms = INT64_C(1) << 40},
              4000);
    assert_int_equal(host_ready_ms(&hs, h, WORK_SWEEP, 4000), 4000 + 24 * 3600 * 1000);
    hosts_drop(&h);
    hosts_release(&hs);
}

/* PMHC-09: contents of metadata records have the host for themselves, and are apart from each
 * other. */
static void test_hosts__contents_come_one_by_one(void **state UNUSED)
{
    struct hosts hs;
    struct host *h;

    hosts_init(&hs, 8, 50, 200);
    h = hosts_hold(&hs, STR("a:80"));
    host_start(&hs, h, WORK_SWEEP, 1000);
    assert_true(host_ready_ms(&hs, h, WORK_CONTENT, 5000) == INT64_MAX);
    host_end(h, 1000);
    assert_int_equal(host_ready_ms(&hs, h, WORK_CONTENT, 1010), 1050);
    host_start(&hs, h, WORK_CONTENT, 2000);
    assert_int_equal(host_ready_ms(&hs, h, WORK_SWEEP, 2010), 2050);
    host_end(h, 2000);
    assert_int_equal(host_ready_ms(&hs, h, WORK_CONTENT, 2010), 2200);
    host_cool(h, 30000, 2010);
    assert_int_equal(host_ready_ms(&hs, h, WORK_CONTENT, 2010), 32010);
    hosts_drop(&h);
    hosts_release(&hs);
}

/* A host is forgotten when nothing is to be remembered of it, and not before. */
static void test_hosts__pruned_when_idle(void **state UNUSED)
{
    struct hosts hs;
    struct host *h;

    hosts_init(&hs, 8, 100, 0);
    h = hosts_hold(&hs, STR("a:80"));
    assert_ptr_equal(h, map_get(&hs.table, STR("a:80")));
    hosts_prune(&hs, 1000);
    assert_int_equal(map_count(&hs.table), 1);
    host_start(&hs, h, WORK_SWEEP, 1000);
    host_end(h, 1000);
    hosts_drop(&h);
    assert_null(h);
    hosts_prune(&hs, 1050);
    assert_int_equal(map_count(&hs.table), 1);
    hosts_prune(&hs, 1100);
    assert_int_equal(map_count(&hs.table), 0);
    hosts_release(&hs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts__limit_at_once),
        cmocka_unit_test(test_hosts__slow_transfers_make_room),
        cmocka_unit_test(test_hosts__gap_is_for_sweeps),
        cmocka_unit_test(test_hosts__cooling_spreads_what_follows),
        cmocka_unit_test(test_hosts__contents_come_one_by_one),
        cmocka_unit_test(test_hosts__a_rest_from_before),
        cmocka_unit_test(test_hosts__a_rest_that_was_over_at_the_start),
        cmocka_unit_test(test_hosts__pruned_when_idle),
    };

    digest_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
