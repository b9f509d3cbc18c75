/* GET /feed, /feeds, /opml, over real sockets. */
#include "world.h"
#include "tests/unit/cmocka_all.h"

#include <semaphore.h>
#include <unistd.h>

#include "api/http/context.h"
#include "api/lists/list_thread.h"
#include "net/http_fields.h"

#define OK "http://p.test/ok"

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

/* REST-01, REST-14, REST-30: an unknown feed is complete in the first answer */
static void test_pull__first_request_fetches(void **state)
{
    struct answer ans = get(*state, &arena, "/feed?url=" OK "&type=json");
    struct value *v;

    assert_int_equal(200, ans.status);
    v = json_of(&arena, &ans);
    assert_int_equal(3, value_len(value_getz(v, "entries")));
    assert_str(value_get_textz(value_at(value_getz(v, "entries"), 0), "title"), "Entry 2");
    assert_true(value_getz(v, "feed") != NULL);
    assert_str(field(&ans, "Content-Type"), "application/json");
}

/* REST-33, REST-34 */
static void test_pull__many_first_requests_cause_one_fetch(void **state)
{
    struct world *w = *state;
    int fds[20];

    for (int i = 0; i < 20; i++)
        fds[i] = open_request(w, "GET", "/feed?url=http://p.test/slow&type=json", NULL, NULL);
    for (int i = 0; i < 20; i++)
        assert_int_equal(200, read_answer(&arena, fds[i], false).status);
    get(w, &arena, "/feed?url=http://p.test/slow&type=rss");
    /* each of the twenty waits; the fetcher merges them (its tests); afterwards nobody asks */
    assert_true(atomic_load(&w->n_fetches) <= 20);
    w->n_fetches = 0;
    get(w, &arena, "/feed?url=http://p.test/slow&type=atom");
    assert_int_equal(0, atomic_load(&w->n_fetches));
}

/* REST-02 */
static void test_pull__trailing_slash_is_the_same(void **state)
{
    struct answer x = get(*state, &arena, "/feed/?url=" OK "&type=json");
    struct answer y = get(*state, &arena, "/feed?url=" OK "&type=json");

    assert_int_equal(200, x.status);
    assert_true(str_eq(x.body, y.body));
}

/* REST-03, 04, 05, 06, JF-06, VIEW-14 */
static void test_pull__types(void **state)
{
    static const struct {
        const char *type, *media, *sign;
    } rows[] = {{"rss", "application/rss+xml", "<rss"},
                {"atom", "application/atom+xml", "<feed"},
                {"json", "application/json", "\"entries\""},
                {"json&obj", "application/json", "Entry 2"},
                {"json&obj=1", "application/json", "Entry 2"},
                {"json&obj=0", "application/json", "\"entries\""},
                {"jsonfeed", "application/feed+json", "\"items\""},
                {"html", "text/html; charset=utf-8", "<!DOCTYPE html>"},
                {"opml", "text/x-opml", "xmlUrl="}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char target[256];
        struct answer ans;

        snprintf(target, sizeof(target), "/feed?url=" OK "&type=%s", rows[i].type);
        ans = get(*state, &arena, target);
        assert_int_equal(200, ans.status);
        assert_true(str_starts(field(&ans, "Content-Type"), str_from(rows[i].media)));
        assert_true(has(&ans, rows[i].sign));
        if (strstr(rows[i].type, "json") == rows[i].type && i < 6) /* D1 */
            assert_int_equal(rows[i].sign[0] == 'E' ? VAL_LIST : VAL_DICT,
                             json_of(&arena, &ans)->kind);
    }
}

/* REST-07, HTTP-10, NEG-01, NEG-03 */
static void test_pull__accept_decides_without_type(void **state)
{
    struct answer ans =
        ask(*state, &arena, "GET", "/feed?url=" OK, "Accept: application/rss+xml\r\n", NULL);

    assert_true(str_starts(field(&ans, "Content-Type"), STR("application/rss+xml")));
    assert_true(http_list_has(field(&ans, "Vary"), STR("Accept")));
    ans = get(*state, &arena, "/feed?url=" OK);
    assert_true(str_starts(field(&ans, "Content-Type"), STR("application/atom+xml")));
    ans = ask(*state, &arena, "GET", "/feed?url=" OK "&type=rss", "Accept: application/json\r\n",
              NULL);
    assert_true(str_starts(field(&ans, "Content-Type"), STR("application/rss+xml")));
    assert_false(http_list_has(field(&ans, "Vary"), STR("Accept")));
}

