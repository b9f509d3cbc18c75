/* The other calls, and what holds for all of them, over real sockets. */
#include "world.h"
#include "tests/unit/cmocka_all.h"

#include <sys/stat.h>
#include <unistd.h>

#define XML "Content-Type: text/xml\r\n"
#define CALL(method, params)                                                                       \
    "<?xml version=\"1.0\"?><methodCall><methodName>" method "</methodName><params>" params        \
    "</params></methodCall>"
#define S(text) "<param><value><string>" text "</string></value></param>"

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

static struct answer rpc(struct world *w, const char *body)
{
    struct answer ans = ask(w, &arena, "POST", "/RPC2", XML, body);

    assert_int_equal(200, ans.status); /* XRPC-01 */
    assert_true(str_starts(field(&ans, "Content-Type"), STR("text/xml")));
    assert_true(field(&ans, "Content-Length").len > 0);
    assert_true(has(&ans, "<methodResponse>"));
    return ans;
}

static bool is_fault(const struct answer *ans)
{
    return has(ans, "<fault>");
}

/* The value of flerror; fails on a fault. */
static bool flerror(const struct answer *ans)
{
    assert_false(is_fault(ans));
    assert_true(has(ans, "<name>flerror</name>") && has(ans, "<name>message</name>"));
    return has(ans, "<boolean>1</boolean>");
}

/* PING-01, XRPC-05 */
static void test_calls__ping(void **state)
{
    struct world *w = *state;
    struct answer ans = rpc(w, CALL("weblogUpdates.ping", S("My blog") S("http://known.test/")));

    assert_false(flerror(&ans));
    assert_string_equal("http://known.test/ ", w->pinged);
    ans = rpc(w, CALL("weblogUpdates.ping",
                      "<param><value>n</value></param>" S("http://known.test/") S("x") S("y")));
    assert_false(flerror(&ans));
    assert_int_equal(2, atomic_load(&w->n_pings));
}

/* "Nothing lost": what cannot be put on disk is not acknowledged, by neither form. */
static void test_calls__ping_not_kept(void **state)
{
    struct world *w = *state;
    struct answer ans = rpc(w, CALL("weblogUpdates.ping", S("n") S("http://known/full")));

    assert_true(flerror(&ans));
    ans = get(w, &arena, "/ping?name=n&url=http://known/full");
    assert_int_equal(503, ans.status);
    ans = ask(w, &arena, "POST", "/RPC2", "Content-Type: text/xml\r\n",
              CALL("weblogUpdates.ping", S("n") S("http://known/lost")));
    assert_in_range(ans.status, 500, 599);
    ans = get(w, &arena, "/ping?name=n&url=http://known/lost");
    assert_in_range(ans.status, 500, 599);
    ans = get(w, &arena, "/ping?name=n&url=http://known/");
    assert_int_equal(200, ans.status);
}

/* PING-02, PING-03 */
static void test_calls__extended_ping(void **state)
{
    struct world *w = *state;
    struct answer ans =
        rpc(w, CALL("weblogUpdates.extendedPing",
                    S("n") S("http://known.test/") S("") S("http://known.test/f") S("a|b")));

    assert_false(flerror(&ans));
    assert_string_equal("http://known.test/ http://known.test/f", w->pinged);
}

/* PING-04, PING-05 */
static void test_calls__bad_and_unknown_pings(void **state)
{
    struct world *w = *state;
    char long_name[1100], body[2000];
    struct answer ans = rpc(w, CALL("weblogUpdates.ping", S("n") S("not a url")));

    assert_true(flerror(&ans));
    memset(long_name, 'n', sizeof(long_name));
    snprintf(body, sizeof(body), CALL("weblogUpdates.ping", S("%.1025s") S("http://known.test/")),
             long_name);
    ans = rpc(w, body);
    assert_true(flerror(&ans));
    snprintf(body, sizeof(body), CALL("weblogUpdates.ping", S("n") S("http://known.test/%.250s")),
             long_name);
    ans = rpc(w, body);
    assert_true(flerror(&ans));
    assert_int_equal(0, atomic_load(&w->n_pings));
    ans = rpc(w, CALL("weblogUpdates.ping", S("n") S("http://unheard.test/")));
    assert_false(flerror(&ans));
    assert_int_equal(0, atomic_load(&w->n_fetches));
    ans = get(w, &arena, "/sub?type=json&all=1");
    assert_false(has(&ans, "unheard"));
}

