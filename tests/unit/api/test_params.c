#include "../cmocka_all.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/http/config.h"
#include "api/http/params.h"
#include "base/limits.h"
#include "model/feed.h"
#include "storage/store.h"

static struct arena arena;

/* A route that reads all of these. */
static const enum param_id listed[] = {
    PARAM_urls,      PARAM_url,    PARAM_type,      PARAM_len,   PARAM_obj,
    PARAM_page,      PARAM_freq,   PARAM_id,        PARAM_order, PARAM_only_id,
    PARAM_hub_lease, PARAM_header, PARAM_cloud_url, PARAM_NONE};
static const struct api_cfg cfg = {
    .min_period_s = 10, .lease_min_s = 60, .lease_max_s = 1000, .lease_default_s = 500};

static struct params parse(const char *query)
{
    struct params ps = {.listed = listed, .cfg = &cfg};
    struct problem p;

    assert_true(params_add(&ps, &arena, str_from(query), &p));
    return ps;
}

/* REST-14, REST-17: the table of D3. Expected: the URLs, one a line; NULL: refused. */
static void test_params__url_lists(void **state UNUSED)
{
    static const struct {
        const char *query, *urls;
    } rows[] = {
        {"url=http://h:1/x.xml&type=json", "http://h:1/x.xml\n"},
        {"url=http%3A%2F%2Fh%2Fx", "http://h/x\n"},
        {"url=http://h/x?a=b", "http://h/x?a=b\n"},
        {"url=http://a/,http://b/", "http://a/\nhttp://b/\n"},
        {"url=http://a/,%0A%20http://b/", "http://a/\nhttp://b/\n"},
        {"url=http://a/, http://b/", "http://a/\nhttp://b/\n"},
        {"url=http://a/%2C%20https://b/", "http://a/\nhttps://b/\n"},
        {"url=http%3A%2F%2Fa%2F%2C+http%3A%2F%2Fb%2F", "http://a/\nhttp://b/\n"},
        {"url=%20http://a/%20", "http://a/\n"},
        {"url=http://a/&url=http://b/", "http://a/\nhttp://b/\n"},
        {"url=http://a/,http://b/&url=http://c/", "http://a/\nhttp://b/\nhttp://c/\n"},
        {"url=http://a/x,y", "http://a/x,y\n"},
        {"url=http://a/x,y,http://b/1,2", "http://a/x,y\nhttp://b/1,2\n"},
        {"url=http://a/x, y", "http://a/x,%20y\n"},
        {"url=http://a/,", "http://a/,\n"},
        {"url=feed://a/,HTTP://B/", "http://a/\nhttp://b/\n"},
        {"url=http://a/,ftp://b/", NULL},
        {"url=", NULL},
        {"type=json", ""}, /* whether one is needed depends on others (feeds_asked.h) */
        {"url=foo", NULL},
        {"url=ftp://x/", NULL},
        {"url=//x/", NULL},
        {"url=http://a/&url=", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct params ps = parse(rows[i].query);
        struct wanted_url *urls;
        struct problem p;
        size_t n;
        bool ok = params_urls(&ps, &arena, PARAM_urls, &urls, &n, &p);
        AUTO(buf_release) struct buf got = BUF_INIT(BUF_ANY);

        if (ok != (rows[i].urls != NULL))
            fail_msg("%s: %s", rows[i].query, ok ? "taken" : "refused");
        for (size_t k = 0; ok && k < n; k++)
            buf_printf(&got, "%.*s\n", STR_ARG(urls[k].url));
        if (ok)
            assert_str(buf_view(&got), rows[i].urls);
        else
            assert_str(p.parameter, "url");
    }
}

/* /feed takes one URL: commas are its own */
static void test_params__one_url_is_not_split(void **state UNUSED)
{
    struct params ps = parse("url=http://h/proxy,http://x/");
    struct wanted_url url;
    struct problem p;

    assert_true(params_url(&ps, &arena, PARAM_url, &url, &p));
    assert_str(url.url, "http://h/proxy,http://x/");
}

/* D48 */
static void test_params__credentials_are_split_off(void **state UNUSED)
{
    struct params ps = parse("url=http://me:p%2540ss@h/x,http://h/y");
    struct wanted_url *urls;
    struct problem p;
    size_t n;

    assert_true(params_urls(&ps, &arena, PARAM_urls, &urls, &n, &p));
    assert_str(urls[0].url, "http://h/x");
    assert_str(urls[0].credential, "me:p@ss");
    assert_str(urls[0].shown, "http://h/x");
    assert_true(str_is_null(urls[1].credential));
}

/* What is shown goes into JSON and XML. */
static void test_params__shown_is_utf8(void **state UNUSED)
{
    struct params ps = parse("url=http://h/%C3%A4,http://h/%FFx,http://me:%FE@h/%FD");
    struct wanted_url *urls;
    struct problem p;
    size_t n;

    assert_true(params_urls(&ps, &arena, PARAM_urls, &urls, &n, &p));
    assert_str(urls[0].shown, "http://h/\xC3\xA4");
    assert_str(urls[1].shown, "http://h/%FFx");
    assert_str(urls[2].shown, "http://h/%FD");
}

static void test_params__too_many_urls(void **state UNUSED)
{
    AUTO(buf_release) struct buf query = BUF_INIT(BUF_ANY);
    struct params ps = parse("");
    struct wanted_url *urls;
    struct problem p;
    size_t n;

    buf_puts(&query, "url=http://a/");
    for (int i = 0; i < LIMIT_URLS; i++)
        buf_puts(&query, ",http://a/");
    assert_true(params_add(&ps, &arena, buf_view(&query), &p));
    assert_false(params_urls(&ps, &arena, PARAM_urls, &urls, &n, &p));
    assert_int_equal(413, problem_status(&p));
    buf_reset(&query);
    for (int i = 0; i <= LIMIT_PARAMS; i++)
        buf_puts(&query, "a&");
    assert_false(params_add(&ps, &arena, buf_view(&query), &p));
    assert_int_equal(413, problem_status(&p));
}

/* REST-06, REST-08 */
static void test_params__format(void **state UNUSED)
{
    static const struct {
        const char *query;
        int format; /* -1: refused, -2: not given */
    } rows[] = {{"type=rss", FORMAT_RSS},
                {"type=atom", FORMAT_ATOM},
                {"type=json", FORMAT_JSON},
                {"type=jsonfeed", FORMAT_JSONFEED},
                {"type=json&obj", FORMAT_JSON_OBJ},
                {"type=json&obj=", FORMAT_JSON_OBJ},
                {"type=json&obj=1", FORMAT_JSON_OBJ},
                {"type=json&obj=0", FORMAT_JSON},
                {"obj&type=json", FORMAT_JSON_OBJ},
                {"type=rss&obj", FORMAT_RSS},
                {"type=rss&type=rss", FORMAT_RSS},
                {"", -2},
                {"type=yaml", -1},
                {"type=", -2},
                {"type=RSS", -1},
                {"type=rss&type=atom", -1},
                {"type=json&obj=yes", -1}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct params ps = parse(rows[i].query);
        enum feed_format format = FORMAT_ATOM;
        struct problem p;
        bool given = true;
        bool ok = params_format(&ps, &arena, PARAM_type, &format, &given, &p);
        int got = !ok ? -1 : !given ? -2 : (int)format;

        if (got != rows[i].format)
            fail_msg("%s: %d", rows[i].query, got);
    }
}

/* REST-10, REST-11 */
static void test_params__count(void **state UNUSED)
{
    static const struct {
        const char *query;
        int64_t n; /* -1: refused */
    } rows[] = {{"", 50},
                {"len=0", 0},
                {"len=7", 7},
                {"len=007", 7},
                {"len=1000", 1000},
                {"len=1001", 1000},
                {"len=9999999999999999999999", 1000},
                {"len=-1", -1},
                {"len=x", -1},
                {"len=1.5", -1},
                {"len=", 50},
                {"len=%201", -1},
                {"len=1e3", -1},
                {"len=+1", -1},
                {"len=1&len=2", -1}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct params ps = parse(rows[i].query);
        struct problem p;
        int64_t n;

        if (!params_count(&ps, &arena, PARAM_len, &n, &p))
            n = -1;
        if (n != rows[i].n)
            fail_msg("%s: %lld", rows[i].query, (long long)n);
    }
}

/* A number whose range is an option counts as the nearest that is allowed. */
static void test_params__range_of_options(void **state UNUSED)
{
    static const struct {
        const char *query;
        int64_t n; /* -1: refused */
    } rows[] = {{"", 500},
                {"hub.lease_seconds=0", -1},
                {"hub.lease_seconds=1", 60},
                {"hub.lease_seconds=61", 61},
                {"hub.lease_seconds=1001", 1000},
                {"hub.lease_seconds=99999999999999999999", 1000}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct params ps = parse(rows[i].query);
        struct problem p;
        int64_t n;

        if (!params_count(&ps, &arena, PARAM_hub_lease, &n, &p))
            n = -1;
        if (n != rows[i].n)
            fail_msg("%s: %lld", rows[i].query, (long long)n);
    }
}

static void test_params__choice(void **state UNUSED)
{
    struct params ps = parse("order=created"), none = parse("order="), bad = parse("order=Created");
    struct problem p = {0};
    int choice;

    assert_true(params_choice(&ps, &arena, PARAM_order, &choice, &p));
    assert_int_equal(2, choice);
    assert_true(params_choice(&none, &arena, PARAM_order, &choice, &p));
    assert_int_equal(0, choice);
    assert_false(params_choice(&bad, &arena, PARAM_order, &choice, &p));
    assert_true(str_find(p.detail, STR("must be modified, -modified, created or -created.")) > 0);
}

static size_t count(const char *query, enum param_id id)
{
    struct params ps = parse(query);
    size_t n = 0, at = 0;

    while (params_next(&ps, id, &at) != NULL)
        n++;
    return n;
}

static void test_params__patterns(void **state UNUSED)
{
    assert_int_equal(3, count("url=a&url1=b&url23=c&urlx=d&ur=e&url-1=f", PARAM_cloud_url));
    assert_int_equal(2, count("header.A=a&header.=b&header=c&Header.A=d", PARAM_header));
    assert_int_equal(2, count("url=a&url=b&url1=c", PARAM_urls));
}

/* OPS-01: what a route does not list cannot be read. */
static void test_params__unlisted_is_not_read(void **state UNUSED)
{
    struct params ps = parse("skip=1");
    struct problem p;
    int64_t n;
    int status;
    pid_t child = fork();

    if (child == 0) {
        close(2);
        (void)!params_count(&ps, &arena, PARAM_skip, &n, &p);
        _exit(0);
    }
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_false(WIFEXITED(status) &&
                 WEXITSTATUS(status) == 0); /* a sanitizer turns abort() into an exit */
}

/* D41 */
static void test_params__freq(void **state UNUSED)
{
    static const struct {
        const char *query;
        bool ok;
        int level;
        int64_t period_s;
    } rows[] = {{"", true, LEVEL_KEEP, 0},
                {"freq=0", true, 0, 0},
                {"freq=1", true, 1, 0},
                {"freq=2", true, 2, 0},
                {"freq=10", true, LEVEL_EXACT, 10},
                {"freq=86400", true, LEVEL_EXACT, 86400},
                {"freq=3", false, 0, 0},
                {"freq=9", false, 0, 0},
                {"freq=", true, LEVEL_KEEP, 0},
                {"freq=-5", false, 0, 0},
                {"freq=99999999999", false, 0, 0},
                {"freq=ten", false, 0, 0}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct params ps = parse(rows[i].query);
        struct problem p;
        int64_t period_s;
        int level;
        bool ok = params_freq(&ps, &arena, &level, &period_s, &p);

        if (ok != rows[i].ok || (ok && (level != rows[i].level || period_s != rows[i].period_s)))
            fail_msg("%s", rows[i].query);
    }
}

static void test_params__id(void **state UNUSED)
{
    struct problem p;
    int64_t id;
    struct params good = parse("id=17"), none = parse(""), bad = parse("id=0"),
                  huge = parse("id=99999999999999999999");

    assert_true(params_id(&good, &arena, PARAM_id, &id, &p));
    assert_int_equal(17, id);
    assert_true(params_id(&none, &arena, PARAM_only_id, &id, &p));
    assert_int_equal(0, id);
    assert_false(params_id(&none, &arena, PARAM_id, &id, &p));
    assert_false(params_id(&bad, &arena, PARAM_id, &id, &p));
    assert_false(params_id(&huge, &arena, PARAM_id, &id, &p));
}

/* Texts of requests are stored, and not every database can keep U+0000. */
static void test_params__zero_is_refused(void **state UNUSED)
{
    static const char *const rows[] = {"name=a%00b", "x=1&secret=%00", "url=http://a/%00"};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct params ps = {0};
        struct problem p = {0};

        assert_false(params_add(&ps, &arena, str_from(rows[i]), &p));
        assert_true(str_find(p.detail, STR("U+0000")) > 0);
    }
    (void)parse("name=a%2500b"); /* "%00" as text */
}

static int release(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_params__url_lists),
        cmocka_unit_test(test_params__one_url_is_not_split),
        cmocka_unit_test(test_params__credentials_are_split_off),
        cmocka_unit_test(test_params__shown_is_utf8),
        cmocka_unit_test(test_params__too_many_urls),
        cmocka_unit_test(test_params__format),
        cmocka_unit_test(test_params__count),
        cmocka_unit_test(test_params__range_of_options),
        cmocka_unit_test(test_params__choice),
        cmocka_unit_test(test_params__patterns),
        cmocka_unit_test(test_params__unlisted_is_not_read),
        cmocka_unit_test(test_params__freq),
        cmocka_unit_test(test_params__id),
        cmocka_unit_test(test_params__zero_is_refused),
    };

    return cmocka_run_group_tests_name("params", tests, NULL, release);
}