/* NEG-02 */
static void test_pull__nothing_acceptable_is_406(void **state)
{
    struct answer ans = ask(*state, &arena, "GET", "/feed?url=" OK, "Accept: image/png\r\n", NULL);

    assert_problem(&arena, &ans, 406, "not-acceptable");
}

/* NEG-04 */
static void test_pull__links_to_the_other_types(void **state)
{
    struct answer ans = get(*state, &arena, "/feed?url=" OK "&type=rss");
    struct str link = field(&ans, "Link");

    assert_true(
        str_find(link, STR("type=atom>; rel=\"alternate\"; type=\"application/atom+xml\"")) > 0);
    assert_true(str_find(link, STR("type=rss>; rel=\"alternate\"")) < 0);
    assert_true(str_find(link, STR("type=rss>; rel=\"self\"")) > 0);
}

/* some clients split the Link field at every comma */
static void test_pull__no_link_target_has_a_comma(void **state)
{
    struct answer ans = get(*state, &arena, "/feeds?url=" OK "," OK "2&x=a,b");
    struct str link = field(&ans, "Link");
    size_t n = 0;

    for (size_t i = 0; i < link.len; i++)
        if (link.ptr[i] == ',') { /* each stands between two links */
            assert_int_equal(0, strncmp(link.ptr + i, ", <", 3));
            n++;
        }
    assert_true(n >= 3);
    assert_true(str_find(link, STR(OK "%2C" OK "2&x=a%2Cb")) > 0);
}

static void wait_for(void *ctx)
{
    sem_wait(ctx);
}

