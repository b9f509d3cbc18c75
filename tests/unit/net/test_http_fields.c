/* The grammar of HTTP fields. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/http_fields.h"
#include "tests/unit/cmocka_all.h"

/* A copy without anything behind it, so that reading too far is seen by the sanitizer. */
static char *tight(const char *z)
{
    size_t n = strlen(z);
    char *p = malloc(n ? n : 1);

    if (p == NULL)
        abort();
    memcpy(p, z, n);
    return p;
}

/* HTTP-05 */
static void test_http_fields__date_in_three_forms(void **state UNUSED)
{
    static const struct {
        const char *text;
        int64_t at;
    } rows[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT", 784111777},
        {" Sun, 06 Nov 1994 08:49:37 GMT ", 784111777},
        {"Sunday, 06-Nov-94 08:49:37 GMT", 784111777},
        {"Sun Nov  6 08:49:37 1994", 784111777},
        {"Wed Nov 16 08:49:37 1994", 784975777},
        {"sun, 06 nov 1994 08:49:37 gmt", 784111777},
        {"Thu, 29 Feb 2024 23:59:60 GMT", 1709251200},
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"Saturday, 01-Jan-00 00:00:00 GMT", 946684800},
        {"Thu, 30 Feb 2024 00:00:00 GMT", TIME_UNKNOWN},
        {"Thu, 00 Jan 2024 00:00:00 GMT", TIME_UNKNOWN},
        {"Thu, 29 Feb 2023 00:00:00 GMT", TIME_UNKNOWN},
        {"Sun, 06 Nov 1994 24:49:37 GMT", TIME_UNKNOWN},
        {"Sun, 06 Nov 1994 08:60:37 GMT", TIME_UNKNOWN},
        {"Sun, 06 Nov 1994 08:49:61 GMT", TIME_UNKNOWN},
        {"Sun, 06 Nov 1994 08:49:37", TIME_UNKNOWN},
        {"Sun, 06 Nov 1994 08:49:37 CET", TIME_UNKNOWN},
        {"Sun, 06 Nov 94 08:49:37 GMT", TIME_UNKNOWN},
        {"Sun, 06 Nov 1994", TIME_UNKNOWN},
        {"06 Nov 1994 08:49:37 GMT", TIME_UNKNOWN},
        {"Sun Nov  6 08:49:37 1994 GMT", TIME_UNKNOWN},
        {"yesterday", TIME_UNKNOWN},
        {"Sun", TIME_UNKNOWN},
        {"", TIME_UNKNOWN},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *p = tight(rows[i].text);
        int64_t at = http_date(str_of(p, strlen(rows[i].text)));
        if (at != rows[i].at)
            fail_msg("%s: %lld", rows[i].text, (long long)at);
        free(p);
    }
    assert_int_equal(http_date(STR_NULL), TIME_UNKNOWN);
}

static void test_http_fields__two_digit_years_are_near(void **state UNUSED)
{
    clock_fake_us(INT64_C(1893456000) * 1000000); /* 2030 */
    assert_int_equal(http_date(STR("Wednesday, 01-Jan-80 00:00:00 GMT")), INT64_C(3471292800));
    assert_int_equal(http_date(STR("Thursday, 01-Jan-81 00:00:00 GMT")), 347155200); /* 1981 */
    clock_fake_us(0);
}

static void test_http_fields__a_written_date_reads_back(void **state UNUSED)
{
    char text[CLOCK_TEXT];

    for (int64_t at = 0; at < INT64_C(4000000000); at += 12345677) {
        clock_http_date(at, text);
        assert_int_equal(http_date(str_from(text)), at);
    }
}

static void test_http_fields__retry_after(void **state UNUSED)
{
    assert_int_equal(http_retry_after_s(STR("120"), 0), 120);
    assert_int_equal(http_retry_after_s(STR(" 0 "), 0), 0);
    assert_int_equal(http_retry_after_s(STR("Sun, 06 Nov 1994 08:49:37 GMT"), 784111700), 77);
    assert_int_equal(http_retry_after_s(STR("Sun, 06 Nov 1994 08:49:37 GMT"), 784111800), 0);
    assert_int_equal(http_retry_after_s(STR("99999999999999999999"), 0), INT64_C(1) << 31);
    assert_int_equal(http_retry_after_s(STR("-1"), 0), -1);
    assert_int_equal(http_retry_after_s(STR("1.5"), 0), -1);
    assert_int_equal(http_retry_after_s(STR("soon"), 0), -1);
    assert_int_equal(http_retry_after_s(STR(""), 0), -1);
    assert_int_equal(http_retry_after_s(STR_NULL, 0), -1);
}

