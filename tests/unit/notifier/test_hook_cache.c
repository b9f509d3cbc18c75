/* tests/unit/notifier/test_hook_cache.c - settings of webhooks are read once, until they change. */
#include "notifier/hook_cache.h"

#include "base/clock.h"
#include "tests/unit/cmocka_all.h"

static struct arena arena = ARENA_INIT;

static int teardown(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

/* Settings with this secret and a field. */
static struct str settings(const char *secret, const char *value)
{
    struct hook_settings hs = {.n_secrets = 0};

    hook_secret_set(&hs, STR("whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB"), clock_now_s());
    hook_secret_set(&hs, str_from(secret), clock_now_s());
    assert_true(hook_field_set(&hs, STR("X-Key"), str_from(value)));
    return hook_settings_write(&arena, &hs);
}

/* What the cache gives is what is read without it, each time. */
static void check(struct hook_cache *c, int64_t sub_id, struct str json)
{
    struct hook_settings read, given;

    assert_int_equal(hook_settings_read(&arena, json, &read, NULL), RC_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hook_cache_read(c, sub_id, &arena, json, &given, NULL), RC_OK);
        assert_int_equal(given.n_secrets, read.n_secrets);
        assert_int_equal(given.n_fields, read.n_fields);
        for (size_t k = 0; k < read.n_secrets; k++) {
            assert_true(str_eq(given.secrets[k].text, read.secrets[k].text));
            assert_true(str_eq(given.secrets[k].key, read.secrets[k].key));
            assert_true(given.secrets[k].ends_at == read.secrets[k].ends_at);
        }
        for (size_t k = 0; k < read.n_fields; k++) {
            assert_true(str_eq(given.fields[k].name, read.fields[k].name));
            assert_true(str_eq(given.fields[k].value, read.fields[k].value));
        }
    }
}

static void gives_what_is_stored(void **state UNUSED)
{
    struct hook_cache *c = hook_cache_new();
    struct str one = settings("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "a");
    struct str two = settings("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "b");

    check(c, 1, one);
    check(c, 1, two); /* it was changed */
    check(c, 2, one);
    for (int64_t id = 1; id < 1 << 20; id *= 2) /* others, some in the same slot */
        check(c, id, id % 3 == 0 ? one : two);
    check(c, 1, one);
    check(NULL, 1, one);
    hook_cache_free(&c);
    assert_null(c);
    hook_cache_free(&c);
}

static void what_cannot_be_read(void **state UNUSED)
{
    struct hook_cache *c = hook_cache_new();
    struct hook_settings hs;
    struct err err = ERR_INIT;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(hook_cache_read(c, 1, &arena, STR("{"), &hs, &err), RC_INPUT);
        assert_int_equal(hook_cache_read(c, 1, &arena, STR_NULL, &hs, &err), RC_INPUT);
    }
    check(c, 1, settings("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "a"));
    hook_cache_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(gives_what_is_stored, teardown),
        cmocka_unit_test_teardown(what_cannot_be_read, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
