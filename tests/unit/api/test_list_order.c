#include "../cmocka_all.h"

#include "api/lists/list_order.h"
#include "base/clock.h"

static void keep(struct list_orders *os, const char *key, int64_t edition, size_t n)
{
    struct list_order *o = list_order_new(str_from(key), edition);

    o->ids = ARENA_ARRAY(&o->arena, int64_t, n + 1);
    o->paths = ARENA_ARRAY(&o->arena, struct str, n + 1);
    o->n = n;
    list_orders_keep(os, o);
    list_order_unref(&o);
}

/* Returns how many rows the kept order has; -1: there is none. */
static long kept(struct list_orders *os, const char *key, int64_t edition)
{
    struct list_order *o = list_orders_get(os, str_from(key), edition);
    long n = o == NULL ? -1 : (long)o->n;

    list_order_unref(&o);
    return n;
}

/* CON-03, CON-05 */
static void test_orders__are_those_of_a_key_and_an_edition(void **state UNUSED)
{
    struct list_orders *os = list_orders_new();

    keep(os, "a", 1, 10);
    keep(os, "b", 1, 20);
    assert_int_equal(10, kept(os, "a", 1));
    assert_int_equal(20, kept(os, "b", 1));
    assert_int_equal(-1, kept(os, "c", 1));
    assert_int_equal(-1, kept(os, "a", 2)); /* a subscription has changed */
    keep(os, "a", 2, 11);
    assert_int_equal(11, kept(os, "a", 2));
    assert_int_equal(-1, kept(os, "a", 1));
    list_orders_free(&os);
}

static void test_orders__leave_after_ten_seconds(void **state UNUSED)
{
    struct list_orders *os = list_orders_new();

    keep(os, "a", 1, 10);
    clock_set_ahead_us(INT64_C(5000) * 1000);
    assert_int_equal(10, kept(os, "a", 1));
    clock_set_ahead_us(INT64_C(10000) * 1000);
    assert_int_equal(-1, kept(os, "a", 1));
    clock_set_ahead_us(0);
    list_orders_free(&os);
}

static void test_orders__are_bounded_by_number_and_size(void **state UNUSED)
{
    struct list_orders *os = list_orders_new();
    char key[] = "a";
    int n = 0;

    for (; key[0] < 'a' + 20; key[0]++)
        keep(os, key, 1, 1);
    for (key[0] = 'a'; key[0] < 'a' + 20; key[0]++)
        n += kept(os, key, 1) == 1;
    assert_int_equal(8, n);
    keep(os, "large", 1, 1000000); /* 24 MB: it fits, and with those that are small */
    assert_int_equal(1000000, kept(os, "large", 1));
    assert_int_equal(1, kept(os, "t", 1));
    keep(os, "other", 1, 1000000); /* two of them do not */
    assert_int_equal(1000000, kept(os, "other", 1));
    assert_int_equal(-1, kept(os, "large", 1));
    keep(os, "huge", 1, 2000000);
    assert_int_equal(-1, kept(os, "huge", 1));
    assert_int_equal(1000000, kept(os, "other", 1));
    list_orders_free(&os);
}

static void test_orders__live_as_long_as_somebody_has_them(void **state UNUSED)
{
    struct list_orders *os = list_orders_new();
    struct list_order *o;

    keep(os, "a", 1, 10);
    o = list_orders_get(os, STR("a"), 1);
    list_orders_free(&os);
    assert_int_equal(10, o->n);
    assert_int_equal(0, o->ids[9]);
    list_order_unref(&o);
}

/* CON-03, CON-05 */
static void test_orders__all_words_are_in_the_text(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str text = list_folded(&a, STR("7 http://Host.example/\xc3\x84hre webhook"));

    assert_true(list_has_words(text, STR("host webhook")));
    assert_true(list_has_words(text, list_folded(&a, STR("\xc3\xa4HRE"))));
    assert_true(list_has_words(text, STR("")));
    assert_false(list_has_words(text, STR("host xmlrpc")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders__are_those_of_a_key_and_an_edition),
        cmocka_unit_test(test_orders__leave_after_ten_seconds),
        cmocka_unit_test(test_orders__are_bounded_by_number_and_size),
        cmocka_unit_test(test_orders__all_words_are_in_the_text),
        cmocka_unit_test(test_orders__live_as_long_as_somebody_has_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
