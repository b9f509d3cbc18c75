#include "../cmocka_all.h"

#include "api/auth.h"
#include "base/compiler.h"

static void test_auth__token(void **state)
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

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (auth_has_token(&a, str_from(rows[i].field), STR("t0ken")) != rows[i].ok)
            fail_msg("%s", rows[i].field);
}

/* What a rebound name cannot look like. */
static void test_auth__host(void **state)
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
                {".", false}};
    const struct str names[] = {STR("other"), STR("feeds.example")};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (auth_host_is_ours(str_from(rows[i].host), names, 2) != rows[i].ours)
            fail_msg("%s", rows[i].host);
}

static void test_auth__origin(void **state)
{
    (void)state;
    assert_true(auth_origin_may_write(STR_NULL, STR("b:1"), STR_NULL));
    assert_true(auth_origin_may_write(STR("http://b:1"), STR("b:1"), STR_NULL));
    assert_false(auth_origin_may_write(STR("http://e:1"), STR("b:1"), STR_NULL));
    assert_false(auth_origin_may_write(STR("null"), STR("b:1"), STR_NULL));
    assert_true(auth_origin_may_write(STR("http://p"), STR("b:1"), STR("http://p")));
    assert_false(auth_origin_may_write(STR("http://e"), STR("b:1"), STR("*")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_auth__token),
        cmocka_unit_test(test_auth__host),
        cmocka_unit_test(test_auth__origin),
    };

    return cmocka_run_group_tests_name("auth", tests, NULL, NULL);
}
