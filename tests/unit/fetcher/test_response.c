/* tests/unit/fetcher/test_response.c - what an answer to a poll means. */
#include "tests/unit/cmocka_all.h"

#include "base/clock.h"
#include "fetcher/response.h"

#define NOW 1700000000

struct field_row {
    const char *name, *value;
};

/* Judge an answer with these fields. */
static struct response judge(struct arena *a, int status, bool conditional,
                             const struct field_row *fields, size_t n)
{
    struct http_answer answer = {.arena = a, .status = status, .body = STR("")};
    struct http_field *copy = ARENA_ARRAY(a, struct http_field, n + 1);

    for (size_t i = 0; i < n; i++)
        copy[i] = (struct http_field){str_from(fields[i].name), str_from(fields[i].value)};
    answer.fields = copy;
    answer.n_fields = n;
    return response_judge(a, RC_OK, &answer, NULL, conditional, NOW);
}

/* SCHED-11, SCHED-14, SCHED-17. */
static void test_response__kinds_by_status(void **state UNUSED)
{
    static const struct {
        int status;
        bool conditional;
        struct field_row field;
        enum response_kind kind;
        enum rc rc;
    } rows[] = {
        {200, false, {"x", ""}, RESPONSE_DOCUMENT, RC_OK},
        {203, true, {"x", ""}, RESPONSE_DOCUMENT, RC_OK},
        {226, true, {"im", "feed"}, RESPONSE_DOCUMENT, RC_OK},
        {226, true, {"im", "vcdiff"}, RESPONSE_ERROR, RC_PEER},
        {226, false, {"im", "feed"}, RESPONSE_ERROR, RC_PEER},
        {304, true, {"x", ""}, RESPONSE_NOT_MODIFIED, RC_OK},
        {304, false, {"x", ""}, RESPONSE_ERROR, RC_PEER},
        {204, false, {"x", ""}, RESPONSE_ERROR, RC_PEER},
        {206, false, {"x", ""}, RESPONSE_ERROR, RC_PEER},
        {302, false, {"x", ""}, RESPONSE_ERROR, RC_PEER},
        {401, false, {"x", ""}, RESPONSE_ERROR, RC_PEER},
        {404, false, {"x", ""}, RESPONSE_MISSING, RC_PEER},
        {410, false, {"x", ""}, RESPONSE_GONE, RC_PEER},
        {429, false, {"x", ""}, RESPONSE_LIMITED, RC_PEER},
        {503, false, {"retry-after", "7"}, RESPONSE_LIMITED, RC_PEER},
        {503, false, {"retry-after", "soon"}, RESPONSE_ERROR, RC_PEER},
        {503, false, {"x", ""}, RESPONSE_ERROR, RC_PEER},
        {599, false, {"x", ""}, RESPONSE_ERROR, RC_PEER},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct response r = judge(&a, rows[i].status, rows[i].conditional, &rows[i].field, 1);

        assert_int_equal(r.kind, rows[i].kind);
        assert_int_equal(r.rc, rows[i].rc);
        assert_int_equal(r.partial, r.kind == RESPONSE_DOCUMENT && rows[i].status == 226);
        assert_int_equal(str_is_null(r.text), r.rc == RC_OK);
    }
}

/* SCHED-16: how long the answer says it is fresh. */
static void test_response__freshness(void **state UNUSED)
{
    static const struct {
        struct field_row fields[3];
        int64_t max_age_s;
    } rows[] = {
        {{{"x", ""}}, -1},
        {{{"cache-control", "max-age=600"}}, 600},
        {{{"cache-control", "max-age=600"}, {"age", "100"}}, 500},
        {{{"cache-control", "max-age=600"}, {"age", "700"}}, 0},
        {{{"cache-control", "no-cache, max-age=600"}}, 0},
        {{{"cache-control", "no-store"}}, 0},
        {{{"cache-control", "public"}, {"x", ""}, {"cache-control", "max-age=600"}}, 600},
        {{{"cache-control", "max-age=600"}, {"cache-control", "max-age=60"}}, 600},
        {{{"cache-control", "max-age=600"}, {"cache-control", "no-cache"}}, 0},
        {{{"expires", "Sun, 06 Nov 1994 09:49:37 GMT"}, {"date", "Sun, 06 Nov 1994 08:49:37 GMT"}},
         3600},
        {{{"expires", "0"}}, 0},
        {{{"expires", "Sun, 06 Nov 1994 08:49:37 GMT"}}, 0},
        {{{"cache-control", "max-age=5"}, {"expires", "Sun, 06 Nov 2094 08:49:37 GMT"}}, 5},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        size_t n = 0;

        while (n < 3 && rows[i].fields[n].name != NULL)
            n++;
        assert_int_equal(judge(&a, 200, false, rows[i].fields, n).max_age_s, rows[i].max_age_s);
    }
}

