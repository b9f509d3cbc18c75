/* tests/unit/model/test_keep.c - which wish counts (KEEP-01). */
#include "base/compiler.h"
#include "model/keep.h"
#include "tests/unit/cmocka_all.h"

static const struct keep nothing = {.age_s = KEEP_ALL, .entries = KEEP_ALL}, month = {30, 300};

static void expect(int64_t age_s, int64_t entries, const struct keep_wishes *w,
                   const struct keep *options)
{
    struct keep k = keep_that_counts(w, options);

    assert_int_equal(age_s, k.age_s);
    assert_int_equal(entries, k.entries);
}

static void test_keep__without_wishes_the_options_count(void **state UNUSED)
{
    expect(KEEP_ALL, KEEP_ALL, &(struct keep_wishes){.n_subs = 0}, &nothing);
    expect(30, 300, &(struct keep_wishes){.n_subs = 0}, &month);
    expect(30, 300, &(struct keep_wishes){.n_subs = 2}, &month);
}

static void test_keep__a_feed_has_its_own(void **state UNUSED)
{
    expect(7, 300, &(struct keep_wishes){.own = {7, 0}}, &month);
    expect(7, 300, &(struct keep_wishes){.own = {7, 0}, .n_subs = 3}, &month);
    expect(90, 300, &(struct keep_wishes){.own = {90, 0}, .n_subs = 3}, &month);
    expect(KEEP_ALL, 300, &(struct keep_wishes){.own = {KEEP_ALL, 0}}, &month);
}

static void test_keep__the_widest_wish_counts(void **state UNUSED)
{
    expect(9, 20, &(struct keep_wishes){.n_subs = 2, .least = {5, 10}, .most = {9, 20}}, &month);
    expect(30, 300, &(struct keep_wishes){.n_subs = 2, .least = {0, 0}, .most = {9, 20}}, &month);
    expect(90, 300, &(struct keep_wishes){.n_subs = 2, .least = {0, 0}, .most = {90, 20}}, &month);
    expect(9, 20,
           &(struct keep_wishes){.own = {7, 7}, .n_subs = 1, .least = {9, 20}, .most = {9, 20}},
           &month);
    expect(12, 25,
           &(struct keep_wishes){.own = {12, 25}, .n_subs = 1, .least = {9, 20}, .most = {9, 20}},
           &month);
    expect(KEEP_ALL, 10,
           &(struct keep_wishes){.n_subs = 2, .least = {5, 10}, .most = {KEEP_ALL, 10}}, &month);
}

static void test_keep__a_change_leaves_what_it_does_not_name(void **state UNUSED)
{
    struct keep k = {5, 10};

    keep_set(&k, &(struct keep){0, 0});
    assert_int_equal(5, k.age_s);
    assert_int_equal(10, k.entries);
    keep_set(&k, &(struct keep){KEEP_NONE, 7});
    assert_int_equal(0, k.age_s);
    assert_int_equal(7, k.entries);
    keep_set(&k, &(struct keep){KEEP_ALL, 0});
    assert_true(k.age_s == KEEP_ALL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keep__without_wishes_the_options_count),
        cmocka_unit_test(test_keep__a_feed_has_its_own),
        cmocka_unit_test(test_keep__the_widest_wish_counts),
        cmocka_unit_test(test_keep__a_change_leaves_what_it_does_not_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