/* XRPC-02, 03, 04, 08, 10 */
static void test_calls__faults(void **state)
{
    static const char *const bodies[] = {
        CALL("no.such", ""),
        CALL("weblogUpdates.ping", ""),
        CALL("weblogUpdates.ping", "<param><value><int>1</int></value></param>"
                                   "<param><value><int>2</int></value></param>"),
        CALL("weblogUpdates.ping", S("n")),
        "<?xml version=\"1.0\"?><methodCall><methodName>weblogUpdates.ping</metho",
        ("<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]>"
         "<methodCall><methodName>&b;</methodName></methodCall>"),
        ""};

    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct answer ans = rpc(*state, bodies[i]);

        assert_true(is_fault(&ans));
    }
    struct answer ans = rpc(*state, CALL("system.listMethods", ""));
    assert_true(has(&ans, "weblogUpdates.ping"));
}

/* XRPC-06 */
static void test_calls__rpc_takes_post_only(void **state)
{
    struct answer ans = get(*state, &arena, "/RPC2");

    assert_problem(&arena, &ans, 405, "method-not-allowed");
    assert_str(field(&ans, "Allow"), "POST");
}

/* PING-06, XRPC-07 */
static void test_calls__changes(void **state)
{
    struct world *w = *state;
    struct answer ans;

    rpc(w, CALL("weblogUpdates.ping", S("First &amp; last") S("http://a.test/")));
    rpc(w, "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><methodCall><methodName>"
           "weblogUpdates.ping</methodName><params>" S("caf\xe9 &#9829;")
               S("http://b.test/") "</params></methodCall>");
    ans = get(w, &arena, "/changes.xml");
    assert_int_equal(200, ans.status);
    assert_true(has(&ans, "<weblogUpdates version=") && has(&ans, "count=\"2\""));
    assert_true(has(&ans, "First &amp; last"));
    assert_true(has(&ans, "caf\xc3\xa9 \xe2\x99\xa5"));
    assert_true(str_find(ans.body, STR("b.test")) < str_find(ans.body, STR("a.test")));
    ans =
        ask(w, &arena, "GET", "/changes.xml",
            str_printf(&arena, "If-None-Match: %.*s\r\n", STR_ARG(field(&ans, "ETag"))).ptr, NULL);
    assert_int_equal(304, ans.status);
}

/* PING-08 */
static void test_calls__plain_ping(void **state)
{
    struct world *w = *state;
    struct answer ans = get(w, &arena, "/ping?name=x&url=http://known.test/");

    assert_int_equal(200, ans.status);
    assert_true(has(&ans, "\"flerror\":false"));
    ans = ask(w, &arena, "POST", "/ping", "Content-Type: application/x-www-form-urlencoded\r\n",
              "name=x&url=http%3A%2F%2Fknown.test%2F2");
    assert_int_equal(200, ans.status);
    assert_string_equal("http://known.test/2 ", w->pinged);
    ans = get(w, &arena, "/ping?name=x&url=nonsense");
    assert_problem(&arena, &ans, 400, "bad-parameter");
}

/* PING-09 */
static void test_calls__pings_are_limited(void **state)
{
    struct world *w = *state;
    struct api_cfg cfg = w->cfg;
    struct answer ans;

    cfg.ping_rate = 1;
    cfg.ping_burst = 3;
    api_reload(w->api, &cfg);
    for (int i = 0; i < 3; i++)
        assert_int_equal(200, get(w, &arena, "/ping?url=http://known.test/").status);
    ans = get(w, &arena, "/ping?url=http://known.test/");
    assert_problem(&arena, &ans, 429, "too-many-requests");
    assert_str(field(&ans, "Retry-After"), "1");
    ans = rpc(w, CALL("weblogUpdates.ping", S("n") S("http://known.test/")));
    assert_true(flerror(&ans));
    assert_int_equal(3, atomic_load(&w->n_pings));
}

/* REST-31, HTTP-15, HTTP-16, ERR-01 */
static void test_calls__unknown_paths_and_methods(void **state)
{
    static const char *const methods[] = {"PUT", "PATCH", "DELETE", "POST"};
    struct answer ans = get(*state, &arena, "/nonexistent");

    assert_problem(&arena, &ans, 404, "not-found");
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        ans = ask(*state, &arena, methods[i], "/feed?url=http://p.test/ok", NULL, "");
        assert_problem(&arena, &ans, 405, "method-not-allowed");
        assert_str(field(&ans, "Allow"), "GET, HEAD");
    }
    ans = ask(*state, &arena, "PUT", "/sub", NULL, "");
    assert_str(field(&ans, "Allow"), "GET, HEAD, POST, PATCH, DELETE");
    ans = ask(*state, &arena, "OPTIONS", "/sub/", NULL, NULL);
    assert_int_equal(204, ans.status);
    assert_str(field(&ans, "Allow"), "GET, HEAD, POST, PATCH, DELETE");
}