/* lists that take long make lists wait, and nobody else */
static void test_pull__a_slow_list_holds_no_reader(void **state)
{
    struct world *w = *state;
    struct answer ans;
    sem_t slow;
    int fd;

    sem_init(&slow, 0, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(RC_OK, list_thread_run(w->api->list_thread, wait_for, &slow));
    fd = open_request(w, "GET", "/opml?url=http://l.test/list.opml", NULL, NULL);
    until(atomic_load(&w->n_documents) == 1);
    ans = get(w, &arena, "/log"); /* takes a reader */
    assert_int_equal(200, ans.status);
    ans = get(w, &arena, "/feed?url=" OK);
    assert_int_equal(200, ans.status);
    for (int i = 0; i < 4; i++)
        sem_post(&slow);
    ans = read_answer(&arena, fd, false);
    assert_int_equal(200, ans.status);
    assert_true(has(&ans, "My list"));
    sem_destroy(&slow);
}

/* REST-08, REST-11, REST-15 */
static void test_pull__bad_parameters(void **state)
{
    static const struct {
        const char *target, *parameter;
    } rows[] = {{"/feed?url=" OK "&type=yaml", "type"},
                {"/feed?url=" OK "&len=-1", "len"},
                {"/feed?url=" OK "&len=x", "len"},
                {"/feed?url=" OK "&len=1.5", "len"},
                {"/feed", "url"},
                {"/feed?url=", "url"},
                {"/feed?url=foo", "url"},
                {"/feed?url=ftp://x/", "url"},
                {"/feeds", "url"},
                {"/feeds?url=" OK ",ftp://x/", "url"},
                {"/opml", "url"},
                {"/feed?url=" OK "&type=json&obj=2", "obj"}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct answer ans = get(*state, &arena, rows[i].target);

        assert_problem(&arena, &ans, 400, "bad-parameter");
        assert_str(value_get_textz(json_of(&arena, &ans), "parameter"), rows[i].parameter);
    }
    assert_int_equal(0, atomic_load(&((struct world *)*state)->n_fetches));
}

static size_t count_entries(struct world *w, const char *target)
{
    struct answer ans = get(w, &arena, target);

    assert_int_equal(200, ans.status);
    return value_len(value_getz(json_of(&arena, &ans), "entries"));
}

/* REST-09, REST-10, REST-13 */
static void test_pull__len(void **state)
{
    struct world *w = *state;

    assert_int_equal(1, count_entries(w, "/feed?url=" OK "&type=json&len=1"));
    publish(w, OK, 3, 60);
    assert_int_equal(50, count_entries(w, "/feed?url=" OK "&type=json"));
    assert_int_equal(0, count_entries(w, "/feed?url=" OK "&type=json&len=0"));
    assert_int_equal(63, count_entries(w, "/feed?url=" OK "&type=json&len=100000"));
    assert_int_equal(63,
                     count_entries(w, "/feed?url=" OK "&type=json&len=99999999999999999999999999"));
}

/* REST-16, REST-17, REST-19 */
static void test_pull__merges(void **state)
{
    struct world *w = *state;

    assert_int_equal(6, count_entries(w, "/feeds?url=" OK "1,%0A%20" OK "2&type=json"));
    assert_int_equal(6, count_entries(w, "/feeds?url=" OK "1%2C" OK "2&type=json"));
    assert_int_equal(6, count_entries(w, "/feeds?url=" OK "1&url=" OK "2&type=json"));
    assert_int_equal(3, count_entries(w, "/feeds?url=" OK "1," OK "1&type=json"));
    assert_int_equal(3, count_entries(w, "/feeds?url=" OK ",1&type=json"));
}

/* REST-18, ERR-03 */
static void test_pull__serves_what_is_reachable(void **state)
{
    struct world *w = *state;
    struct answer ans;
    struct value *v;

    assert_int_equal(3, count_entries(w, "/feeds?url=" OK ",http://p.test/404&type=json"));
    ans = get(w, &arena, "/feeds?url=http://p.test/404,http://q.test/404x");
    assert_problem(&arena, &ans, 502, "upstream-failed");
    v = json_of(&arena, &ans);
    assert_int_equal(404, value_get_int(v, STR("upstream-status"), 0));
    assert_str(value_get_textz(v, "upstream"), "http://p.test/404");
}

/* REST-27, DISC-06, SCHED-18, ERR-04 */
static void test_pull__publisher_failures(void **state)
{
    static const struct {
        const char *url, *name;
        int status;
    } rows[] = {{"http://p.test/404", "upstream-failed", 502},
                {"http://p.test/late", "upstream-timeout", 504},
                {"http://p.test/page", "no-feed", 422},
                {"http://p.test/denied", "upstream-failed", 403}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char target[256];
        struct answer ans;

        snprintf(target, sizeof(target), "/feed?url=%s", rows[i].url);
        ans = get(*state, &arena, target);
        assert_problem(&arena, &ans, rows[i].status, rows[i].name);
        assert_str(value_get_textz(json_of(&arena, &ans), "upstream"), rows[i].url);
    }
}

static void test_pull__deadline_passes(void **state)
{
    struct world *w = *state;
    struct api_cfg cfg = w->cfg;
    struct answer ans;

    assert_int_equal(200, get(w, &arena, "/feed?url=" OK).status);
    cfg.fetch_wait_ms = 100;
    api_reload(w->api, &cfg);
    ans = get(w, &arena, "/feed?url=http://p.test/hang");
    assert_problem(&arena, &ans, 504, "upstream-timeout");
    /* one that hangs does not keep the others from being served */
    assert_int_equal(3, count_entries(w, "/feeds?url=http://p.test/hang," OK "&type=json"));
}

/* OPS-07: a request that would begin to wait for a publisher or a subscriber while the server stops is refused;
 * what is stored is served. */
static void test_pull__at_the_end_nobody_begins_to_wait(void **state)
{
    static const char *const waiting[] = {
        "/feed?url=http://p.test/hang",
        "/feeds?url=" OK ",http://p.test/hang",
        "/opml?url=http://l.test/list.opml",
        "/discover?url=http://p.test/page",
    };
    struct world *w = *state;
    struct api_cfg cfg = w->cfg;
    struct answer ans;
    int n_fetches, n_documents;

    cfg.hub = true;
    api_reload(w->api, &cfg);
    assert_int_equal(200, get(w, &arena, "/feed?url=" OK).status);
    n_fetches = atomic_load(&w->n_fetches);
    n_documents = atomic_load(&w->n_documents);
    api_stop(w->api);
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
        ans = get(w, &arena, waiting[i]);
        assert_problem(&arena, &ans, 503, "busy");
        assert_str(field(&ans, "Retry-After"), "1");
    }
    ans = ask(w, &arena, "POST", "/hub", "Content-Type: application/x-www-form-urlencoded\r\n",
              "hub.mode=subscribe&hub.verify=sync&hub.callback=http://cb.test/&hub.topic="
              "http%3A%2F%2Fapi.test:8080%2Ffeed%3Furl%3Dhttp%3A%2F%2Fp.test%2Fok%26type%3Drss");
    assert_problem(&arena, &ans, 503, "busy");
    assert_int_equal(200, get(w, &arena, "/feed?url=" OK).status);
    assert_int_equal(n_fetches, atomic_load(&w->n_fetches));
    assert_int_equal(n_documents, atomic_load(&w->n_documents));
}