static void test_http_fields__cache_control(void **state UNUSED)
{
    static const struct {
        const char *text;
        struct cache_control cc;
    } rows[] = {
        {"", {-1, false, false}},
        {"max-age=60", {60, false, false}},
        {"public, Max-Age=\"60\" , s-maxage=9", {60, false, false}},
        {"max-age=60, max-age=30", {30, false, false}},
        {"no-cache", {-1, true, false}},
        {"no-cache=\"Set-Cookie, max-age=5\", no-store", {-1, true, true}},
        {"private=\"no-store\"", {-1, false, false}},
        {"max-age=soon", {0, false, false}},
        {"max-age", {0, false, false}},
        {"max-age=99999999999", {INT64_C(1) << 31, false, false}},
        {",,max-age=1,", {1, false, false}},
        {"ext=\"unclosed, no-store", {-1, false, false}},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *p = tight(rows[i].text);
        struct cache_control cc = http_cache_control(str_of(p, strlen(rows[i].text)));
        if (cc.max_age_s != rows[i].cc.max_age_s || cc.no_cache != rows[i].cc.no_cache ||
            cc.no_store != rows[i].cc.no_store)
            fail_msg("%s: %lld %d %d", rows[i].text, (long long)cc.max_age_s, cc.no_cache,
                     cc.no_store);
        free(p);
    }
}

/* HTTP-03 */
static void test_http_fields__etags_match_weakly_and_in_lists(void **state UNUSED)
{
    static const struct {
        const char *field, *etag;
        bool matches;
    } rows[] = {
        {"\"a\"", "\"a\"", true},
        {"W/\"a\"", "\"a\"", true},
        {"\"a\"", "W/\"a\"", true},
        {"\"x\", \"a\"", "\"a\"", true},
        {"\"x\",W/\"a\" , ", "\"a\"", true},
        {"*", "\"a\"", true},
        {" * ", "\"a\"", true},
        {"\"b\"", "\"a\"", false},
        {"a", "\"a\"", false},
        {"\"A\"", "\"a\"", false},
        {"w/\"a\"", "\"a\"", false},
        {"\"x,\\\"a\\\"\"", "\"a\"", false},
        {"\"a, b\"", "\"a, b\"", true},
        {"\"\"", "\"\"", true},
        {"", "\"a\"", false},
        {"\"a", "\"a\"", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *p = tight(rows[i].field);
        if (http_etag_matches(str_of(p, strlen(rows[i].field)), str_from(rows[i].etag)) !=
            rows[i].matches)
            fail_msg("%s against %s", rows[i].field, rows[i].etag);
        free(p);
    }
    assert_false(http_etag_matches(STR_NULL, STR("\"a\"")));
    assert_false(http_etag_matches(STR("*"), STR_NULL)); /* there is nothing to match */
}

static void test_http_fields__tags_of_a_list(void **state UNUSED)
{
    struct str list = STR("x, \"a\" ,W/\"b-gz\",\"\", *, \"c,d\", \"e"), tag;
    static const char *const wanted[] = {"a", "b-gz", "", "c,d"};

    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        assert_true(http_etag_next(&list, &tag));
        assert_true(str_eqz(tag, wanted[i]));
    }
    assert_false(http_etag_next(&list, &tag));
    list = STR_NULL;
    assert_false(http_etag_next(&list, &tag));
}

