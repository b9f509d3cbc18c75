#include "../cmocka_all.h"

#include "api/http/auth.h"
#include "base/compiler.h"

static void test_auth__token(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    static const struct {
        const char *field;
        bool ok;
    } rows[] = {{"Bearer t0ken", true},
                {"bearer  t0ken ", true},
                {"Basic dXNlcjp0MGtlbg==", true},  /* user:t0ken */
                {"Basic OnQwa2Vu", true},          /* :t0ken */
                {"Basic dDBrZW46dXNlcg==", false}, /* t0ken:user */
                {"Basic dDBrZW4=", false},         /* t0ken */
                {"Basic !!!", false},
                {"Basic", false},
                {"Bearer", false},
                {"Bearer t0ke", false},
                {"Bearer t0kenx", false},
                {"Bearer T0KEN", false},
                {"Digest t0ken", false},
                {"t0ken", false},
                {"", false},
                {NULL, false}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (auth_same(auth_token(&a, str_from(rows[i].field)), STR("t0ken")) != rows[i].ok)
            fail_msg("%s", rows[i].field);
}

/* What a rebound name cannot look like. */
static void test_auth__host(void **state UNUSED)
{
    static const struct {
        const char *host;
        bool ours;
    } rows[] = {{NULL, true},
                {"", true},
                {"127.0.0.1", true},
                {"10.1.2.3:8080", true},
                {"[::1]", true},
                {"[2001:db8::1]:80", true},
                {"localhost", true},
                {"LOCALHOST:8080", true},
                {"x.localhost.", true},
                {"feeds.example", true},
                {"Feeds.Example:1", true},
                {"evil.example", false},
                {"feeds.example.evil.example", false},
                {"xfeeds.example", false},
                {"127.0.0.1.evil.example", false},
                {"127.1", false},
                {"0x7f000001", false},
                {"localhost.evil", false},
                {"evillocalhost", false},
                {"[evil]", false},
                {"[::1", false},
                {"::1", false},
                {":80", false},
                {".", false},
                {"127.0.0.1:80:x", false},
                {"127.0.0.1:x", false},
                {"[::1]x", false}};
    const struct str names[] = {STR("other"), STR("feeds.example")};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (auth_host_is_ours(str_from(rows[i].host), names, 2) != rows[i].ours)
            fail_msg("%s", rows[i].host);
}

static void test_auth__origin(void **state UNUSED)
{
    struct str host = STR("b:1"), none = STR_NULL, base = STR("https://B:1/feedmill/");

    assert_true(auth_origin_may_write(none, host, none, none));
    assert_true(auth_origin_may_write(STR("http://b:1"), host, none, none));
    assert_false(auth_origin_may_write(STR("http://e:1"), host, none, none));
    assert_false(auth_origin_may_write(STR("https://b:1"), host, none, none));
    assert_false(auth_origin_may_write(STR("ftp://b:1"), host, none, none));
    assert_false(auth_origin_may_write(STR("b:1"), host, none, none));
    assert_false(auth_origin_may_write(STR("null"), host, none, none));
    assert_true(auth_origin_may_write(STR("http://p"), host, none, STR("http://p")));
    assert_false(auth_origin_may_write(STR("http://e"), host, none, STR("*")));
    /* the scheme of --base-url is ours where it names this host, and its origin is always ours */
    assert_true(auth_origin_may_write(STR("https://b:1"), host, base, none));
    assert_false(auth_origin_may_write(STR("http://b:1"), host, base, none));
    assert_true(auth_origin_may_write(STR("https://b:1"), STR("127.0.0.1:8080"), base, none));
    assert_true(
        auth_origin_may_write(STR("http://127.0.0.1:8080"), STR("127.0.0.1:8080"), base, none));
    assert_false(auth_origin_may_write(STR("https://b:11"), host, base, none));
}

static void test_auth__foreign_pages(void **state UNUSED)
{
    struct str cross = STR("cross-site"), page = STR("http://p"), none = STR_NULL;

    assert_false(auth_is_foreign(none, none, none, none));
    assert_false(auth_is_foreign(STR("none"), none, none, none));
    assert_true(auth_is_foreign(cross, none, none, none));
    assert_true(auth_is_foreign(cross, page, none, none));
    assert_false(auth_is_foreign(cross, page, none, STR("*")));
    assert_false(auth_is_foreign(cross, page, none, page));
    assert_false(auth_is_foreign(cross, none, STR("http://p/x"), page));
    assert_true(auth_is_foreign(cross, none, STR("http://p.evil/x"), page));
    assert_true(auth_is_foreign(cross, STR("http://e"), STR("http://p/x"), page));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_auth__token),
        cmocka_unit_test(test_auth__host),
        cmocka_unit_test(test_auth__origin),
        cmocka_unit_test(test_auth__foreign_pages),
    };

    return cmocka_run_group_tests_name("auth", tests, NULL, NULL);
}
