/* GET, POST, DELETE /sub, over real sockets. */
#include "storage/pushes.h"
#include "world.h"
#include "tests/unit/cmocka_all.h"

#include "api/views/shapes.h"

#define FORM "Content-Type: application/x-www-form-urlencoded\r\n"
#define OPML "Content-Type: text/x-opml\r\n"

static struct arena arena;

static int setup(void **state)
{
    arena = (struct arena)ARENA_INIT;
    return world_setup(state);
}

static int teardown(void **state)
{
    arena_release(&arena);
    return world_teardown(state);
}

static int64_t subscribe(struct world *w, const char *body)
{
    struct answer ans = ask(w, &arena, "POST", "/sub/", FORM, body);

    assert_int_equal(201, ans.status);
    return value_get_int(json_of(&arena, &ans), STR("id"), 0);
}

/* Entity tags are bytes, errors may be cut inside a character: the listing stays JSON. */
static void test_sub__texts_become_utf8(void **state UNUSED)
{
    static const char *const rows[][2] = {
        {"", ""},
        {"\xC3\xA4 ok", "\xC3\xA4 ok"},
        {"\"\xFF\"", "\"\xEF\xBF\xBD\""},
        {"cut \xC3", "cut \xEF\xBF\xBD"},
        {"\xFE\xC3\xA4", "\xEF\xBF\xBD\xC3\xA4"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_str(shape_text(&arena, str_from(rows[i][0]))->s, rows[i][1]);
    assert_int_equal(VAL_NULL, shape_text(&arena, STR_NULL)->kind);
}

/* REST-23, PUSH-06 */
static void test_sub__form_makes_a_subscription(void **state)
{
    struct answer ans = ask(*state, &arena, "POST", "/sub/", FORM,
                            "endpoint=http%3A%2F%2Flocalhost%3A8000%2F&url=http%3A%2F%2Fp.test%2F");
    struct value *v = json_of(&arena, &ans);
    int64_t id = value_get_int(v, STR("id"), 0);

    assert_int_equal(201, ans.status);
    assert_true(id > 0);
    assert_true(str_eq(field(&ans, "Location"), str_printf(&arena, "/sub?id=%lld", (long long)id)));
    assert_str(value_get_textz(v, "endpoint"), "http://localhost:8000/");
    assert_str(value_at(value_getz(v, "urls"), 0)->s, "http://p.test/");
    assert_int_equal(0, atomic_load(&((struct world *)*state)->n_fetches));
}

/* REST-24, REST-22, OPML-01, OPML-02 */
static void test_sub__query_and_no_endpoint(void **state)
{
    struct answer ans =
        ask(*state, &arena, "POST", "/sub/?url=http://p.test/a,http://p.test/b", NULL, NULL);

    assert_int_equal(201, ans.status);
    assert_int_equal(VAL_NULL, value_getz(json_of(&arena, &ans), "endpoint")->kind);
    ans = get(*state, &arena, "/sub");
    assert_int_equal(200, ans.status);
    assert_true(str_starts(field(&ans, "Content-Type"), STR("text/x-opml")));
    assert_true(has(&ans, "<opml version=\"2.0\""));
    assert_true(has(&ans, "xmlUrl=\"http://p.test/a\""));
    assert_true(has(&ans, "xmlUrl=\"http://p.test/b\""));
}

/* OPML-03 */
static void test_sub__list_changes_only_when_it_changes(void **state)
{
    struct world *w = *state;
    struct answer one, two;

    subscribe(w, "url=http://p.test/ok");
    get(w, &arena, "/feed?url=http://p.test/ok"); /* now it has its title */
    one = get(w, &arena, "/sub");
    publish(w, "http://p.test/ok", 9, 1);
    two = get(w, &arena, "/sub");
    assert_true(str_eq(one.body, two.body));
    assert_true(str_eq(field(&one, "ETag"), field(&two, "ETag")));
    assert_true(has(&one, "title=\"Feed http://p.test/ok\""));
    two =
        ask(w, &arena, "GET", "/sub",
            str_printf(&arena, "If-None-Match: %.*s\r\n", STR_ARG(field(&one, "ETag"))).ptr, NULL);
    assert_int_equal(304, two.status);
    subscribe(w, "url=http://p.test/other");
    two = get(w, &arena, "/sub");
    assert_false(str_eq(field(&one, "ETag"), field(&two, "ETag")));
}

static void test_sub__one_subscription(void **state)
{
    struct world *w = *state;
    int64_t id = subscribe(w, "url=http://p.test/a");
    struct answer ans;

    subscribe(w, "url=http://p.test/b");
    ans = get(w, &arena, str_printf(&arena, "/sub?id=%lld", (long long)id).ptr);
    assert_true(has(&ans, "http://p.test/a"));
    assert_false(has(&ans, "http://p.test/b"));
    ans = get(w, &arena, "/sub?id=99");
    assert_problem(&arena, &ans, 404, "not-found");
    ans = get(w, &arena, "/sub?id=x");
    assert_problem(&arena, &ans, 400, "bad-parameter");
}

/* REST-25, REST-26 */
static void test_sub__delete(void **state)
{
    struct world *w = *state;
    int64_t one = subscribe(w, "url=http://p.test/a,http://p.test/b");
    int64_t two = subscribe(w, "url=http://p.test/a");
    struct answer ans;
    const char *target = str_printf(&arena, "/sub?id=%lld", (long long)one).ptr;

    ans = ask(w, &arena, "DELETE",
              str_printf(&arena, "/sub/?url=http://p.test/b&id=%lld", (long long)one).ptr, NULL,
              NULL);
    assert_int_equal(204, ans.status);
    ans = get(w, &arena, "/sub");
    assert_false(has(&ans, "http://p.test/b"));
    assert_int_equal(204, ask(w, &arena, "DELETE", target, NULL, NULL).status);
    ans = ask(w, &arena, "DELETE", target, NULL, NULL);
    assert_problem(&arena, &ans, 404, "not-found");
    ans = ask(w, &arena, "DELETE", "/sub?url=http://p.test/a", NULL, NULL);
    assert_problem(&arena, &ans, 400, "bad-parameter");
    ans = get(w, &arena, "/sub");
    assert_true(has(&ans, "http://p.test/a")); /* the other one's */
    ans = ask(w, &arena, "DELETE", "/sub", FORM, str_printf(&arena, "id=%lld", (long long)two).ptr);
    assert_int_equal(204, ans.status);
}

static const struct value *first_feed(struct world *w)
{
    struct answer ans = get(w, &arena, "/sub?type=json");

    assert_int_equal(200, ans.status);
    return value_at(value_getz(json_of(&arena, &ans), "feeds"), 0);
}

/* SCHED-01, SCHED-02 */
static void test_sub__freq_sets_level_or_period(void **state)
{
    static const struct {
        const char *freq;
        int64_t level, period;
    } rows[] = {{"0", 0, 86400}, {"1", 1, 1800}, {"2", 2, 300}, {"10", -1, 10}, {"3600", -1, 3600}};
    struct world *w = *state;

    subscribe(w, "url=http://p.test/a");
    assert_int_equal(1, value_get_int(first_feed(w), STR("level"), -1));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        subscribe(w, str_printf(&arena, "url=http://p.test/a&freq=%s", rows[i].freq).ptr);
        assert_int_equal(rows[i].level, value_get_int(first_feed(w), STR("level"), -1));
        assert_int_equal(rows[i].period, value_get_int(first_feed(w), STR("period"), -1));
    }
}

static void test_sub__bad_parameters(void **state)
{
    static const struct {
        const char *body, *parameter, *name;
    } rows[] = {
        {"endpoint=http://e.test/", "url", "bad-parameter"},
        {"url=http://p.test/&endpoint=foo", "endpoint", "bad-parameter"},
        {"url=http://p.test/&endpoint=", "endpoint", "bad-parameter"},
        {"url=http://p.test/&endpoint=ftp://e.test/", "endpoint", "bad-parameter"},
        {"url=http://p.test/&endpoint=ftp://e.test/&sink=webhook", "endpoint", "bad-parameter"},
        {"url=http://p.test/&freq=3", "freq", "bad-parameter"},
        {"url=http://p.test/&freq=-1", "freq", "bad-parameter"},
        {"url=http://p.test/&freq=often", "freq", "bad-parameter"},
        {"url=http://p.test/&from=once", "from", "bad-position-spec"},
        {"id=1&action=dance", "action", "bad-parameter"},
        {"action=resume", "id", "bad-parameter"}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct answer ans = ask(*state, &arena, "POST", "/sub", FORM, rows[i].body);

        assert_problem(&arena, &ans, 400, rows[i].name);
        assert_str(value_get_textz(json_of(&arena, &ans), "parameter"), rows[i].parameter);
    }
    struct answer ans = get(*state, &arena, "/sub?type=yaml");
    assert_problem(&arena, &ans, 400, "bad-parameter");
    ans = ask(*state, &arena, "POST", "/sub", "Content-Type: application/json\r\n", "{}");
    assert_problem(&arena, &ans, 415, "unsupported-media-type");
}

static int64_t position_of(struct world *w, int64_t id)
{
    struct answer ans =
        get(w, &arena, str_printf(&arena, "/sub?type=json&id=%lld", (long long)id).ptr);

    return value_get_int(value_at(value_getz(json_of(&arena, &ans), "subscriptions"), 0),
                         STR("position"), -1);
}

/* D46 */
static void test_sub__from(void **state)
{
    struct world *w = *state;
    struct answer ans;
    struct str cursor;

    get(w, &arena, "/feed?url=http://p.test/ok");
    ans = get(w, &arena, "/log?max=2");
    cursor = value_get_textz(json_of(&arena, &ans), "cursor");
    assert_int_equal(3, position_of(w, subscribe(w, "url=http://p.test/ok")));
    assert_int_equal(0, position_of(w, subscribe(w, "url=http://p.test/ok&from=start")));
    assert_int_equal(
        2,
        position_of(
            w, subscribe(
                   w, str_printf(&arena, "url=http://p.test/ok&from=%.*s", STR_ARG(cursor)).ptr)));
    assert_int_equal(0, position_of(w, subscribe(w, "url=http://p.test/ok&from=1000000000")));
    assert_int_equal(
        3, position_of(w, subscribe(w, "url=http://p.test/ok&from=2100-01-01T00:00:00Z")));
    /* a cursor of another log counts by its time */
    assert_int_equal(0, position_of(w, subscribe(w, "url=http://p.test/ok&"
                                                    "from=fm1.00000000.2.1000000000000000")));
}

/* PUSH-09: suspended subscriptions are resumable */
static void test_sub__resume(void **state)
{
    struct world *w = *state;
    int64_t id = subscribe(w, "url=http://p.test/ok&endpoint=http://e.test/");
    struct push_outcome o = {.sub_id = id,
                             .failed = true,
                             .error = STR("refused"),
                             .next_try_at = TIME_UNKNOWN,
                             .state = SUB_SUSPENDED};
    struct answer ans;

    get(w, &arena, "/feed?url=http://p.test/ok");
    assert_int_equal(RC_OK, store_push_outcomes(w->store, &o, 1, NULL, NULL));
    ans = get(w, &arena, "/sub?type=json");
    until((ans = get(w, &arena, "/sub?type=json"), has(&ans, "\"suspended\"")));
    assert_true(has(&ans, "\"last_error\":\"refused\""));
    ans = ask(w, &arena, "POST",
              str_printf(&arena, "/sub?id=%lld&action=resume&from=start", (long long)id).ptr, NULL,
              NULL);
    assert_int_equal(200, ans.status);
    ans = get(w, &arena, "/sub?type=json");
    assert_true(has(&ans, "\"active\""));
    assert_int_equal(0, position_of(w, id));
    ans = ask(w, &arena, "POST", "/sub?id=77&action=resume", NULL, NULL);
    assert_problem(&arena, &ans, 404, "not-found");
}

/* OPML-09, OPML-10 */
static void test_sub__opml_body(void **state)
{
    struct world *w = *state;
    struct answer ans =
        ask(w, &arena, "POST", "/sub?endpoint=http://e.test/", OPML,
            "<opml version=\"2.0\"><body><outline text=\"f\">"
            "<outline type=\"rss\" text=\"a\" xmlUrl=\"http://p.test/a\"/></outline>"
            "<outline text=\"b\" xmlUrl=\"http://p.test/b\"/>"
            "<outline text=\"b\" xmlUrl=\"http://p.test/b\"/></body></opml>");

    assert_int_equal(201, ans.status);
    assert_int_equal(2, value_len(value_getz(json_of(&arena, &ans), "urls")));
    ans = ask(w, &arena, "POST", "/sub", OPML, "<html><body>no</body></html>");
    assert_problem(&arena, &ans, 422, "not-opml");
    ans = ask(w, &arena, "POST", "/sub", OPML, "<opml><body/></opml>");
    assert_problem(&arena, &ans, 422, "not-opml");
}

/* OPML-06, OPML-09: in the order of the documents; problems are told, the rest is taken */
static void test_sub__opml_with_includes(void **state)
{
    struct world *w = *state;
    struct answer ans = ask(
        w, &arena, "POST", "/sub", OPML,
        "<opml version=\"2.0\"><body><outline xmlUrl=\"http://p.test/first\"/><outline text=\"F\">"
        "<outline type=\"include\" url=\"http://l.test/tree2\"/></outline>"
        "<outline xmlUrl=\"http://p.test/last\"/><outline xmlUrl=\"http://p.test/ok2\"/>"
        "<outline xmlUrl=\"ftp://p.test/\"/><outline type=\"include\" url=\"relative.opml\"/>"
        "</body></opml>");
    static const char *const urls[] = {/* tree2 is one list deep: tree4 is the last of three */
                                       "http://p.test/first", "http://p.test/ok4",
                                       "http://p.test/ok3", "http://p.test/ok2",
                                       "http://p.test/last"};
    struct value *v = json_of(&arena, &ans), *problems = value_getz(v, "problems");

    assert_int_equal(201, ans.status);
    assert_int_equal(ARRAY_LEN(urls), value_len(value_getz(v, "urls")));
    for (size_t i = 0; i < ARRAY_LEN(urls); i++)
        assert_str(value_at(value_getz(v, "urls"), i)->s, urls[i]);
    assert_int_equal(1, value_get_int(v, STR("doubles"), -1));
    assert_int_equal(1, value_get_int(v, STR("left_out"), -1));
    assert_int_equal(4, value_get_int(v, STR("problem_count"), -1));
    assert_int_equal(4, value_len(problems));
    assert_str(value_get_textz(value_at(problems, 0), "url"), "ftp://p.test/");
    assert_int_equal(6, value_get_int(value_at(problems, 0), STR("outline"), 0));
    assert_str(value_get_textz(value_at(problems, 1), "list"), "http://l.test/tree5");
    assert_str(value_get_textz(value_at(problems, 2), "list"), "http://l.test/404");
    assert_str(value_get_textz(value_at(problems, 2), "detail"), "the publisher answered 404");
    assert_str(value_get_textz(value_at(problems, 3), "list"), "relative.opml");
}

/* OPML-06: settings of a list that somebody else writes do not count, least of all the unsafe one
 */
static void test_sub__settings_of_the_list(void **state)
{
    static const struct {
        const char *query;
        int64_t level, period;
        bool sanitize;
        int n_problems;
        const char *attrs;
    } rows[] = {
        {"", -1, 90, false, 0, "feedmill:freq='90' feedmill:sanitize='no'"},
        {"?freq=2", 2, 300, false, 0, "feedmill:freq='90' feedmill:sanitize='No'"},
        {"?sanitize=yes", -1, 90, true, 0, "feedmill:freq='90' feedmill:sanitize='0'"},
        {"", 1, 1800, true, 2, "feedmill:freq='9' feedmill:sanitize='maybe'"},
        {"", 1, 1800, true, 0, "feedmill:color='red' frss:freq='7'"},
        {"?sanitize=no", 1, 1800, false, 0, "feedmill:sanitize='yes'"},
    };
    struct world *w = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *body = str_printf(&arena,
                                      "<opml xmlns:feedmill='urn:feedmill:opml'><body><outline "
                                      "xmlUrl='http://p.test/s%zu' %s/></body></opml>",
                                      i, rows[i].attrs)
                               .ptr;
        struct answer ans =
            ask(w, &arena, "POST", str_printf(&arena, "/sub%s", rows[i].query).ptr, OPML, body);
        struct value *v = json_of(&arena, &ans), *feed;

        assert_int_equal(201, ans.status);
        assert_int_equal(rows[i].n_problems, value_get_int(v, STR("problem_count"), -1));
        ans = get(
            w, &arena,
            str_printf(&arena, "/sub?type=json&id=%lld", (long long)value_get_int(v, STR("id"), 0))
                .ptr);
        feed = value_at(value_getz(json_of(&arena, &ans), "feeds"), 0);
        assert_int_equal(rows[i].level, value_get_int(feed, STR("level"), -1));
        assert_int_equal(rows[i].period, value_get_int(feed, STR("period"), -1));
        assert_int_equal(rows[i].sanitize, value_getz(feed, "sanitize")->b);
    }
}

