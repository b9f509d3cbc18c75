/* tests/unit/api/test_sub_sink.c - api/lists/sub_sink.h. */
#include "../cmocka_all.h"

#include "api/lists/sub_sink.h"
#include "base/clock.h"
#include "feed/text/hook_settings.h"

#define ONE "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define TWO "whsec_AfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

static struct arena arena = ARENA_INIT;
static struct problem problem;

static int teardown(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

static struct params parse(const char *query)
{
    static const enum param_id listed[] = {PARAM_sink, PARAM_secret, PARAM_header, PARAM_NONE};
    struct params ps = {.listed = listed};

    assert_true(params_add(&ps, &arena, str_from(query), &problem));
    return ps;
}

static bool read(const char *query, struct sub_sink *out)
{
    struct params ps = parse(query);

    return sub_sink_read(&ps, &arena, STR("http://e.test/"), out, &problem);
}

static bool change(const char *query, struct str stored, struct str *out)
{
    struct params ps = parse(query);

    return sub_sink_change(&ps, &arena, STR("webhook"), stored, out, &problem);
}

static struct hook_settings settings(struct str json)
{
    struct hook_settings hs;

    assert_int_equal(RC_OK, hook_settings_read(&arena, json, &hs, NULL));
    return hs;
}

static void test_sub_sink__a_new_one(void **state UNUSED)
{
    struct sub_sink s;
    struct hook_settings hs;

    assert_true(read("", &s));
    assert_str(s.name, "xmlrpc");
    assert_true(str_is_null(s.settings) && str_is_null(s.secret));
    assert_true(read("sink=webhook&secret=" ONE "&header.X-A=1&header.x-b=%202%20", &s));
    assert_str(s.name, "webhook");
    assert_str(s.secret, ONE);
    hs = settings(s.settings);
    assert_int_equal(1, hs.n_secrets);
    assert_int_equal(2, hs.n_fields);
    assert_str(hs.fields[1].name, "x-b");
    assert_str(hs.fields[1].value, "2");
}

/* HOOK-02: a `+` that was not percent-encoded arrives as a space. */
static void test_sub_sink__a_plus_in_the_secret(void **state UNUSED)
{
    struct sub_sink s;

    assert_true(read("sink=webhook&secret=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2La+aSw", &s));
    assert_str(s.secret, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2La+aSw");
}

/* HOOK-05 */
static void test_sub_sink__a_change_of_the_secret(void **state UNUSED)
{
    struct sub_sink s;
    struct str json;
    struct hook_settings hs;
    int64_t now = clock_now_s();

    assert_true(read("sink=webhook&header.X-A=1&secret=" ONE, &s));
    assert_true(change("title=other&header.X-A=1&sink=webhook&secret=" TWO, s.settings, &json));
    hs = settings(json);
    assert_int_equal(2, hs.n_secrets);
    assert_str(hs.secrets[0].text, TWO);
    assert_str(hs.secrets[1].text, ONE);
    assert_true(hs.secrets[1].ends_at >= now + HOOK_ROTATION_S &&
                hs.secrets[1].ends_at <= now + HOOK_ROTATION_S + 600);
    assert_int_equal(1, hs.n_fields);
}

/* HOOK-07 */
static void test_sub_sink__a_change_of_fields(void **state UNUSED)
{
    struct sub_sink s;
    struct str json;
    struct hook_settings hs;

    assert_true(read("sink=webhook&header.X-A=1&header.X-B=2&secret=" ONE, &s));
    assert_true(change("header.x-a=3&header.X-B=&header.X-C=4", s.settings, &json));
    hs = settings(json);
    assert_int_equal(1, hs.n_secrets);
    assert_int_equal(2, hs.n_fields);
    assert_str(hs.fields[0].value, "3");
    assert_str(hs.fields[1].name, "X-C");
}

static void test_sub_sink__nothing_to_change(void **state UNUSED)
{
    struct sub_sink s;
    struct str json;
    struct params ps = parse("title=other&secret=");

    assert_true(read("sink=webhook", &s));
    assert_true(change("title=other&secret=", s.settings, &json));
    assert_true(str_is_null(json));
    assert_true(sub_sink_change(&ps, &arena, STR("xmlrpc"), STR_NULL, &json, &problem));
    assert_true(str_is_null(json));
    assert_true(sub_sink_change(&ps, &arena, STR_NULL, STR_NULL, &json, &problem));
    assert_true(str_is_null(json));
}

static void test_sub_sink__changes_that_are_refused(void **state UNUSED)
{
    static const char *const bad[] = {"sink=xmlrpc",
                                      "sink=other",
                                      "secret=hush",
                                      "header.Host=hush",
                                      "header.X=hush%0d%0aY:",
                                      "header.X=hush&header.x=hush2",
                                      "secret=" ONE "&secret=" TWO};
    struct sub_sink s;
    struct str json;
    struct params ps = parse("secret=" ONE);

    assert_true(read("sink=webhook", &s));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(change(bad[i], s.settings, &json));
        assert_int_equal(PROBLEM_BAD_PARAMETER, problem.kind);
        assert_int_equal(-1, str_find(problem.detail, STR("hush")));
        assert_int_equal(-1, str_find(problem.detail, STR("whsec_M")));
    }
    assert_false(sub_sink_change(&ps, &arena, STR("xmlrpc"), STR_NULL, &json, &problem));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sub_sink__a_new_one),
        cmocka_unit_test(test_sub_sink__a_plus_in_the_secret),
        cmocka_unit_test(test_sub_sink__a_change_of_the_secret),
        cmocka_unit_test(test_sub_sink__a_change_of_fields),
        cmocka_unit_test(test_sub_sink__nothing_to_change),
        cmocka_unit_test(test_sub_sink__changes_that_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
