/* Filters that are made of filters: what named views, and views of views, come to (VIEW-01, VIEW-16). */
#include "../cmocka_all.h"

#include "base/compiler.h"
#include "feed/filter/compound.h"

#define NOW 1700000000

static struct arena arena;

static const struct filter *asks(const char *q, const char *after)
{
    struct filter_wish wish = {.q = str_from(q), .after = after == NULL ? STR_NULL : str_from(after)};
    struct filter_fault fault;
    const struct filter *f;

    assert_true(filter_make(&arena, &wish, NOW, &f, &fault));
    return f;
}

/* Does it match an entry of this feed, with this title, from now? */
static bool matches(const struct filter *f, int64_t feed_id, const char *title)
{
    struct revision rev = {.kind = REV_NEW,
                           .feed_id = feed_id,
                           .doc = str_printf(&arena, "{\"title\":\"%s\"}", title),
                           .at_us = NOW * 1000000LL};

    return filter_matches(f, &rev, STR("{}"), NOW, &arena);
}

static const struct filter *again(const struct filter *f)
{
    const struct filter *read = filter_read_at(&arena, f->text, NOW);

    assert_non_null(read);
    assert_true(str_eq(f->text, read->text));
    return read;
}

static void test_compound__both(void **state UNUSED)
{
    const struct filter *red = asks("red", NULL), *car = asks("car", NULL), *big = asks("big", NULL);
    const struct filter *two = filter_both(&arena, red, car), *three = filter_both(&arena, two, big);

    assert_ptr_equal(red, filter_both(&arena, red, NULL));
    assert_ptr_equal(red, filter_both(&arena, NULL, red));
    assert_ptr_equal(red, filter_both(&arena, red, asks("red", NULL)));
    assert_null(filter_both(&arena, NULL, NULL));
    assert_true(matches(two, 1, "a red car") && !matches(two, 1, "red") && !matches(two, 1, "car"));
    assert_true(matches(three, 1, "a big red car") && !matches(three, 1, "a red car"));
    /* one question has one text, however it was put together, and what is in it counts once */
    assert_true(str_eq(two->text, filter_both(&arena, car, red)->text));
    assert_true(str_eq(three->text, filter_both(&arena, big, filter_both(&arena, car, red))->text));
    assert_true(str_eq(two->text, filter_both(&arena, two, red)->text));
    assert_true(matches(again(three), 1, "a big red car") && !matches(again(three), 1, "a red car"));
}

static void test_compound__any(void **state UNUSED)
{
    const int64_t first[] = {1, 3}, second[] = {2, 3};
    const struct filter_part parts[] = {{first, 2, asks("red", NULL)}, {second, 2, NULL}};
    const struct filter_part turned[] = {parts[1], parts[0]};
    const struct filter *any = filter_any(&arena, parts, 2);

    assert_true(matches(any, 1, "red") && !matches(any, 1, "blue")); /* its own part's filter */
    assert_true(matches(any, 2, "blue") && matches(any, 3, "blue"));
    assert_false(matches(any, 4, "red")); /* a feed of no part */
    assert_true(str_eq(any->text, filter_any(&arena, turned, 2)->text));
    assert_null(any->terms); /* one part takes all: the index narrows nothing */
    assert_non_null(filter_any(&arena, parts, 1)->terms);
    any = again(filter_both(&arena, any, asks("car", NULL)));
    assert_true(matches(any, 1, "red car") && !matches(any, 1, "red") && matches(any, 3, "car"));
}

/* What is read by dates is narrow enough, and not narrower: of all the narrowest times, of any the widest. */
static void test_compound__times(void **state UNUSED)
{
    const int64_t feed[] = {1};
    const struct filter *early = asks("a", "100"), *late = asks("b", "200");
    const struct filter_part parts[] = {{feed, 1, late}, {feed, 1, early}}, open[] = {{feed, 1, late}, {feed, 1, NULL}};

    assert_int_equal(200, filter_both(&arena, early, late)->after_at);
    assert_int_equal(100, filter_any(&arena, parts, 2)->after_at);
    assert_true(filter_any(&arena, open, 2)->after_at == INT64_MIN && filter_any(&arena, open, 2)->before_at == INT64_MAX);
}

static void test_compound__texts_that_are_none(void **state UNUSED)
{
    static const char *const texts[] = {
        "all 0\n",       "any x\n",        "any 1\n",         "any 2\n1 0\n",  "any 1\n2,1 0\n", "any 1\n1,1 0\n", "any 1\n1 5\nq a",
        "all 1\n 0\n",   "any 1\n1 -1\n",  "any 1\n1 0\nmore", "any 1001\n1 0\n", "any 1\n1 4\nwhat"};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (compound_read(&arena, str_from(texts[i]), NOW, 0) != NULL)
            fail_msg("%s is read", texts[i]);
    assert_non_null(compound_read(&arena, STR("any 1\n1,2 0\n"), NOW, 0));
    assert_true(is_compound(STR("any 1\n1,2 0\n")) && !is_compound(STR("q any\n")));
}

static int end(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compound__both),
        cmocka_unit_test(test_compound__any),
        cmocka_unit_test(test_compound__times),
        cmocka_unit_test(test_compound__texts_that_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, end);
}