/* The document that an export gives is the one that its import gives again. */
static void test_sub__export_is_a_fixed_point(void **state)
{
    struct world *w = *state;
    struct answer one, two;
    const char *list =
        "<opml><body><outline text='A &amp; \"b\"'><outline text='mine' title='Its' "
        "category='x,/y/z' "
        "htmlUrl='http://p.test/' xmlUrl='http://p.test/1' feedmill:freq='2'/>"
        "<outline text='B'><outline text='Two' xmlUrl='http://p.test/2' feedmill:sanitize='no'/>"
        "</outline></outline><outline xmlUrl='http://p.test/3' feedmill:freq='3600'/>"
        "<outline text='A &amp; \"b\"'><outline xmlUrl='http://p.test/4'/></outline></body></opml>";

    assert_int_equal(201, ask(w, &arena, "POST", "/sub", OPML, list).status);
    one = get(w, &arena, "/sub");
    assert_true(has(&one, "text=\"mine\" title=\"Its\""));
    assert_true(has(&one, "category=\"x,/y/z\" feedmill:freq=\"2\""));
    assert_true(has(&one, "feedmill:sanitize=\"no\""));
    assert_true(has(&one, "feedmill:freq=\"3600\""));
    assert_int_equal(204, ask(w, &arena, "DELETE", "/sub?id=1", NULL, NULL).status);
    two = get(w, &arena, "/sub");
    assert_false(has(&two, "p.test"));
    assert_int_equal(201, ask(w, &arena, "POST", "/sub", OPML, str_z(&arena, one.body)).status);
    two = get(w, &arena, "/sub?id=2");
    assert_true(
        str_eq(str_slice(one.body, (size_t)str_find(one.body, STR("<body>")), one.body.len),
               str_slice(two.body, (size_t)str_find(two.body, STR("<body>")), two.body.len)));
}