/* NEG-01, NEG-02 */
static void test_http_fields__accept_takes_the_most_specific_range(void **state UNUSED)
{
    static const struct {
        const char *accept, *type;
        int q;
    } rows[] = {
        {"", "application/json", 1000},
        {" ,", "application/json", 1000},
        {"*/*", "application/json", 1000},
        {"*", "application/json", 1000},
        {"application/json", "application/json", 1000},
        {"Application/JSON;Q=0.5", "application/json", 500},
        {"application/json ; q=0.123", "application/json", 123},
        {"image/png", "application/json", 0},
        {"application/*;q=0.2, */*;q=0.1", "application/json", 200},
        {"application/*;q=0.2, */*;q=0.1", "text/html", 100},
        {"*/*, application/json;q=0", "application/json", 0},
        {"application/atom+xml;q=0.5,application/*", "application/atom+xml", 500},
        {"app/*", "application/json", 0},
        {"application/json;charset=utf-8", "application/json", 1000},
        {"application/atom+xml;type=feed;q=0.5, */*;q=0.1", "application/atom+xml", 500},
        {"application/json;charset=utf-8;q=0.3,*/*;q=0.1", "application/json;charset=UTF-8", 300},
        {"application/json;x=\"a,b;q=0\";q=0.7", "application/json; x=\"a,b;q=0\"", 700},
        {"text/html;level=1;q=0.2, text/html;q=0.9", "text/html;level=1", 200},
        {"text/html;q=0.2, text/html;q=0.9", "text/html", 900},
        {"text/html;q=1.001", "text/html", 1000},
        {"text/html;q=", "text/html", 1000},
        {"text/html;q=x", "text/html", 1000},
        {"text/html;q=0.000", "text/html", 0},
        {"text/html;q=2", "text/html", 1000},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *p = tight(rows[i].accept);
        int q = http_accept_q(str_of(p, strlen(rows[i].accept)), str_from(rows[i].type));
        if (q != rows[i].q)
            fail_msg("%s for %s: %d", rows[i].accept, rows[i].type, q);
        free(p);
    }
    assert_int_equal(http_accept_q(STR_NULL, STR("a/b")), 1000);
}

/* HTTP-12 */
static void test_http_fields__accept_encoding(void **state UNUSED)
{
    static const struct {
        const char *field;
        int gzip, identity;
    } rows[] = {
        {"", 0, 1000},
        {"gzip", 1000, 1000},
        {"x-gzip", 1000, 1000},
        {"GZIP;q=0.5, identity;q=0.2", 500, 200},
        {"gzip;q=0", 0, 1000},
        {"*", 1000, 1000},
        {"*;q=0", 0, 0},
        {"gzip, *;q=0", 1000, 0},
        {"identity", 0, 1000},
        {"deflate, br", 0, 1000},
        {"gzip;q=0, *", 0, 1000},
        {"gzipped", 0, 1000},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str field = str_from(rows[i].field);
        if (http_accept_encoding_q(field, STR("gzip")) != rows[i].gzip ||
            http_accept_encoding_q(field, STR("identity")) != rows[i].identity)
            fail_msg("%s", rows[i].field);
    }
    assert_int_equal(http_accept_encoding_q(STR_NULL, STR("gzip")), 0);
    assert_int_equal(http_accept_encoding_q(STR_NULL, STR("identity")), 1000);
}

static void test_http_fields__lists(void **state UNUSED)
{
    assert_true(http_list_has(STR("a, Feed ,b"), STR("feed")));
    assert_true(http_list_has(STR("feed"), STR("feed")));
    assert_false(http_list_has(STR("feeds, \"feed\", x=feed"), STR("feed")));
    assert_false(http_list_has(STR("\"a, feed, b\""), STR("feed")));
    assert_false(http_list_has(STR_NULL, STR("feed")));
}

struct link_row {
    const char *href, *rel, *type;
};

static void expect_links(const char *text, const struct link_row *wanted, size_t n)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    char *p = tight(text);
    struct str rest = str_of(p, strlen(text)), href, rel, type;

    for (size_t i = 0; i < n; i++) {
        assert_true(http_next_link(&a, &rest, &href, &rel, &type));
        if (!str_eqz(href, wanted[i].href) || !str_eqz(rel, wanted[i].rel) ||
            str_is_null(rel) != (wanted[i].rel == NULL) || !str_eqz(type, wanted[i].type) ||
            str_is_null(type) != (wanted[i].type == NULL))
            fail_msg("%s: link %zu is <%.*s> rel=%.*s type=%.*s", text, i, STR_ARG(href),
                     STR_ARG(rel), STR_ARG(type));
    }
    assert_false(http_next_link(&a, &rest, &href, &rel, &type));
    free(p);
}

static void test_http_fields__links(void **state UNUSED)
{
    static const struct link_row three[] = {{"http://a/?x=1,2;3", "hub", NULL},
                                            {"/f", "self alternate", "application/atom+xml"},
                                            {"", "next", NULL}};
    static const struct link_row quoted[] = {{"b", "a\"b", NULL}, {"c", "x", NULL}};
    static const struct link_row bare[] = {{"a", NULL, NULL}, {"b", NULL, NULL}};

    expect_links(
        "<http://a/?x=1,2;3>; rel=hub, </f> ;title=\"a, <b>\"; REL=\"self alternate\";type="
        "\"application/atom+xml\",<>;rel=next;rel=prev",
        three, 3);
    expect_links("junk, <b>;rel=\"a\\\"b\" more, <c>;rel=x", quoted, 2);
    expect_links(",, <a>, <b>;", bare, 2);
    expect_links("<never closed; rel=x", NULL, 0);
    expect_links("", NULL, 0);
}