/* How long a document is good for follows the periods of now, also when it is in the cache. */
static void test_pull__ttl_follows_a_reload(void **state)
{
    struct world *w = *state;
    struct api_cfg cfg = w->cfg;
    struct answer ans = get(w, &arena, "/feed?url=" OK "&type=rss");

    assert_true(has(&ans, "<ttl>30</ttl>"));
    cfg.levels.period_s[1] = 600;
    api_reload(w->api, &cfg);
    ans = get(w, &arena, "/feed?url=" OK "&type=rss");
    assert_true(has(&ans, "<ttl>10</ttl>"));
}

static void test_pull__client_leaves_while_waiting(void **state)
{
    struct world *w = *state;
    int fd = open_request(w, "GET", "/feed?url=http://p.test/slow", NULL, NULL);

    nap(50);
    reset_request(fd);
    nap(400); /* the fetch comes home to nobody; the sanitizer watches */
    assert_int_equal(200, get(w, &arena, "/feed?url=http://p.test/slow").status);
}

/* Clients that ask for anything and leave at any moment, while feeds change; then a stop with
 * requests under way. The sanitizers watch. */
static void test_pull__clients_come_and_go(void **state)
{
    static const char *const targets[] = {
        "/feed?url=http://p.test/slow1",
        "/feed?url=" OK "&type=rss",
        "/feeds?url=" OK "1," OK "2,http://p.test/404,http://p.test/slow2&type=json",
        "/opml?url=http://l.test/list.opml",
        "/opml?url=http://l.test/deep.opml",
        "/sub?type=json&all=1",
        "/log?since=end&timeout=10",
        "/feeds?url=" OK "3," OK "4&type=jsonfeed&len=2",
    };
    struct world *w = *state;
    int fds[64];

    get(w, &arena, "/feed?url=" OK);
    for (int round = 0; round < 6; round++) {
        for (size_t i = 0; i < ARRAY_LEN(fds); i++)
            fds[i] = open_request(w, i % 16 == 15 ? "POST" : "GET",
                                  i % 16 == 15 ? "/sub?url=" OK "9&from=2000-01-01"
                                               : targets[i % ARRAY_LEN(targets)],
                                  NULL, NULL);
        publish(w, OK, 10 + round, 1);
        nap(round * 7);
        for (size_t i = 0; i < ARRAY_LEN(fds); i++)
            reset_request(fds[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        fds[i] = open_request(w, "GET", targets[i % ARRAY_LEN(targets)], NULL, NULL);
    world_restart(w);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
    assert_int_equal(200, get(w, &arena, "/feed?url=" OK).status);
}

/* REST-28, D48: no password anywhere, and the link works */
static void test_pull__credentials_do_not_leave(void **state)
{
    struct world *w = *state;
    static const char *const types[] = {"atom", "rss", "json", "jsonfeed", "html", "opml"};

    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        char target[256];
        struct answer ans;

        snprintf(target, sizeof(target), "/feed?url=http://user:sEcReT@p.test/ok&type=%s",
                 types[i]);
        ans = get(w, &arena, target);
        assert_int_equal(200, ans.status);
        assert_false(has(&ans, "sEcReT"));
        assert_true(str_find(ans.head, STR("sEcReT")) < 0);
    }
    struct answer ans = get(w, &arena, "/feed?url=http://user:sEcReT@p.test/ok&type=jsonfeed");
    struct str self = value_get_textz(json_of(&arena, &ans), "feed_url");
    struct answer again;

    assert_true(str_starts(self, STR("http://api.test:8080/feed?url=http%3A%2F%2Ffm-")));
    w->n_fetches = 0;
    again =
        get(w, &arena, str_z(&arena, str_slice(self, strlen("http://api.test:8080"), self.len)));
    assert_int_equal(200, again.status);
    assert_int_equal(0, atomic_load(&w->n_fetches));
    assert_true(str_eq(ans.body, again.body));
    ans = get(w, &arena, "/feed?url=http://user:sEcReT@p.test/404");
    assert_problem(&arena, &ans, 502, "upstream-failed");
    assert_false(has(&ans, "sEcReT"));
    ans = get(w, &arena, "/feed?url=ftp://user:sEcReT@p.test/404");
    assert_problem(&arena, &ans, 400, "bad-parameter");
    assert_false(has(&ans, "sEcReT"));
}

/* HTTP-01, 02, 03, 04 */
static void test_pull__conditional_by_tag(void **state)
{
    struct world *w = *state;
    struct answer ans = get(w, &arena, "/feed?url=" OK "&type=atom"), again;
    struct str etag = field(&ans, "ETag");
    const char *const good[] = {"%s", "\"x\", %s", "W/%s", "*"};

    assert_true(etag.len > 2 && etag.ptr[0] == '"');
    assert_true(http_date(field(&ans, "Last-Modified")) > 1700000000);
    assert_true(http_date(field(&ans, "Date")) > 1700000000);
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        char fields[256] = "If-None-Match: ";
        const char *at = strstr(good[i], "%s");

        if (at != NULL)
            snprintf(fields, sizeof(fields), "If-None-Match: %.*s%.*s\r\n", (int)(at - good[i]),
                     good[i], STR_ARG(etag));
        else
            snprintf(fields, sizeof(fields), "If-None-Match: %s\r\n", good[i]);
        again = ask(w, &arena, "GET", "/feed?url=" OK "&type=atom", fields, NULL);
        assert_int_equal(304, again.status);
        assert_int_equal(0, again.body.len);
        assert_true(str_eq(etag, field(&again, "ETag")));
        assert_true(str_eq(field(&ans, "Cache-Control"), field(&again, "Cache-Control")));
        assert_true(str_eq(field(&ans, "Vary"), field(&again, "Vary")));
    }
    again =
        ask(w, &arena, "GET", "/feed?url=" OK "&type=atom", "If-None-Match: \"nope\"\r\n", NULL);
    assert_int_equal(200, again.status);
}

/* HTTP-05, 06 */
static void test_pull__conditional_by_date(void **state)
{
    struct world *w = *state;
    struct answer ans = get(w, &arena, "/feed?url=" OK "&type=atom");
    struct str same =
        str_printf(&arena, "If-Modified-Since: %.*s\r\n", STR_ARG(field(&ans, "Last-Modified")));
    struct str both = str_printf(&arena, "If-None-Match: \"nope\"\r\n%.*s", STR_ARG(same));
    const struct {
        const char *fields;
        int status;
    } rows[] = {{str_z(&arena, same), 304},
                {"If-Modified-Since: Sat, 01 Jan 2000 00:00:00 GMT\r\n", 200},
                {"If-Modified-Since: yesterday\r\n", 200},
                {str_z(&arena, both), 200}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(
            rows[i].status,
            ask(w, &arena, "GET", "/feed?url=" OK "&type=atom", rows[i].fields, NULL).status);
}

/* HTTP-07, 08, 09, REST-36 */
static void test_pull__etags(void **state)
{
    static const char *const types[] = {"atom",     "rss",  "json", "jsonfeed",
                                        "json&obj", "html", "opml"};
    struct world *w = *state;
    struct str tags[ARRAY_LEN(types)];
    struct answer first, again;

    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct str target = str_printf(&arena, "/feed?url=" OK "&type=%s", types[i]);
        struct answer ans = get(w, &arena, target.ptr);

        tags[i] = field(&ans, "ETag");
        for (size_t k = 0; k < i; k++)
            assert_false(str_eq(tags[i], tags[k]));
    }
    first = get(w, &arena, "/feed?url=" OK "&type=atom");
    assert_true(str_eq(tags[0], field(&first, "ETag")));
    world_restart(w);
    again = get(w, &arena, "/feed?url=" OK "&type=atom");
    assert_true(str_eq(tags[0], field(&again, "ETag")));
    assert_true(str_eq(first.body, again.body));
    publish(w, OK, 9, 1);
    again = get(w, &arena, "/feed?url=" OK "&type=atom");
    assert_false(str_eq(tags[0], field(&again, "ETag")));
    assert_true(has(&again, "Entry 9"));
}

/* HTTP-11, 12 */
static void test_pull__gzip(void **state)
{
    static const char *const refusals[] = {"Accept-Encoding: gzip;q=0\r\n",
                                           "Accept-Encoding: identity\r\n", "Accept-Encoding:\r\n"};
    struct world *w = *state;
    struct answer plain = get(w, &arena, "/feed?url=" OK "&type=json");
    struct answer gz =
        ask(w, &arena, "GET", "/feed?url=" OK "&type=json", "Accept-Encoding: gzip\r\n", NULL);
    struct str tag = str_printf(&arena, "Accept-Encoding: gzip\r\nIf-None-Match: %.*s\r\n",
                                STR_ARG(field(&gz, "ETag")));

    assert_true(plain.body.len > 1024);
    assert_str(field(&gz, "Content-Encoding"), "gzip");
    assert_true(gz.body.len < plain.body.len && (unsigned char)gz.body.ptr[0] == 0x1f);
    assert_true(http_list_has(field(&gz, "Vary"), STR("Accept-Encoding")));
    assert_true(http_list_has(field(&plain, "Vary"), STR("Accept-Encoding")));
    assert_false(str_eq(field(&gz, "ETag"), field(&plain, "ETag")));
    assert_int_equal(304,
                     ask(w, &arena, "GET", "/feed?url=" OK "&type=json", tag.ptr, NULL).status);
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        struct answer ans = ask(w, &arena, "GET", "/feed?url=" OK "&type=json", refusals[i], NULL);

        assert_true(str_is_null(field(&ans, "Content-Encoding")));
        assert_true(str_eq(ans.body, plain.body));
    }
}