static void test_sub__title_and_folder(void **state)
{
    static const char *const bad[][2] = {{"url=http://p.test/a,http://p.test/b&title=T", "title"},
                                         {"url=http://p.test/a&title=%FF", "title"},
                                         {"url=http://p.test/a&folder=%FF/a", "folder"},
                                         {"url=http://p.test/a&sanitize=perhaps", "sanitize"}};
    struct world *w = *state;
    struct answer ans;
    struct value *sub;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        ans = ask(w, &arena, "POST", "/sub", FORM, bad[i][0]);
        assert_problem(&arena, &ans, 400, "bad-parameter");
        assert_str(value_get_textz(json_of(&arena, &ans), "parameter"), bad[i][1]);
    }
    subscribe(w, "url=http://p.test/a&title=Mine&folder=/News/+World+/&sanitize=no");
    ans = get(w, &arena, "/sub?type=json");
    sub = value_at(value_getz(json_of(&arena, &ans), "subscriptions"), 0);
    assert_str(value_at(value_getz(sub, "names"), 0)->s, "Mine");
    assert_str(value_at(value_at(value_getz(sub, "folders"), 0), 1)->s, "World");
    assert_int_equal(2, value_len(value_at(value_getz(sub, "folders"), 0)));
    assert_int_equal(VAL_NULL, value_at(value_getz(sub, "categories"), 0)->kind);
    ans = get(w, &arena, "/sub");
    assert_true(has(&ans, "<outline text=\"News\">\n<outline text=\"World\">\n<outline "
                          "type=\"rss\" text=\"Mine\""));
}