/* REST-32 */
static void test_calls__cors(void **state)
{
    struct world *w = *state;
    struct api_cfg cfg = w->cfg;
    struct answer ans = get(w, &arena, "/feed?url=http://p.test/ok&type=json");

    assert_true(str_is_null(field(&ans, "Access-Control-Allow-Origin")));
    cfg.cors_origin = STR("http://page.test");
    api_reload(w->api, &cfg);
    ans = get(w, &arena, "/feed?url=http://p.test/ok&type=json");
    assert_str(field(&ans, "Access-Control-Allow-Origin"), "http://page.test");
    ans = get(w, &arena, "/feed?url=nonsense");
    assert_str(field(&ans, "Access-Control-Allow-Origin"), "http://page.test");
}

static void test_calls__foreign_pages_change_nothing(void **state)
{
    struct answer ans = ask(*state, &arena, "POST", "/sub?url=http://p.test/ok",
                            "Origin: http://evil.test\r\n", NULL);

    assert_problem(&arena, &ans, 403, "forbidden");
    ans = ask(*state, &arena, "POST", "/sub?url=http://p.test/ok",
              "Origin: http://api.test:8080\r\n", NULL);
    assert_int_equal(201, ans.status);
}

/* a page of another site may neither read by JSON-P nor make us fetch */
static void test_calls__foreign_pages_cause_nothing(void **state)
{
    static const char *const targets[] = {
        "/smart?url=http://p.test/ok&callback=f",
        "/feed?url=http://p.test/ok-unknown",
        "/feeds?url=http://p.test/ok,http://p.test/ok-unknown",
        "/archive?url=http://p.test/ok-unknown",
        "/opml?url=http://l.test/list.opml",
        "/ping?name=n&url=http://p.test/known",
    };
    const char *foreign = "Sec-Fetch-Site: cross-site\r\nReferer: http://page.test/x\r\n";
    struct world *w = *state;
    struct api_cfg cfg = w->cfg;
    struct answer ans = get(w, &arena, "/feed?url=http://p.test/ok");

    assert_int_equal(200, ans.status);
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        ans = ask(w, &arena, "GET", targets[i], foreign, NULL);
        assert_problem(&arena, &ans, 403, "forbidden");
    }
    assert_int_equal(1, atomic_load(&w->n_fetches));
    assert_int_equal(0, atomic_load(&w->n_documents) + atomic_load(&w->n_pings));
    ans = ask(w, &arena, "GET", "/feed?url=http://p.test/ok", foreign, NULL); /* as a link does */
    assert_int_equal(200, ans.status);
    ans = ask(w, &arena, "GET", targets[0], "Sec-Fetch-Site: same-origin\r\n", NULL);
    assert_int_equal(200, ans.status);
    cfg.cors_origin = STR("http://page.test");
    api_reload(w->api, &cfg);
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        ans = ask(w, &arena, "GET", targets[i], foreign, NULL);
        assert_int_equal(200, ans.status);
    }
}

/* A list that could not be fetched is not known, so each request for it would fetch again. */
static void test_calls__foreign_pages_do_not_fetch_a_failed_list_again(void **state)
{
    static const char target[] = "/opml?url=http://l.test/404";
    const char *foreign = "Sec-Fetch-Site: cross-site\r\nReferer: http://page.test/x\r\n";
    struct world *w = *state;
    struct answer ans = get(w, &arena, target);

    assert_problem(&arena, &ans, 502, "upstream-failed");
    assert_int_equal(1, atomic_load(&w->n_documents));
    ans = ask(w, &arena, "GET", target, foreign, NULL);
    assert_problem(&arena, &ans, 403, "forbidden");
    assert_int_equal(1, atomic_load(&w->n_documents));
}

static void test_calls__token(void **state)
{
    struct world *w = *state;
    struct api_cfg cfg = w->cfg;
    struct answer ans;

    cfg.token = STR("open sesame");
    api_reload(w->api, &cfg);
    ans = get(w, &arena, "/sub");
    assert_problem(&arena, &ans, 401, "unauthorized");
    assert_true(field(&ans, "WWW-Authenticate").len > 0);
    assert_false(has(&ans, "sesame"));
    ans = ask(w, &arena, "GET", "/sub", "Authorization: Bearer open sesame\r\n", NULL);
    assert_int_equal(200, ans.status);
    /* anybody:open sesame */
    ans = ask(w, &arena, "GET", "/sub", "Authorization: Basic YW55Ym9keTpvcGVuIHNlc2FtZQ==\r\n",
              NULL);
    assert_int_equal(200, ans.status);
    ans = ask(w, &arena, "GET", "/sub", "Authorization: Bearer open\r\n", NULL);
    assert_int_equal(401, ans.status);
    assert_int_equal(200, get(w, &arena, "/healthz").status);
    assert_int_equal(200, get(w, &arena, "/readyz").status);
    assert_int_equal(401, get(w, &arena, "/nodes").status);
}

