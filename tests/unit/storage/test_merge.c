/* tests/unit/storage/test_merge.c - keys only: order, doubles, ranges, depth. */
#include <stdlib.h>

#include "storage/merge.h"
#include "tests/unit/cmocka_all.h"

#define ALL                                                                                        \
    (struct merge_range)                                                                           \
    {                                                                                              \
        0, INT64_MAX, 0, 10, false, false, 0                                                       \
    }

static void expect(const struct merge_run *runs, size_t n_runs, struct merge_range range,
                   const int64_t *wanted, size_t n_wanted)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct merge_ends ends;
    int64_t out[64];
    size_t n = 99, i;

    assert_true(merge_runs(runs, n_runs, &range, &a, out, &n, &ends));
    assert_int_equal(n_wanted, n);
    for (i = 0; i < n; i++)
        assert_int_equal(wanted[i], out[i]);
}

static const struct merge_key run_a[] = {{30, 5, 0}, {20, 9, 0}, {20, 2, 0}};
static const struct merge_key run_b[] = {{25, 1, 0}, {20, 4, 0}};

/* REST-16, REST-12: entry date first, then arrival */
static void test_merge__newest_first_then_arrival(void **state UNUSED)
{
    const struct merge_run runs[] = {{run_a, 3, true, 0, 0}, {run_b, 2, true, 0, 0}};

    expect(runs, 2, ALL, (int64_t[]){5, 1, 9, 4, 2}, 5);
}

static void test_merge__skip_and_len(void **state UNUSED)
{
    const struct merge_run runs[] = {{run_a, 3, true, 0, 0}, {run_b, 2, true, 0, 0}};

    expect(runs, 2, (struct merge_range){0, INT64_MAX, 1, 2, false, false, 0}, (int64_t[]){1, 9},
           2);
    expect(runs, 2, (struct merge_range){0, INT64_MAX, 7, 2, false, false, 0}, NULL, 0);
    expect(runs, 2, (struct merge_range){0, INT64_MAX, 0, 0, false, false, 0}, NULL, 0);
}

static void test_merge__range_is_exclusive(void **state UNUSED)
{
    const struct merge_run runs[] = {{run_a, 3, true, 0, 0}, {run_b, 2, true, 0, 0}};

    expect(runs, 2, (struct merge_range){2, 9, 0, 10, false, false, 0}, (int64_t[]){5, 4}, 2);
}

/* REST-19: the same id in two feeds appears once, the newest */
static void test_merge__doubles_by_iri(void **state UNUSED)
{
    const struct merge_key x[] = {{30, 7, 42}, {10, 3, 43}};
    const struct merge_key y[] = {{20, 8, 42}, {5, 9, 0}, {4, 2, 0}};
    const struct merge_run runs[] = {{x, 2, true, 0, 0}, {y, 3, true, 0, 0}};

    expect(runs, 2, ALL, (int64_t[]){7, 3, 9, 2}, 4);
}

static void test_merge__no_runs(void **state UNUSED)
{
    expect(NULL, 0, ALL, NULL, 0);
}

static void test_merge__end_of_an_incomplete_run(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const struct merge_run runs[] = {{run_a, 3, true, 0, 0}, {run_b, 2, false, 0, 0}};
    struct merge_range range = {0, INT64_MAX, 0, 4, false, false, 0};
    struct merge_ends ends;
    int64_t out[10];
    size_t n = 99;

    assert_true(
        merge_runs(runs, 2, &range, &a, out, &n, &ends)); /* the fourth is its last: enough */
    assert_int_equal(4, n);
    range.len = 5;
    n = 99;
    assert_false(merge_runs(runs, 2, &range, &a, out, &n, &ends));
    assert_int_equal(99, n);
    assert_int_equal(1, ends.n);
    assert_int_equal(1, ends.runs[0]);
    range = (struct merge_range){4, INT64_MAX, 0, 1, false, false, 0};
    assert_false(
        merge_runs(runs, 2, &range, &a, out, &n, &ends)); /* all we see of it is filtered out */
}

/* ETIQ-12: of many feeds of which the newest key is known, only those are read that the merge
 * reaches. */
static void test_merge__names_the_runs_it_reaches(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const struct merge_key keys[] = {{50, 9, 0}, {40, 8, 0}, {30, 7, 0}, {20, 6, 0}};
    const struct merge_run runs[] = {
        {&keys[0], 1, false, 0, 0}, {&keys[1], 1, false, 0, 0}, {&keys[2], 1, true, 0, 0}, {&keys[3], 1, false, 0, 0}};
    struct merge_range range = {0, INT64_MAX, 0, 3, false, false, 0};
    struct merge_ends ends;
    int64_t out[3];
    size_t n;

    assert_false(merge_runs(runs, 4, &range, &a, out, &n, &ends));
    assert_int_equal(2, ends.n);
    assert_int_equal(0, ends.runs[0]);
    assert_int_equal(1, ends.runs[1]);
    range.len = 1;
    assert_true(merge_runs(runs, 4, &range, &a, out, &n, &ends));
    assert_int_equal(9, out[0]);
}