/* REST-29, HTTP-13 */
static void test_pull__head_is_get_without_body(void **state)
{
    static const char *const names[] = {"Content-Type",   "ETag", "Last-Modified", "Cache-Control",
                                        "Content-Length", "Vary", "Link"};
    struct answer g = get(*state, &arena, "/feed?url=" OK "&type=rss");
    struct answer h = ask(*state, &arena, "HEAD", "/feed?url=" OK "&type=rss", NULL, NULL);
    struct str tag = str_printf(&arena, "If-None-Match: %.*s\r\n", STR_ARG(field(&g, "ETag")));

    assert_int_equal(200, h.status);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_true(str_eq(field(&g, names[i]), field(&h, names[i])));
    assert_int_equal(
        304, ask(*state, &arena, "HEAD", "/feed?url=" OK "&type=rss", tag.ptr, NULL).status);
}

/* ATOM-04, JF-02 */
static void test_pull__self_link(void **state)
{
    struct world *w = *state;
    struct api_cfg cfg = w->cfg;
    struct answer ans = get(w, &arena, "/feed/?url=" OK "&type=jsonfeed");

    assert_str(value_get_textz(json_of(&arena, &ans), "feed_url"),
               "http://api.test:8080/feed?url=" OK "&type=jsonfeed");
    cfg.base_url = STR("https://feeds.example/");
    api_reload(w->api, &cfg);
    ans = ask(w, &arena, "GET", "/feed?url=" OK, "Accept: application/feed+json\r\n", NULL);
    assert_str(value_get_textz(json_of(&arena, &ans), "feed_url"),
               "https://feeds.example/feed?url=" OK "&type=jsonfeed");
}