static void test_http_fields__links_end_on_any_bytes(void **state UNUSED)
{
    static const char letters[] = {'<', '>', ';', ',', '=', '"', '\\', ' ', 'r', '\0'};
    char text[12];
    uint32_t seed = 1;

    for (int round = 0; round < 100000; round++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct str rest = str_of(text, sizeof text), href, rel, type;
        for (size_t i = 0; i < sizeof text; i++) {
            seed = seed * 1664525 + 1013904223;
            text[i] = letters[(seed >> 16) % sizeof letters];
        }
        for (int n = 0; http_next_link(&a, &rest, &href, &rel, &type); n++)
            assert_true(n < 12);
        (void)http_cache_control(str_of(text, sizeof text));
        (void)http_accept_q(str_of(text, sizeof text), STR("r/r"));
    }
}

static void test_http_fields__media_types(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str value = STR("Text/HTML ; x=1;Charset=\"utf;\\-8\"; boundary=a b ;charset=late");

    assert_true(str_eqz(http_media_type(&a, value), "text/html"));
    assert_true(str_eqz(http_media_type(&a, STR("")), ""));
}

/* The bytes that a Range field wants of ten, as "first-last", "all" or "none". */
static const char *range_of(const char *field, char out[32])
{
    int64_t first, last;

    switch (http_range(str_from(field), 10, &first, &last)) {
    case RANGE_WHOLE:
        assert_int_equal(0, first);
        assert_int_equal(9, last);
        return "all";
    case RANGE_NONE:
        return "none";
    default:
        snprintf(out, 32, "%d-%d", (int)first, (int)last);
        return out;
    }
}

static void test_http_fields__ranges(void **state UNUSED)
{
    static const char *const ranges[][2] = {
        {"bytes=0-0", "0-0"},
        {"bytes=2-", "2-9"},
        {"bytes=-3", "7-9"},
        {"bytes=-30", "0-9"},
        {"bytes=8-20", "8-9"},
        {"Bytes = 1 - 2", "1-2"},
        {"bytes=10-", "none"},
        {"bytes=-0", "none"},
        {"bytes=0-1,4-5", "all"},
        {"bytes=5-4", "all"},
        {"bytes=-", "all"},
        {"bytes=", "all"},
        {"bytes", "all"},
        {"lines=0-1", "all"},
        {"bytes=a-b", "all"},
        {"bytes=+1-2", "all"},
        {"bytes=99999999999999999999-", "none"},
        {"bytes=0-99999999999999999999", "0-9"},
        {"bytes=-99999999999999999999", "0-9"},
        {"bytes=0-9x", "all"},
        {"", "all"},
    };
    int64_t first, last;
    char room[32];

    for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
        assert_string_equal(ranges[i][1], range_of(ranges[i][0], room));
    assert_int_equal(RANGE_NONE, http_range(STR("bytes=0-"), 0, &first, &last));
    assert_int_equal(RANGE_WHOLE, http_range(STR_NULL, 10, &first, &last));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_fields__ranges),
        cmocka_unit_test(test_http_fields__date_in_three_forms),
        cmocka_unit_test(test_http_fields__two_digit_years_are_near),
        cmocka_unit_test(test_http_fields__a_written_date_reads_back),
        cmocka_unit_test(test_http_fields__retry_after),
        cmocka_unit_test(test_http_fields__cache_control),
        cmocka_unit_test(test_http_fields__etags_match_weakly_and_in_lists),
        cmocka_unit_test(test_http_fields__tags_of_a_list),
        cmocka_unit_test(test_http_fields__accept_takes_the_most_specific_range),
        cmocka_unit_test(test_http_fields__accept_encoding),
        cmocka_unit_test(test_http_fields__lists),
        cmocka_unit_test(test_http_fields__links),
        cmocka_unit_test(test_http_fields__links_end_on_any_bytes),
        cmocka_unit_test(test_http_fields__media_types),
    };

    return cmocka_run_group_tests_name("http_fields", tests, NULL, NULL);
}