/* REST-28: neither the publisher's nor the endpoint's password is shown */
static void test_sub__credentials_do_not_leave(void **state)
{
    static const char *const views[] = {"/sub", "/sub?type=json", "/sub?type=json&all=1", "/log",
                                        "/metrics"};
    struct world *w = *state;
    struct answer ans = ask(w, &arena, "POST", "/sub", FORM,
                            "url=http://u:sEcReT@p.test/ok&endpoint=http://v:hIdDeN@e.test/x");

    assert_int_equal(201, ans.status);
    assert_false(has(&ans, "sEcReT") || has(&ans, "hIdDeN"));
    get(w, &arena, "/feed?url=http://u:sEcReT@p.test/ok");
    for (size_t i = 0; i < ARRAY_LEN(views); i++) {
        ans = get(w, &arena, views[i]);
        assert_int_equal(200, ans.status);
        assert_false(has(&ans, "sEcReT") || has(&ans, "hIdDeN"));
    }
    ans =
        ask(w, &arena, "POST", "/sub", FORM, "url=http://p.test/&endpoint=ftp://v:hIdDeN@e.test/");
    assert_problem(&arena, &ans, 400, "bad-parameter");
    assert_false(has(&ans, "hIdDeN"));
}

/* D49: asked for, known, not listed */
static void test_sub__unsubscribed_feeds_are_listed_on_demand(void **state)
{
    struct world *w = *state;
    struct answer ans;

    get(w, &arena, "/feed?url=http://p.test/ok");
    ans = get(w, &arena, "/sub");
    assert_false(has(&ans, "p.test"));
    ans = get(w, &arena, "/sub?type=json");
    assert_int_equal(0, value_len(value_getz(json_of(&arena, &ans), "feeds")));
    ans = get(w, &arena, "/sub?type=json&all=1");
    assert_int_equal(1, value_len(value_getz(json_of(&arena, &ans), "feeds")));
}

/* REST-36 */
static void test_sub__survives_a_restart(void **state)
{
    struct world *w = *state;
    int64_t id = subscribe(w, "url=http://p.test/a&endpoint=http://e.test/");
    struct answer before = get(w, &arena, "/sub"), after;

    world_restart(w);
    after = get(w, &arena, "/sub");
    assert_true(str_eq(before.body, after.body));
    assert_true(subscribe(w, "url=http://p.test/b") > id);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_sub__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(texts_become_utf8),
        T(form_makes_a_subscription),
        T(query_and_no_endpoint),
        T(list_changes_only_when_it_changes),
        T(one_subscription),
        T(delete),
        T(freq_sets_level_or_period),
        T(bad_parameters),
        T(from),
        T(resume),
        T(opml_body),
        T(opml_with_includes),
        T(settings_of_the_list),
        T(export_is_a_fixed_point),
        T(title_and_folder),
        T(credentials_do_not_leave),
        T(unsubscribed_feeds_are_listed_on_demand),
        T(survives_a_restart),
    };

    return cmocka_run_group_tests_name("sub", tests, NULL, NULL);
}
