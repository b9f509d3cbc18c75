/* The object form: dicts, lists, comparison, copies. */
#include "tests/unit/cmocka_all.h"

#include "model/value.h"

static void test_value__set_replaces_in_place(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct value *d = value_dict(&a);

    value_set_textz(&a, d, "x", STR("1"));
    value_set_textz(&a, d, "y", STR("2"));
    value_set_textz(&a, d, "x", STR("3"));
    assert_int_equal(value_len(d), 2);
    assert_str(d->members[0].key, "x");
    assert_str(value_get_textz(d, "x"), "3");
    assert_true(value_del(d, STR("x")));
    assert_false(value_del(d, STR("x")));
    assert_str(value_get_textz(d, "y"), "2");
    assert_true(str_is_null(value_get_textz(d, "x")));
    arena_release(&a);
}

static void test_value__absent_and_wrong_kinds_are_quiet(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct value *d = value_dict(&a);

    value_setz(&a, d, "n", value_int(&a, 5));
    assert_null(value_getz(NULL, "x"));
    assert_true(str_is_null(value_get_textz(d, "n")));
    assert_int_equal(value_get_int(d, STR("n"), 0), 5);
    assert_int_equal(value_get_int(d, STR("m"), -1), -1);
    assert_null(value_at(d, 0));
    assert_int_equal(value_len(value_getz(d, "n")), 0);
    arena_release(&a);
}

static void test_value__copies_are_equal_and_independent(void **state UNUSED)
{
    struct arena a = ARENA_INIT, b = ARENA_INIT;
    struct value *d = value_dict(&a), *copy;

    for (int i = 0; i < 100; i++)
        value_push(&a, value_list_at(&a, d, STR("list")), value_int(&a, i));
    value_setz(&a, d, "real", value_real(&a, 1.5));
    value_setz(&a, d, "null", value_null(&a));
    value_setz(&a, d, "yes", value_bool(&a, true));
    value_set_textz(&a, d, "text", STR("t"));
    copy = value_copy(&b, d);
    assert_true(value_equal(d, copy));
    value_getz(d, "list")->items[99] = value_int(&a, 7);
    assert_false(value_equal(d, copy));
    arena_release(&a);
    assert_int_equal(value_at(value_getz(copy, "list"), 99)->i, 99);
    arena_release(&b);
}

static void test_value__equality_does_not_look_at_member_order(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct value *x = value_dict(&a), *y = value_dict(&a);

    value_set_textz(&a, x, "a", STR("1"));
    value_set_textz(&a, x, "b", STR("2"));
    value_set_textz(&a, y, "b", STR("2"));
    value_set_textz(&a, y, "a", STR("1"));
    assert_true(value_equal(x, y));
    value_set_textz(&a, y, "c", STR(""));
    assert_false(value_equal(x, y));
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value__set_replaces_in_place),
        cmocka_unit_test(test_value__absent_and_wrong_kinds_are_quiet),
        cmocka_unit_test(test_value__copies_are_equal_and_independent),
        cmocka_unit_test(test_value__equality_does_not_look_at_member_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