/* NODE-11: with a database in a file there is one node, and all is its. */
static void test_calls__one_node(void **state)
{
    struct world *w = *state;
    struct answer ans = get(w, &arena, "/nodes");

    assert_int_equal(200, ans.status);
    assert_true(has(&ans, "{\"nodes\":[{\"name\":"));
    assert_true(has(&ans, "\"slots\":256"));
    assert_true(has(&ans, "\"behind\":0"));
    ans = ask(w, &arena, "POST", "/nodes", "", "name=n&action=drain");
    assert_problem(&arena, &ans, 404, "not-found");
    ans = ask(w, &arena, "POST", "/nodes", "", "name=n&action=dance");
    assert_problem(&arena, &ans, 400, "bad-parameter");
    ans = get(w, &arena, "/readyz");
    assert_true(has(&ans, "{\"status\":\"ready\",\"reasons\":[],\"details\":[],\"warnings\":[],\"slots\":256"));
    ans = get(w, &arena, "/metrics");
    assert_true(has(&ans, "feedmill_node_slots 256"));
    assert_true(has(&ans, "feedmill_node_lease_left_seconds 15.000"));
}

static void put_file(struct world *w, const char *name, const char *text)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", w->dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_calls__demo(void **state)
{
    static const char *const outside[] = {
        "/demo/../f.db",        "/demo/..%2ff.db",   "/demo/%2e%2e/f.db",
        "/demo/sub/../../f.db", "/demo/.hidden",     "/demo/link",
        "/demo/none",           "/demo//index.html", "/demo/sub"};
    struct world *w = *state;
    struct api_cfg cfg = w->cfg;
    char path[128], target[128];
    struct answer ans = get(w, &arena, "/demo/");

    assert_problem(&arena, &ans, 404, "not-found");
    snprintf(path, sizeof(path), "%s/demo", w->dir);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/demo/sub", w->dir);
    mkdir(path, 0700);
    put_file(w, "demo/index.html", "<p>Hello</p>");
    put_file(w, "demo/buy.xml", "<rss/>");
    put_file(w, "demo/.hidden", "no");
    snprintf(path, sizeof(path), "%s/demo/link", w->dir);
    snprintf(target, sizeof(target), "%s/f.db", w->dir);
    assert_int_equal(0, symlink(target, path));
    snprintf(path, sizeof(path), "%s/demo", w->dir);
    cfg.demo_dir = str_from(path);
    api_reload(w->api, &cfg);
    ans = get(w, &arena, "/demo/");
    assert_int_equal(200, ans.status);
    assert_true(has(&ans, "Hello"));
    assert_true(str_starts(field(&ans, "Content-Type"), STR("text/html")));
    ans = get(w, &arena, "/demo/buy.xml");
    assert_str(field(&ans, "Content-Type"), "application/xml");
    put_file(w, "demo/buy.xml", "<rss version='2.0'/>"); /* read at every request */
    ans = get(w, &arena, "/demo/buy.xml");
    assert_true(has(&ans, "2.0"));
    for (size_t i = 0; i < ARRAY_LEN(outside); i++) {
        ans = get(w, &arena, outside[i]);
        if (ans.status != 404)
            fail_msg("%s: %d", outside[i], ans.status);
    }
}

static void test_calls__metrics_health_index(void **state)
{
    struct answer ans = get(*state, &arena, "/metrics");

    assert_int_equal(200, ans.status);
    assert_true(has(&ans, "# TYPE feedmill_http_requests_total counter\n"));
    ans = get(*state, &arena, "/healthz");
    assert_true(has(&ans, "ok"));
    ans = get(*state, &arena, "/");
    assert_true(has(&ans, "/feeds"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_calls__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(ping),
        T(ping_not_kept),
        T(extended_ping),
        T(bad_and_unknown_pings),
        T(faults),
        T(rpc_takes_post_only),
        T(changes),
        T(plain_ping),
        T(pings_are_limited),
        T(unknown_paths_and_methods),
        T(cors),
        T(foreign_pages_change_nothing),
        T(foreign_pages_cause_nothing),
        T(foreign_pages_do_not_fetch_a_failed_list_again),
        T(token),
        T(one_node),
        T(demo),
        T(metrics_health_index),
    };

    return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