/* JF-08 */
static void test_pull__next_url_ends(void **state)
{
    struct world *w = *state;
    struct str target = STR("/feed?url=" OK "&type=jsonfeed&len=2");
    size_t n = 0, pages = 0;

    get(w, &arena, "/feed?url=" OK);
    publish(w, OK, 3, 2);
    while (!str_is_null(target)) {
        struct answer ans = get(w, &arena, str_z(&arena, target));
        struct value *v = json_of(&arena, &ans);
        struct str next = value_get_textz(v, "next_url");

        n += value_len(value_getz(v, "items"));
        target =
            str_is_null(next) ? next : str_slice(next, strlen("http://api.test:8080"), next.len);
        assert_true(++pages <= 3);
    }
    assert_int_equal(5, n);
    assert_int_equal(3, pages);
}

/* REST-20, OPML-05, 07, 08 */
static void test_pull__opml(void **state)
{
    struct world *w = *state;

    assert_int_equal(6, count_entries(w, "/opml?url=http://l.test/list.opml&type=json"));
    assert_int_equal(2, atomic_load(&w->n_fetches));
    assert_int_equal(6, count_entries(w, "/opml/?url=http://l.test/list.opml&type=json&len=100"));
    assert_int_equal(1, atomic_load(&w->n_documents)); /* the list is kept */
}

