/* tests/unit/feed/test_hook_settings.c - feed/text/hook_settings.h. */
#include "feed/text/hook_settings.h"

#include "base/base64.h"
#include "base/clock.h"
#include "tests/unit/cmocka_all.h"

#define NOW 1000000
#define GOOD "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

static struct arena arena = ARENA_INIT;

static int teardown(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

/* A secret of so many bytes. */
static struct str secret(size_t n, char c)
{
    char *key = arena_alloc(&arena, n + 1);

    memset(key, c, n);
    return str_concat(&arena, STR("whsec_"), base64_write(&arena, str_of(key, n)));
}

/* HOOK-02 */
static void test_hook_settings__secrets_are_24_to_64_bytes(void **state UNUSED)
{
    static const char *const bad[] = {"",
                                      "whsec_",
                                      "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                      "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
                                      "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS!",
                                      "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"};

    for (size_t n = 0; n <= 70; n++)
        assert_int_equal(n >= 24 && n <= 64, !str_is_null(hook_secret_key(&arena, secret(n, 'x'))));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_true(str_is_null(hook_secret_key(&arena, str_from(bad[i]))));
    assert_int_equal(24, hook_secret_key(&arena, STR(GOOD)).len);
    /* the same bytes, but not as Base64 is written: no padding, and bits that are lost */
    assert_true(
        str_is_null(hook_secret_key(&arena, STR("whsec_eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eA"))));
    assert_true(
        str_is_null(hook_secret_key(&arena, STR("whsec_eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eB=="))));
}

static void test_hook_settings__made_secrets_differ(void **state UNUSED)
{
    struct str a = hook_secret_make(&arena), b = hook_secret_make(&arena);

    assert_int_equal(32, hook_secret_key(&arena, a).len);
    assert_false(str_eq(a, b));
}

/* HOOK-05 */
static void test_hook_settings__both_sign_for_a_day(void **state UNUSED)
{
    struct hook_settings hs = {.n_secrets = 0};

    hook_secret_set(&hs, secret(24, 'a'), NOW);
    assert_int_equal(1, hook_secrets_at(&hs, NOW + INT64_C(10000000000)));
    hook_secret_set(&hs, secret(24, 'b'), NOW);
    assert_true(str_eq(hs.secrets[0].text, secret(24, 'b')));
    assert_true(str_eq(hs.secrets[1].text, secret(24, 'a')));
    assert_int_equal(2, hook_secrets_at(&hs, NOW));
    assert_int_equal(2, hook_secrets_at(&hs, NOW + 24 * 3600 - 1));
    assert_int_equal(1, hook_secrets_at(&hs, NOW + 24 * 3600));
}

static void test_hook_settings__each_replaced_secret_has_its_day(void **state UNUSED)
{
    struct hook_settings hs = {.n_secrets = 0};

    hook_secret_set(&hs, secret(24, 'a'), NOW);
    hook_secret_set(&hs, secret(24, 'b'), NOW);
    hook_secret_set(&hs, secret(24, 'c'), NOW + 3600);
    assert_int_equal(3, hook_secrets_at(&hs, NOW + 3600));
    assert_int_equal(2, hook_secrets_at(&hs, NOW + 24 * 3600));
    hook_secret_set(&hs, secret(24, 'd'), NOW + 24 * 3600);
    assert_int_equal(3, hs.n_secrets); /* the first one is forgotten */
    hook_secret_set(&hs, secret(24, 'd'), NOW + 24 * 3600);
    assert_int_equal(3, hs.n_secrets);
    hook_secret_set(&hs, secret(24, 'c'), NOW + 24 * 3600); /* back again */
    assert_int_equal(3, hs.n_secrets);
    assert_int_equal(TIME_UNKNOWN, hs.secrets[0].ends_at);
    for (char c = 'e'; c < 'z'; c++)
        hook_secret_set(&hs, secret(24, c), NOW + 24 * 3600);
    assert_int_equal(HOOK_SECRETS_MAX, hs.n_secrets);
    assert_true(str_eq(hs.secrets[0].text, secret(24, 'y')));
}

/* HOOK-07 */
static void test_hook_settings__names_that_are_taken(void **state UNUSED)
{
    static const char *const taken[] = {"Host",
                                        "host",
                                        "Connection",
                                        "Content-Type",
                                        "content-length",
                                        "CONTENT-X",
                                        "Transfer-Encoding",
                                        "TE",
                                        "te",
                                        "Upgrade",
                                        "Expect",
                                        "webhook-id",
                                        "Webhook-Other",
                                        "",
                                        "a b",
                                        "a:b",
                                        "a\r\nb",
                                        "\xc3\xa4",
                                        "Keep-Alive",
                                        "Trailer"};
    static const char *const open[] = {"Authorization", "X-Api-Key", "Hosts",
                                       "webhook",       "Test",      "x!#$%&'*+-.^_`|~9"};

    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        assert_non_null(hook_name_fault(str_from(taken[i])));
    assert_non_null(hook_name_fault(str_of("a\0b", 3)));
    for (size_t i = 0; i < ARRAY_LEN(open); i++)
        assert_null(hook_name_fault(str_from(open[i])));
}

/* HOOK-07 */
static void test_hook_settings__values(void **state UNUSED)
{
    static const char *const bad[] = {"a\rb", "a\nb", "a\x01", "\x7f", "\xff"};
    char *longest = arena_alloc(&arena, HOOK_VALUE_MAX + 1);

    memset(longest, 'x', HOOK_VALUE_MAX + 1);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_non_null(hook_value_fault(str_from(bad[i])));
    assert_non_null(hook_value_fault(str_of("a\0b", 3)));
    assert_null(hook_value_fault(STR("Bearer a=b \t\xc3\xa4")));
    assert_null(hook_value_fault(str_of(longest, HOOK_VALUE_MAX)));
    assert_non_null(hook_value_fault(str_of(longest, HOOK_VALUE_MAX + 1)));
}

static void test_hook_settings__eight_fields(void **state UNUSED)
{
    struct hook_settings hs = {.n_fields = 0};

    for (int i = 0; i < 8; i++)
        assert_true(hook_field_set(&hs, str_printf(&arena, "X-%d", i), STR("v")));
    assert_false(hook_field_set(&hs, STR("X-8"), STR("v")));
    assert_true(hook_field_set(&hs, STR("x-3"), STR("other")));
    assert_int_equal(8, hs.n_fields);
    assert_true(hook_field_set(&hs, STR("X-0"), STR("")));
    assert_true(hook_field_set(&hs, STR("not there"), STR("")));
    assert_int_equal(7, hs.n_fields);
    assert_str(hs.fields[0].name, "X-1");
    assert_str(hs.fields[2].value, "other");
    assert_true(hook_field_set(&hs, STR("X-8"), STR("v")));
}

static void test_hook_settings__stored_and_read(void **state UNUSED)
{
    struct hook_settings hs = {.n_secrets = 0}, got;

    hook_secret_set(&hs, secret(30, 'a'), NOW);
    hook_secret_set(&hs, secret(40, 'b'), NOW);
    assert_true(hook_field_set(&hs, STR("Authorization"), STR("Bearer \"\\</x>")));
    assert_int_equal(RC_OK,
                     hook_settings_read(&arena, hook_settings_write(&arena, &hs), &got, NULL));
    assert_int_equal(2, got.n_secrets);
    assert_true(str_eq(got.secrets[0].text, secret(40, 'b')));
    assert_int_equal(TIME_UNKNOWN, got.secrets[0].ends_at);
    assert_int_equal(NOW + HOOK_ROTATION_S, got.secrets[1].ends_at);
    assert_int_equal(1, got.n_fields);
    assert_str(got.fields[0].name, "Authorization");
    assert_str(got.fields[0].value, "Bearer \"\\</x>");
}

/* What cannot be read is told without showing it. */
static void test_hook_settings__damaged(void **state UNUSED)
{
    static const char *const bad[] = {"",
                                      "{",
                                      "[]",
                                      "{}",
                                      "{\"secrets\":[]}",
                                      "{\"secrets\":[{\"text\":\"whsec_short\"}]}",
                                      "{\"secrets\":[{\"text\":\"" GOOD
                                      "\"}],\"fields\":[{\"name\":\"a\",\"value\":\"b\\nc\"}]}"};
    struct hook_settings hs;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(RC_INPUT, hook_settings_read(&arena, str_from(bad[i]), &hs, &err));
        assert_null(strstr(err.text, "whsec"));
    }
    assert_int_equal(RC_INPUT, hook_settings_read(&arena, STR_NULL, &hs, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hook_settings__secrets_are_24_to_64_bytes),
        cmocka_unit_test(test_hook_settings__made_secrets_differ),
        cmocka_unit_test(test_hook_settings__both_sign_for_a_day),
        cmocka_unit_test(test_hook_settings__each_replaced_secret_has_its_day),
        cmocka_unit_test(test_hook_settings__names_that_are_taken),
        cmocka_unit_test(test_hook_settings__values),
        cmocka_unit_test(test_hook_settings__eight_fields),
        cmocka_unit_test(test_hook_settings__stored_and_read),
        cmocka_unit_test(test_hook_settings__damaged),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
