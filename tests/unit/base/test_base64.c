/* tests/unit/base/test_base64.c - base/base64.h. */
#include "base/base64.h"
#include "tests/unit/cmocka_all.h"

static struct arena arena = ARENA_INIT;

static int teardown(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

/* RFC 4648 section 10, and the two last digits */
static const struct {
    const char *bytes, *text;
} rows[] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
    {"\xfb\xff\xbf", "+/+/"},
};

static void test_base64__both_ways(void **state UNUSED)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str bytes = str_from(rows[i].bytes), text = str_from(rows[i].text);

        assert_str(base64_write(&arena, bytes), rows[i].text);
        assert_str(base64_read(&arena, text), rows[i].bytes);
        while (str_ends(text, STR("=")))
            text.len--;
        assert_str(base64_read(&arena, text), rows[i].bytes);
    }
}

static void test_base64__what_is_not(void **state UNUSED)
{
    static const char *const bad[] = {"Zm 9v", "Zg=a", "Zm9v\n", "-_-_", "Zm9v!"};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_true(str_is_null(base64_read(&arena, str_from(bad[i]))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base64__both_ways),
        cmocka_unit_test(test_base64__what_is_not),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