/* REST-21, OPML-10 */
static void test_pull__no_list(void **state)
{
    struct world *w = *state;
    struct answer ans = get(w, &arena, "/opml?url=http://l.test/html");

    assert_problem(&arena, &ans, 422, "not-opml");
    ans = get(w, &arena, "/opml?url=http://l.test/404");
    assert_problem(&arena, &ans, 502, "upstream-failed");
    assert_int_equal(404, value_get_int(json_of(&arena, &ans), STR("upstream-status"), 0));
    ans = get(w, &arena, "/opml?url=http://l.test/deep.opml");
    assert_problem(&arena, &ans, 422, "too-large");
}

/* OPML-06: three lists deep, each once; what cannot be had is left out */
static void test_pull__included_lists(void **state)
{
    struct world *w = *state;

    assert_int_equal(12, count_entries(w, "/opml?url=http://l.test/tree0&type=json&len=100"));
    assert_int_equal(4, atomic_load(&w->n_fetches));   /* ok0 to ok3 */
    assert_int_equal(5, atomic_load(&w->n_documents)); /* tree0 to tree3, and one 404 for all */
}

static void test_pull__stale_list_is_served(void **state)
{
    struct world *w = *state;
    struct api_cfg cfg = w->cfg;

    cfg.list_ttl_s = 0;
    api_reload(w->api, &cfg);
    assert_int_equal(6, count_entries(w, "/opml?url=http://l.test/list.opml&type=json"));
    atomic_store(&w->lists_fail, true);
    assert_int_equal(6, count_entries(w, "/opml?url=http://l.test/list.opml&type=json"));
    assert_int_equal(2, atomic_load(&w->n_documents));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_pull__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(first_request_fetches),
        T(many_first_requests_cause_one_fetch),
        T(trailing_slash_is_the_same),
        T(types),
        T(accept_decides_without_type),
        T(nothing_acceptable_is_406),
        T(links_to_the_other_types),
        T(no_link_target_has_a_comma),
        T(a_slow_list_holds_no_reader),
        T(bad_parameters),
        T(len),
        T(merges),
        T(serves_what_is_reachable),
        T(publisher_failures),
        T(deadline_passes),
        T(at_the_end_nobody_begins_to_wait),
        T(ttl_follows_a_reload),
        T(client_leaves_while_waiting),
        T(clients_come_and_go),
        T(credentials_do_not_leave),
        T(conditional_by_tag),
        T(conditional_by_date),
        T(etags),
        T(gzip),
        T(head_is_get_without_body),
        T(self_link),
        T(next_url_ends),
        T(opml),
        T(no_list),
        T(included_lists),
        T(stale_list_is_served),
    };

    return cmocka_run_group_tests_name("pull", tests, NULL, NULL);
}
