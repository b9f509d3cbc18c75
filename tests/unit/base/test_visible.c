/* Characters that are not seen are taken out of texts (CLI-02, MCP-02). */
#include "tests/unit/cmocka_all.h"

#include "base/visible.h"

static void check(const char *text, const char *want)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str got = visible(&a, str_from(text));

    assert_int_equal(got.len, strlen(want));
    assert_memory_equal(got.ptr, want, got.len);
}

static void test_visible__controls_become_spaces(void **state UNUSED)
{
    check("a\x1b[31mb\x7f", "a [31mb ");
    check("a\nb\tc\r", "a b c ");
    check("\xC2\x9B" "2J\xC2\xA0", " 2J\xC2\xA0"); /* U+009B is one, U+00A0 is none */
    check("a\xE2\x80\xA8" "b", "a b");             /* U+2028 ends a line */
}

static void test_visible__formats_are_left_out(void **state UNUSED)
{
    check("\xE2\x80\xAEgnp\xE2\x80\xAC", "gnp");     /* right to left */
    check("a\xE2\x80\x8B\xEF\xBB\xBF" "b", "ab");    /* no width */
    check("x\xF3\xA0\x81\x81", "x");                 /* U+E0041, a tag */
    check("\xC2\xAD\xD8\x9C", "");                   /* soft hyphen, Arabic letter mark */
}

static void test_visible__other_text_stays(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const char *plain = "plain text ~";

    check("", "");
    assert_ptr_equal(visible(&a, str_from(plain)).ptr, plain);
    assert_true(str_is_null(visible(&a, STR_NULL)));
    check("\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80", "\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80");
}

static void test_visible__bytes_that_are_not_utf8(void **state UNUSED)
{
    check("a\xFF" "b", "a b");
    check("a\xC3", "a ");
    check("\xED\xA0\x80", "   ");                    /* a surrogate */
    check("\xEF\xBF\xBD", "\xEF\xBF\xBD");           /* U+FFFD itself is a character */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_visible__controls_become_spaces),
        cmocka_unit_test(test_visible__formats_are_left_out),
        cmocka_unit_test(test_visible__other_text_stays),
        cmocka_unit_test(test_visible__bytes_that_are_not_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