/* SCHED-11, D44: validators come back as they were, weak or odd. */
static void test_response__validators_verbatim(void **state UNUSED)
{
    static const struct field_row fields[] = {{"etag", "W/\"x y\""},
                                              {"last-modified", "yesterday"}};
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct response r = judge(&a, 200, false, fields, 2);

    assert_str(r.etag, "W/\"x y\"");
    assert_str(r.last_modified, "yesterday");
    r = judge(&a, 304, true, fields, 1);
    assert_str(r.etag, "W/\"x y\"");
    assert_true(str_is_null(r.last_modified));
}

/* DISC-08: only a way of permanent hops moves a feed. */
/* an empty field has no value */
static void test_response__an_empty_validator_is_none(void **state UNUSED)
{
    static const struct field_row fields[] = {{"etag", ""}, {"last-modified", " "}};
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct response r = judge(&a, 200, false, fields, ARRAY_LEN(fields));

    assert_true(str_is_null(r.etag));
    assert_true(str_is_null(r.last_modified));
}

static void test_response__moved_needs_permanent_hops(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct http_answer answer = {.arena = &a, .status = 200, .body = STR("")};

    answer.all_permanent = true;
    assert_false(response_judge(&a, RC_OK, &answer, NULL, false, NOW).moved);
    answer.n_redirects = 2;
    assert_true(response_judge(&a, RC_OK, &answer, NULL, false, NOW).moved);
    answer.all_permanent = false;
    assert_false(response_judge(&a, RC_OK, &answer, NULL, false, NOW).moved);
}

/* What never answered may be our own line; a guard's refusal or a limit is not. */
static void test_response__unreached(void **state UNUSED)
{
    static const struct {
        enum rc rc;
        int status;
        bool unreached;
    } rows[] = {{RC_PEER, 0, true},
                {RC_TIMEOUT, 0, true},
                {RC_PEER, 200, false},
                {RC_DENIED, 0, false},
                {RC_LIMIT, 200, false}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct http_answer answer = {.arena = &a, .status = rows[i].status, .body = STR("")};
        struct err err = ERR_INIT;
        struct response r;

        err_set(&err, rows[i].rc, "it broke");
        r = response_judge(&a, rows[i].rc, &answer, &err, false, NOW);
        assert_int_equal(r.kind, RESPONSE_BROKEN);
        assert_int_equal(r.rc, rows[i].rc);
        assert_int_equal(r.unreached, rows[i].unreached);
        assert_str(r.text, "it broke");
    }
}

/* ETIQ-07: pages that want a browser are named, so that the operator knows whom to ask. */
static void test_response__challenges_are_named(void **state UNUSED)
{
    static const struct {
        int status;
        struct field_row field;
        enum response_kind kind;
        bool is_named;
    } rows[] = {
        {403, {"content-type", "text/html; charset=UTF-8"}, RESPONSE_ERROR, true},
        {503, {"content-type", "Text/HTML"}, RESPONSE_ERROR, true},
        {503, {"content-type", "application/xhtml+xml"}, RESPONSE_ERROR, true},
        {403, {"cf-mitigated", "challenge"}, RESPONSE_ERROR, true},
        {429, {"cf-mitigated", "challenge"}, RESPONSE_LIMITED, true},
        {200, {"cf-mitigated", "challenge"}, RESPONSE_ERROR, true},
        {403, {"content-type", "text/plain"}, RESPONSE_ERROR, false},
        {403, {"x", ""}, RESPONSE_ERROR, false},
        {404, {"content-type", "text/html"}, RESPONSE_MISSING, false},
        {500, {"content-type", "text/html"}, RESPONSE_ERROR, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct response r = judge(&a, rows[i].status, false, &rows[i].field, 1);

        assert_int_equal(r.kind, rows[i].kind);
        assert_int_equal(rows[i].is_named, strstr(str_z(&a, r.text), "challenge") != NULL);
        assert_non_null(strstr(str_z(&a, r.text), str_z(&a, str_printf(&a, "%d", r.status))));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_response__an_empty_validator_is_none),
        cmocka_unit_test(test_response__kinds_by_status),
        cmocka_unit_test(test_response__freshness),
        cmocka_unit_test(test_response__challenges_are_named),
        cmocka_unit_test(test_response__validators_verbatim),
        cmocka_unit_test(test_response__moved_needs_permanent_hops),
        cmocka_unit_test(test_response__unreached),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