/* ETIQ-12: after a start no key is in memory, only how new the newest one can be. Of those runs as many are named as the
 * page has rows, and none that is older than the page. */
static void test_merge__names_bare_runs_the_page_may_reach(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const struct merge_key keys[] = {{45, 9, 0}, {15, 8, 0}};
    const struct merge_run runs[] = {
        {.newest_at = 50, .last_seq = 90}, {.newest_at = 10, .last_seq = 91}, {keys, 2, true, 0, 0},
        {.newest_at = 15, .last_seq = 92}, {.newest_at = 40, .last_seq = 93}};
    struct merge_range range = {0, 100, 0, 2, false, false, 0};
    struct merge_ends ends;
    int64_t out[9];
    size_t n = 99;

    assert_false(merge_runs(runs, 5, &range, &a, out, &n, &ends));
    assert_int_equal(99, n);
    assert_int_equal(1, ends.n); /* the second row is known: 45 */
    assert_int_equal(0, ends.runs[0]);
    range.len = 4; /* 50, 45, 40, and one of two at 15 */
    assert_false(merge_runs(runs, 5, &range, &a, out, &n, &ends));
    assert_int_equal(3, ends.n);
    assert_int_equal(4, ends.runs[1]);
    assert_int_equal(3, ends.runs[2]); /* it may have a higher seq than the key of the same time */
    assert_true(merge_runs(runs + 2, 1, &range, &a, out, &n, &ends));
    range.len = 1; /* the page is full before a bare run */
    assert_true(merge_runs(runs + 2, 3, &range, &a, out, &n, &ends));
    assert_int_equal(1, n);
    assert_int_equal(9, out[0]);
}

/* ETIQ-12: the newest key of such a run may be one that the range leaves out. Then it stands for no row. */
static void test_merge__bare_runs_with_a_range(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const struct merge_run runs[] = {{.newest_at = 50, .last_seq = 90}, {.newest_at = 40, .last_seq = 91}};
    struct merge_range range = {0, 91, 0, 1, false, false, 0};
    struct merge_ends ends;
    int64_t out[1];
    size_t n;

    assert_false(merge_runs(runs, 2, &range, &a, out, &n, &ends));
    assert_int_equal(1, ends.n);
    range.before_seq = 90;
    assert_false(merge_runs(runs, 2, &range, &a, out, &n, &ends));
    assert_int_equal(2, ends.n);
    range = (struct merge_range){5, 100, 0, 1, false, false, 0};
    assert_false(merge_runs(runs, 2, &range, &a, out, &n, &ends));
    assert_int_equal(2, ends.n);
    range = (struct merge_range){0, 100, 0, 1, false, true, 50};
    assert_false(merge_runs(runs, 2, &range, &a, out, &n, &ends));
    assert_int_equal(2, ends.n);
    range.before_at = 51;
    assert_false(merge_runs(runs, 2, &range, &a, out, &n, &ends));
    assert_int_equal(1, ends.n);
}

static int before(const void *x, const void *y)
{
    return merge_key_before(x, y) ? -1 : 1;
}

/* Many runs against a sort of everything. */
static void test_merge__same_as_sorting(void **state UNUSED)
{
    enum { RUNS = 40, PER = 25 };
    AUTO(arena_release) struct arena a = ARENA_INIT;
    static struct merge_key keys[RUNS][PER], all[RUNS * PER];
    static int64_t out[RUNS * PER];
    struct merge_run runs[RUNS];
    struct merge_range range = {0, INT64_MAX, 0, RUNS * PER, false, false, 0};
    struct merge_ends ends;
    uint32_t x = 12345;
    size_t n, i, k;

    for (i = 0; i < RUNS; i++) {
        for (k = 0; k < PER; k++) {
            x = x * 1664525 + 1013904223;
            keys[i][k] = (struct merge_key){(x >> 8) % 50, (int64_t)(i * PER + k + 1), 0};
            all[i * PER + k] = keys[i][k];
        }
        qsort(keys[i], PER, sizeof keys[i][0], before);
        runs[i] = (struct merge_run){keys[i], PER, true, 0, 0};
    }
    qsort(all, RUNS * PER, sizeof all[0], before);
    assert_true(merge_runs(runs, RUNS, &range, &a, out, &n, &ends));
    assert_int_equal(RUNS * PER, n);
    for (i = 0; i < n; i++)
        assert_int_equal(all[i].seq, out[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge__newest_first_then_arrival),
        cmocka_unit_test(test_merge__skip_and_len),
        cmocka_unit_test(test_merge__range_is_exclusive),
        cmocka_unit_test(test_merge__names_the_runs_it_reaches),
        cmocka_unit_test(test_merge__names_bare_runs_the_page_may_reach),
        cmocka_unit_test(test_merge__bare_runs_with_a_range),
        cmocka_unit_test(test_merge__doubles_by_iri),
        cmocka_unit_test(test_merge__no_runs),
        cmocka_unit_test(test_merge__end_of_an_incomplete_run),
        cmocka_unit_test(test_merge__same_as_sorting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
