
#include "base/compiler.h"
#include "feed/text/uri.h"
#include "tests/unit/cmocka_all.h"

static void check(const char *base, const char *ref, const char *want)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str got = uri_resolve(&a, str_from(base), str_from(ref));

    if (!str_eqz(got, want))
        fail_msg("%s against %s gave %.*s", ref, base, STR_ARG(got));
}

/* The examples of RFC 3986, section 5.4. */
static void test_uri__rfc3986_examples(void **state UNUSED)
{
    static const char *const rows[][2] = {
        {"g:h", "g:h"},
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q#s"},
        {"g#s", "http://a/b/c/g#s"},
        {";x", "http://a/b/c/;x"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../g", "http://a/g"},
        {"../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {"..g", "http://a/b/c/..g"},
        {"./../g", "http://a/b/g"},
        {"g/./h", "http://a/b/c/g/h"},
        {"g/../h", "http://a/b/c/h"},
        {"g?y/../x", "http://a/b/c/g?y/../x"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check("http://a/b/c/d;p?q", rows[i][0], rows[i][1]);
}

static void test_uri__base_without_path_or_hierarchy(void **state UNUSED)
{
    check("http://e.org", "x", "http://e.org/x");
    check("urn:isbn:1", "x", "x");
    check("", "x", "x");
    check("relative/base", "x", "x");
}

static void test_uri__slash_too_many(void **state UNUSED)
{
    check("http://a/", "http:///e.org/x", "http://e.org/x");
    check("http:////e.org/d/", "x", "http://e.org/d/x");
    check("http://a/", "///e.org/x", "http://e.org/x"); /* as browsers take it */
    check("https://a/", "////", "https://");
}

static void test_uri__absolute(void **state UNUSED)
{
    assert_true(uri_is_absolute(STR(" tag:e.org,2004:1")));
    assert_false(uri_is_absolute(STR("/a:b")));
    assert_false(uri_is_absolute(STR("1a:b")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uri__rfc3986_examples),
        cmocka_unit_test(test_uri__base_without_path_or_hierarchy),
        cmocka_unit_test(test_uri__slash_too_many),
        cmocka_unit_test(test_uri__absolute),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
