#include "../cmocka_all.h"

#include "api/http/problem.h"
#include "feed/text/json.h"

static struct arena arena;

static struct value *written(const struct problem *p)
{
    struct buf *out = ARENA_NEW(&arena, struct buf);
    struct value *v;
    struct err err = ERR_INIT;

    *out = (struct buf)BUF_INIT(BUF_ANY);
    problem_write(out, p);
    if (json_read(&arena, buf_view(out), &v, &err) != RC_OK)
        fail_msg("%s in %s", err.text, out->ptr);
    buf_release(out);
    return v;
}

/* ERR-01 */
static void test_problem__members(void **state UNUSED)
{
    struct problem p;
    struct value *v;

    assert_false(
        problem_parameter(&p, &arena, "type", STR("ya\"ml\x01"), "rss|atom", "No type %d.", 7));
    v = written(&p);
    assert_str(value_get_textz(v, "type"), "urn:feedmill:problem:bad-parameter");
    assert_int_equal(400, value_get_int(v, STR("status"), 0));
    assert_true(str_starts(value_get_textz(v, "detail"), STR("No type 7. Given was \"ya\"ml")));
    assert_str(value_get_textz(v, "parameter"), "type");
    assert_true(str_starts(value_get_textz(v, "value"), STR("ya\"ml")));
    assert_int_equal(2, value_len(value_getz(v, "allowed")));
    assert_str(value_at(value_getz(v, "allowed"), 1)->s, "atom");
    assert_null(value_getz(v, "upstream"));
}

/* ERR-03 */
static void test_problem__upstream(void **state UNUSED)
{
    struct problem p;
    struct value *v;

    problem_set(&p, &arena, PROBLEM_UPSTREAM_FAILED, "It failed.");
    p.upstream = STR("http://p.test/");
    p.upstream_status = 404;
    v = written(&p);
    assert_int_equal(502, value_get_int(v, STR("status"), 0));
    assert_int_equal(404, value_get_int(v, STR("upstream-status"), 0));
    assert_str(value_get_textz(v, "upstream"), "http://p.test/");
}

/* ERR-02 */
static void test_problem__never_a_password(void **state UNUSED)
{
    struct problem p;
    struct value *v;

    problem_parameter(&p, &arena, "url", STR("ftp://me:sEcReT@h/x"), NULL, "Wrong.");
    v = written(&p);
    assert_true(str_find(value_get_textz(v, "value"), STR("sEcReT")) < 0);
}

static void test_problem__inner_causes_are_not_told(void **state UNUSED)
{
    static const enum rc inner[] = {RC_IO, RC_INTERNAL, RC_DENIED};
    struct err err = {.rc = RC_IO, .text = "/var/lib/feedmill/f.db: disk full"};
    struct problem p;

    for (size_t i = 0; i < ARRAY_LEN(inner); i++) {
        problem_of_err(&p, &arena, inner[i], &err);
        assert_int_equal(500, problem_status(&p));
        assert_true(str_find(p.detail, STR("f.db")) < 0);
    }
    problem_of_err(&p, &arena, RC_FULL, &err);
    assert_int_equal(503, problem_status(&p));
    assert_true(p.retry_after_s > 0);
}

static void test_problem__long_and_broken_values(void **state UNUSED)
{
    char value[5000];
    struct problem p;

    memset(value, 'x', sizeof(value));
    memcpy(value + 100, "\xff\xfe", 2);
    problem_parameter(&p, &arena, "len", str_of(value, sizeof(value)), NULL, "Wrong: %.*s",
                      (int)sizeof(value), value);
    assert_true(p.value.len <= 200);
    assert_int_equal(p.detail.len, str_utf8_valid(p.detail));
    written(&p);
}

/* ERR-04: clients compare them */
static void test_problem__types_are_stable(void **state UNUSED)
{
    assert_string_equal("no-feed", problem_name(PROBLEM_NO_FEED));
    assert_string_equal("upstream-failed", problem_name(PROBLEM_UPSTREAM_FAILED));
    assert_string_equal("upstream-timeout", problem_name(PROBLEM_UPSTREAM_TIMEOUT));
    assert_string_equal("bad-parameter", problem_name(PROBLEM_BAD_PARAMETER));
    assert_string_equal("bad-position-spec", problem_name(PROBLEM_BAD_POSITION));
    assert_string_equal("not-found", problem_name(PROBLEM_NOT_FOUND));
    assert_string_equal("not-acceptable", problem_name(PROBLEM_NOT_ACCEPTABLE));
}

static int release(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_problem__members),
        cmocka_unit_test(test_problem__upstream),
        cmocka_unit_test(test_problem__never_a_password),
        cmocka_unit_test(test_problem__inner_causes_are_not_told),
        cmocka_unit_test(test_problem__long_and_broken_values),
        cmocka_unit_test(test_problem__types_are_stable),
    };

    return cmocka_run_group_tests_name("problem", tests, NULL, release);
}
