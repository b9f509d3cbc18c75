/* tests/unit/net/test_http_client.c - outgoing calls against a scripted server on loopback. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "net/http_client.h"
#include "http_script.h"
#include "tests/unit/support/names.h"
#include "tests/unit/cmocka_all.h"

#define CALLS_MAX 64

struct result {
    struct bench *b;
    enum rc rc;
    int times; /* callbacks */
    int order; /* which of all callbacks */
    int status, n_redirects;
    bool all_permanent;
    struct arena *arena;
    struct http_answer answer;
    struct err err;
    uint64_t number;
};

struct bench {
    struct loop *loop;
    struct guard *guard;
    struct http_client *client;
    struct http_client_cfg cfg;
    struct origin *origin, *other;
    struct names *names;
    char dns[40];
    struct arena a;
    sem_t done;
    int n_done;
    struct http_call call; /* what the next get() or start() sends */
    struct result results[CALLS_MAX];
    int n_results;
};

static void make_client(void *ctx)
{
    struct bench *b = ctx;

    b->client = http_client_new(b->loop, &b->cfg);
}

static void drop_client(void *ctx)
{
    struct bench *b = ctx;

    http_client_free(&b->client);
}

static int setup(void **state)
{
    static const struct str cidrs[] = {{"127.0.0.0/8", 11}};
    struct bench *b = NEW(struct bench);

    b->loop = loop_new("test");
    b->origin = origin_new(http_script, NULL, false);
    b->other = origin_new(http_script, NULL, false);
    b->names = names_new();
    snprintf(b->dns, sizeof b->dns, "127.0.0.1:%d", names_port(b->names));
    assert_int_equal(guard_new(cidrs, 1, &b->guard, NULL), RC_OK);
    b->cfg = (struct http_client_cfg){
        .guard = b->guard, .user_agent = "Test/1", .max_total = 8, .dns = b->dns};
    loop_call(b->loop, make_client, b);
    sem_init(&b->done, 0, 0);
    b->call = (struct http_call){.method = STR("GET"),
                                 .credential = STR_NULL,
                                 .max_redirects = 5,
                                 .max_body = 1 << 20,
                                 .max_header = 65536,
                                 .timeout_ms = 60000};
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;

    loop_call(b->loop, drop_client, b);
    loop_free(&b->loop);
    origin_free(&b->origin);
    origin_free(&b->other);
    names_free(&b->names);
    guard_free(&b->guard);
    for (int i = 0; i < b->n_results; i++) {
        assert_int_equal(b->results[i].times, 1); /* exactly one callback */
        arena_free(&b->results[i].arena);
    }
    arena_release(&b->a);
    mem_free(b);
    return 0;
}

static void on_done(void *ctx, enum rc rc, struct http_answer *answer, const struct err *err)
{
    struct result *r = ctx;

    r->rc = rc;
    r->times++;
    r->order = ++r->b->n_done;
    r->answer = *answer;
    r->arena = answer->arena;
    r->status = answer->status;
    r->n_redirects = answer->n_redirects;
    r->all_permanent = answer->all_permanent;
    r->err = *err;
    sem_post(&r->b->done);
}

static void start_call(void *ctx)
{
    struct result *r = ctx;

    r->number = http_client_start(r->b->client, &r->b->call, on_done, r);
    if (r->times != 0)
        fail_msg("called back before it returned");
}

/* Start a call to `fmt`, in which %d is the server's port. */
static struct result *start(struct bench *b, const char *fmt)
{
    struct result *r = &b->results[b->n_results++];

    assert_true(b->n_results <= CALLS_MAX);
    r->b = b;
    b->call.url = str_printf(&b->a, fmt, origin_port(b->origin), origin_port(b->other));
    loop_call(b->loop, start_call, r);
    return r;
}

static void wait_done(struct bench *b, int n)
{
    for (int i = 0; i < n; i++) {
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 60;
        if (sem_timedwait(&b->done, &until) != 0)
            fail_msg("no callback within 60 s");
    }
}

static struct result *get(struct bench *b, const char *fmt)
{
    struct result *r = start(b, fmt);

    wait_done(b, 1);
    return r;
}

static struct result *get_ok(struct bench *b, const char *fmt)
{
    struct result *r = get(b, fmt);

    if (r->rc != RC_OK)
        fail_msg("%s: %s: %s", fmt, rc_name(r->rc), r->err.text);
    return r;
}

static struct result *get_bad(struct bench *b, const char *fmt, enum rc rc, const char *why)
{
    struct result *r = get(b, fmt);

    if (r->rc != rc || strstr(r->err.text, why) == NULL)
        fail_msg("%s: %s: %s", fmt, rc_name(r->rc), r->err.text);
    return r;
}

static bool body_has(const struct result *r, const char *z)
{
    return str_find(r->answer.body, str_from(z)) >= 0;
}

#define assert_body(r, z)                                                                          \
    do {                                                                                           \
        if (!str_eqz((r)->answer.body, (z)))                                                       \
            fail_msg("body is \"%.*s\"", STR_ARG((r)->answer.body));                               \
    } while (0)

static void test_http_client__get(void **state)
{
    struct bench *b = *state;
    struct result *r = get_ok(b, "http://127.0.0.1:%d/ok");

    assert_int_equal(r->status, 200);
    assert_body(r, "hello");
    assert_true(str_eqz(http_answer_field(&r->answer, "content-type"), "text/plain"));
    assert_true(str_eqz(http_answer_field(&r->answer, "x-two"), "a")); /* the first one */
    assert_true(str_is_null(http_answer_field(&r->answer, "x-none")));
    assert_int_equal(r->n_redirects, 0);
    assert_false(r->all_permanent);
    assert_true(str_eq(r->answer.final_url, b->call.url));
    r = get_ok(b, "http://127.0.0.1:%d/none");
    assert_int_equal(r->status, 404); /* an answer is an answer */
    r = get_ok(b, "http://127.0.0.1:%d/empty");
    assert_body(r, "");
    assert_false(str_is_null(r->answer.body));
    r = get_ok(b, "http://127.0.0.1:%d/304");
    assert_int_equal(r->status, 304);
    assert_true(str_eqz(http_answer_field(&r->answer, "etag"), "\"x\""));
    r = get_ok(b, "http://127.0.0.1:%d/chunked");
    assert_body(r, "hello world");
    assert_int_equal(origin_most_connections(b->origin), 1); /* the connection was used again */
}

static void test_http_client__what_is_sent(void **state)
{
    static const struct http_field fields[] = {
        {{"X-Key", 5}, {"v: 1", 4}},
        {{"If-None-Match", 13}, {"\"e\"", 3}},
        {{"X-Bad", 5}, {"a\r\nX-Evil: 1", 12}},
        {{"X Bad", 5}, {"a", 1}},
        {{"X-Empty", 7}, {"", 0}},
    };
    struct bench *b = *state;
    struct result *r;

    b->call.fields = fields;
    b->call.n_fields = sizeof fields / sizeof fields[0];
    r = get_ok(b, "http://127.0.0.1:%d/echo/a,b?x=1&y=%%20");
    assert_true(body_has(r, "GET /echo/a,b?x=1&y=%20 HTTP/1.1\r\n"));
    assert_true(body_has(r, "\r\nUser-Agent: Test/1\r\n"));
    assert_true(body_has(r, "\r\nX-Key: v: 1\r\n"));
    assert_true(body_has(r, "\r\nIf-None-Match: \"e\"\r\n"));
    assert_true(body_has(r, "\r\nX-Empty:\r\n"));
    assert_true(body_has(r, "\r\nAccept-Encoding: gzip, deflate"));
    assert_false(body_has(r, "X-Evil"));
    assert_false(body_has(r, "X Bad"));
    assert_false(body_has(r, "Expect"));
    b->call.user_agent = STR("Other/2");
    r = get_ok(b, "http://127.0.0.1:%d/echo");
    assert_true(body_has(r, "\r\nUser-Agent: Other/2\r\n"));
    /* the handle of the last call is used again */
    b->call.is_brief = true;
    r = get_ok(b, "http://127.0.0.1:%d/echo");
    assert_false(body_has(r, "Accept-Encoding"));
    b->call.is_brief = false;
    r = get_ok(b, "http://127.0.0.1:%d/echo");
    assert_true(body_has(r, "\r\nAccept-Encoding: gzip, deflate"));
}

static void test_http_client__post(void **state)
{
    static const struct http_field type = {{"Content-Type", 12}, {"text/xml", 8}};
    struct bench *b = *state;
    struct result *r;
    char large[5000];

    memset(large, 'x', sizeof large);
    b->call.method = STR("POST");
    b->call.body = str_of(large, sizeof large);
    b->call.fields = &type;
    b->call.n_fields = 1;
    r = get_ok(b, "http://127.0.0.1:%d/echo");
    assert_true(body_has(r, "POST /echo HTTP/1.1\r\n"));
    assert_true(body_has(r, "\r\nContent-Length: 5000\r\n"));
    assert_true(body_has(r, "\r\nContent-Type: text/xml\r\n"));
    assert_false(body_has(r, "Expect"));
    assert_false(body_has(r, "Transfer-Encoding"));
    assert_true(body_has(r, "\r\n\r\nxxxxx"));
    b->call.body = STR_NULL;
    r = get_ok(b, "http://127.0.0.1:%d/echo");
    assert_true(body_has(r, "\r\nContent-Length: 0\r\n"));
}

/* Ask for a path, and see that this is what was asked for, of this host. */
static void asks_for(struct bench *b, bool of_other, const char *path)
{
    struct buf url = BUF_INIT(BUF_ANY);
    char line[220];
    int port = origin_port(of_other ? b->other : b->origin);
    struct result *r;

    buf_printf(&url, "http://127.0.0.1:%d", port);
    for (const char *p = path; *p != '\0'; p++) /* get_ok() takes a format */
        buf_puts(&url, *p == '%' ? "%%" : (char[]){*p, '\0'});
    r = get_ok(b, url.ptr);
    buf_release(&url);
    snprintf(line, sizeof line, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n", path, port);
    if (!body_has(r, line))
        fail_msg("%s is not in %.*s", line, STR_ARG(r->answer.body));
}

/* One handle makes all these calls, and keeps what it can of the URL before. */
static void test_http_client__each_call_has_its_own_url(void **state)
{
    static const char *const paths[] = {"/echo",    "/echo/a/b;c=1", "/echo/d",   "/echo?x=1&y=%2F",
                                        "/echo/e",  "/echo/%2f",     "/echo/%2F", "/echo//f",
                                        "/echo/g?", "/echo/h@i:j"};
    struct bench *b = *state;

    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        asks_for(b, false, paths[i]);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        asks_for(b, i % 2 == 0, paths[i]);
}

/* libcurl makes a request again when the connection was closed, or when a credential is asked for:
 * that of this call, not that of the call before on the same handle. */
static void test_http_client__a_request_that_is_made_again(void **state)
{
    struct bench *b = *state;

    get_ok(b, "http://127.0.0.1:%d/ok");
    get_bad(b, "http://127.0.0.1:%d/close", RC_PEER, "without an answer");
    assert_int_equal(origin_count(b->origin, "/close"), 2);
    assert_int_equal(origin_count(b->origin, NULL), 3);
    get_ok(b, "http://127.0.0.1:%d/ok");
    b->call.credential = STR("user:pw");
    get_ok(b, "http://127.0.0.1:%d/digest");
    assert_int_equal(origin_count(b->origin, "/digest"), 2);
    assert_non_null(strstr(origin_last(b->origin, "/digest"), "uri=\"/digest\""));
    assert_int_equal(origin_count(b->origin, NULL), 6);
}

static void test_http_client__redirects(void **state)
{
    struct bench *b = *state;
    struct result *r = get_ok(b, "http://127.0.0.1:%d/to/301//ok");
    char url[60];

    snprintf(url, sizeof url, "http://127.0.0.1:%d/ok", origin_port(b->origin));
    assert_body(r, "hello");
    assert_int_equal(r->n_redirects, 1);
    assert_true(r->all_permanent);
    assert_true(str_eqz(r->answer.final_url, url));
    r = get_ok(b, "http://127.0.0.1:%d/to/302//ok");
    assert_false(r->all_permanent);
    r = get_ok(b, "http://127.0.0.1:%d/to/301//to/308/../../ok"); /* dots are resolved */
    assert_int_equal(r->n_redirects, 1);
    r = get_ok(b, "http://127.0.0.1:%d/to/308//to/301//ok");
    assert_int_equal(r->n_redirects, 2);
    assert_true(r->all_permanent);
    r = get_ok(b, "http://127.0.0.1:%d/to/301//to/307//ok");
    assert_int_equal(r->n_redirects, 2);
    assert_false(r->all_permanent);
    r = get_ok(b, "http://127.0.0.1:%d/to/301/http://127.0.0.1:%d/echo%%20x");
    assert_true(body_has(r, "GET /echo%20x "));
    assert_int_equal(origin_count(b->other, NULL), 1);
    r = get_ok(b, "http://127.0.0.1:%d/to/304//ok"); /* no redirect, whatever Location says */
    assert_int_equal(r->status, 304);
    r = get_ok(b, "http://127.0.0.1:%d/to/300//ok"); /* and the body that came is not read here */
    assert_int_equal(r->status, 300);
    b->call.max_redirects = 0;
    r = get_ok(b, "http://127.0.0.1:%d/to/301//ok");
    assert_int_equal(r->status, 301);
    assert_body(r, "go there");
    assert_false(r->all_permanent);
}

static void test_http_client__redirects_that_are_not_followed(void **state)
{
    struct bench *b = *state;
    struct result *r;

    b->call.max_redirects = 2;
    r = get_bad(b, "http://127.0.0.1:%d/to/301//to/301//to/301//ok", RC_PEER,
                "more than 2 redirects");
    assert_int_equal(origin_count(b->origin, NULL), 3);
    assert_int_equal(r->status, 301);
    get_bad(b, "http://127.0.0.1:%d/to/301/ftp://127.0.0.1/x", RC_PEER, "only http://");
    get_bad(b, "http://127.0.0.1:%d/to/301/file:///etc/passwd", RC_PEER, "only http://");
    get_bad(b, "http://127.0.0.1:%d/to/302/http://10.0.0.1/", RC_DENIED, "10.0.0.1:80");
    get_bad(b, "http://127.0.0.1:%d/to/302/http://[::1]/", RC_DENIED, "[::1]:80");
    get_bad(b, "http://127.0.0.1:%d/to/302/http://inside.test/", RC_DENIED, "10.0.0.1:80");
}

/* RFC 9110 §15.4: what becomes of the method. */
static void test_http_client__redirected_posts(void **state)
{
    static const struct http_field type = {{"Content-Type", 12}, {"text/xml", 8}};
    struct bench *b = *state;
    struct result *r;

    b->call.method = STR("POST");
    b->call.body = STR("<body/>");
    b->call.fields = &type;
    b->call.n_fields = 1;
    for (int i = 0; i < 3; i++) {
        r = get_ok(b, (const char *[]){"http://127.0.0.1:%d/to/301//echo",
                                       "http://127.0.0.1:%d/to/302//echo",
                                       "http://127.0.0.1:%d/to/303//echo"}[i]);
        assert_true(body_has(r, "GET /echo "));
        assert_false(body_has(r, "<body/>"));
        assert_false(body_has(r, "Content-"));
    }
    for (int i = 0; i < 2; i++) {
        r = get_ok(b, (const char *[]){"http://127.0.0.1:%d/to/307//echo",
                                       "http://127.0.0.1:%d/to/308//echo"}[i]);
        assert_true(body_has(r, "POST /echo "));
        assert_true(body_has(r, "\r\n\r\n<body/>"));
        assert_true(body_has(r, "Content-Type: text/xml"));
    }
}

/* Secrets go to the first origin only; what names nobody goes on. */
static void test_http_client__secrets_stay_at_the_first_origin(void **state)
{
    static const struct http_field fields[] = {{{"X-Api-Key", 9}, {"secret1", 7}},
                                               {{"If-None-Match", 13}, {"\"e\"", 3}}};
    struct bench *b = *state;
    struct result *r;

    b->call.credential = STR("user:secret2");
    b->call.fields = fields;
    b->call.n_fields = 2;
    r = get_ok(b, "http://127.0.0.1:%d/to/302/http://127.0.0.1:%d/basic");
    assert_int_equal(r->status, 401);
    assert_null(strstr(origin_last(b->other, NULL), "secret1"));
    assert_null(strstr(origin_last(b->other, NULL), "Authorization"));
    assert_non_null(strstr(origin_last(b->other, NULL), "If-None-Match"));
    assert_non_null(strstr(origin_last(b->origin, NULL), "secret1"));
    r = get_ok(b, "http://127.0.0.1:%d/to/302//basic"); /* the same origin */
    assert_int_equal(r->status, 200);
    assert_non_null(strstr(origin_last(b->origin, NULL), "secret1"));
    b->call.credential = STR_NULL; /* those of a redirect's URL are nobody's */
    r = get_ok(b, "http://127.0.0.1:%d/to/302/http://u:p@127.0.0.1:%d/basic");
    assert_int_equal(r->status, 401);
    assert_true(str_find(r->answer.final_url, STR("u:p")) < 0);
}

/* ETIQ-08: fields of the feed's own stay at the first origin, also those that name nobody elsewhere,
 * and there they stand instead of ours. */
static void test_http_client__own_fields(void **state)
{
    static const struct http_field fields[] = {{{"User-Agent", 10}, {"secret1", 7}},
                                               {{"Accept", 6}, {"secret2", 7}},
                                               {{"accept", 6}, {"text/ours", 9}}};
    struct bench *b = *state;
    const char *asked;

    b->call.fields = fields;
    b->call.n_fields = 3;
    b->call.n_own = 2;
    b->call.user_agent = STR("Ours/1");
    (void)get_ok(b, "http://127.0.0.1:%d/to/302/http://127.0.0.1:%d/ok");
    asked = origin_last(b->origin, NULL);
    assert_non_null(strstr(asked, "User-Agent: secret1"));
    assert_non_null(strstr(asked, "Accept: secret2"));
    assert_null(strstr(asked, "text/ours"));
    assert_null(strstr(asked, "Ours/1"));
    asked = origin_last(b->other, NULL);
    assert_null(strstr(asked, "secret"));
    assert_non_null(strstr(asked, "accept: text/ours"));
    assert_non_null(strstr(asked, "User-Agent: Ours/1"));
}

/* REST-28: Basic and Digest. */
static void test_http_client__credentials(void **state)
{
    struct bench *b = *state;
    struct result *r;

    b->call.credential = STR("user:p:w");
    r = get_ok(b, "http://127.0.0.1:%d/basic");
    assert_int_equal(r->status, 200);
    assert_body(r, "Basic dXNlcjpwOnc=");
    r = get_ok(b, "http://127.0.0.1:%d/digest"); /* Basic is offered too */
    assert_int_equal(r->status, 200);
    assert_true(body_has(r, "Digest username=\"user\""));
    r = get_ok(b, "http://127.0.0.1:%d/ok"); /* nobody asked */
    assert_null(strstr(origin_last(b->origin, NULL), "Authorization"));
    b->call.method = STR("POST");
    b->call.body = STR("<body/>");
    r = get_ok(b, "http://127.0.0.1:%d/digest");
    assert_int_equal(r->status, 200);
    assert_non_null(strstr(origin_last(b->origin, NULL), "\r\n\r\n<body/>"));
    b->call.credential = STR_NULL;
    r = get_ok(b, "http://127.0.0.1:%d/basic"); /* nothing is left over in the handle */
    assert_int_equal(r->status, 401);
}

/* Who asked for Basic is told the credential at once; when it asks for Digest instead, it gets that
 * within the same call. */
static void test_http_client__basic_is_remembered(void **state)
{
    struct bench *b = *state;

    http_script_wants_digest = false;
    b->call.credential = STR("user:pw");
    for (int n = 2; n <= 4; n++) { /* 401, 200; 200; 200 */
        assert_int_equal(get_ok(b, "http://127.0.0.1:%d/either")->status, 200);
        assert_int_equal(origin_count(b->origin, "/either"), n);
    }
    b->call.credential = STR("user:other"); /* nothing is known of this one */
    assert_int_equal(get_ok(b, "http://127.0.0.1:%d/either")->status, 200);
    assert_int_equal(origin_count(b->origin, "/either"), 6);
    get_ok(b, "http://127.0.0.1:%d/ok"); /* and this path has not asked */
    assert_null(strstr(origin_last(b->origin, "/ok"), "Authorization"));
    http_script_wants_digest = true; /* refused, asked without, told by Digest */
    assert_int_equal(get_ok(b, "http://127.0.0.1:%d/either")->status, 200);
    assert_int_equal(origin_count(b->origin, "/either"), 9);
    assert_non_null(strstr(origin_last(b->origin, "/either"), "Digest username=\"user\""));
    assert_int_equal(get_ok(b, "http://127.0.0.1:%d/either")->status, 200); /* forgotten */
    assert_int_equal(origin_count(b->origin, "/either"), 11);
}

/* A password that was changed at the publisher is not sent twice in one call. */
static void test_http_client__basic_is_refused_once(void **state)
{
    struct bench *b = *state;

    http_script_refuses = false;
    b->call.credential = STR("user:pw");
    assert_int_equal(get_ok(b, "http://127.0.0.1:%d/basic")->status, 200);
    assert_int_equal(origin_count(b->origin, "/basic"), 2);
    http_script_refuses = true;
    assert_int_equal(get_ok(b, "http://127.0.0.1:%d/basic")->status, 401);
    assert_int_equal(origin_count(b->origin, "/basic"), 3);
    http_script_refuses = false;
    assert_int_equal(get_ok(b, "http://127.0.0.1:%d/basic")->status, 200); /* forgotten */
    assert_int_equal(origin_count(b->origin, "/basic"), 5);
}

/* SCHED-13: gzip and deflate. */
static void test_http_client__compressed_bodies(void **state)
{
    struct bench *b = *state;
    struct result *r;

    assert_body(get_ok(b, "http://127.0.0.1:%d/gzip"), "hello, hello, hello");
    assert_body(get_ok(b, "http://127.0.0.1:%d/deflate"), "hello, hello, hello");
    r = get(b, "http://127.0.0.1:%d/badgzip");
    assert_int_equal(r->rc, RC_PEER);
    b->call.max_body = 18;
    get_bad(b, "http://127.0.0.1:%d/gzip", RC_LIMIT, "longer than 18 bytes");
    b->call.max_body = 19;
    get_ok(b, "http://127.0.0.1:%d/gzip");
}

/* SCHED-13: 300 MiB of compressed blanks end soon, in little memory. */
static void test_http_client__bomb(void **state)
{
    struct bench *b = *state;
    struct rusage before, after;
    struct result *r;
    int64_t ms = clock_mono_ms();

    b->call.max_body = 16 << 20;
    getrusage(RUSAGE_SELF, &before);
    r = get_bad(b, "http://127.0.0.1:%d/bomb", RC_LIMIT, "longer than 16777216 bytes");
    getrusage(RUSAGE_SELF, &after);
    assert_int_equal(r->status, 200);
    assert_true(clock_mono_ms() - ms < 50000);
    assert_true(after.ru_maxrss - before.ru_maxrss < 150 * 1024);
}

/* SCHED-15: body, header, time. */
static void test_http_client__bounds(void **state)
{
    struct bench *b = *state;
    struct result *r;

    get_bad(b, "http://127.0.0.1:%d/endless", RC_LIMIT, "longer than 1048576 bytes");
    get_bad(b, "http://127.0.0.1:%d/headers", RC_LIMIT, "longer than 65536 bytes");
    b->call.max_body = 5;
    assert_body(get_ok(b, "http://127.0.0.1:%d/ok"), "hello");
    b->call.max_body = 4;
    assert_body(get_bad(b, "http://127.0.0.1:%d/ok", RC_LIMIT, "longer than 4 bytes"), "");
    b->call.keeps_part = true;
    assert_body(get_bad(b, "http://127.0.0.1:%d/ok", RC_LIMIT, "longer than 4 bytes"), "hell");
    b->call.keeps_part = false;
    b->call.max_body = 1000;
    b->call.timeout_ms = 1000;
    get_bad(b, "http://127.0.0.1:%d/slow", RC_TIMEOUT, "within 1000 ms");
    r = get_bad(b, "http://127.0.0.1:%d/drip", RC_TIMEOUT, "within 1000 ms");
    assert_int_equal(r->status, 200);
    get_bad(b, "http://127.0.0.1:%d/to/302//slow", RC_TIMEOUT, "/slow");
}

/* On a connection that was used before, libcurl did not connect; that is not a failure to connect.
 */
static void test_http_client__no_answer_on_a_connection_used_before(void **state)
{
    struct bench *b = *state;

    get_ok(b, "http://127.0.0.1:%d/ok");
    b->call.timeout_ms = 300;
    get_bad(b, "http://127.0.0.1:%d/slow", RC_TIMEOUT, "no complete answer from 127.0.0.1:");
    assert_int_equal(origin_most_connections(b->origin), 1);
}

/* A port at which nobody accepts connections, and where there is no room for more of them to wait.
 * Returns the listener; *more: the connections that wait. */
static int full_port(int *port, int more[3])
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
    assert_int_equal(listen(fd, 0), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    *port = ntohs(a.sin_port);
    for (int i = 0; i < 3; i++) {
        more[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)!connect(more[i], (struct sockaddr *)&a, len);
    }
    return fd;
}

/* Connecting has a time of its own, which does not count once the call is under way. */
static void test_http_client__time_for_connecting(void **state)
{
    struct bench *b = *state;
    int port, more[3], fd = full_port(&port, more);
    int64_t ms = clock_mono_ms();
    char url[64];

    snprintf(url, sizeof url, "http://127.0.0.1:%d/", port);
    b->call.timeout_ms = 60000;
    b->call.connect_timeout_ms = 200;
    get_bad(b, url, RC_TIMEOUT, "cannot connect to 127.0.0.1:");
    assert_true(clock_mono_ms() - ms < 30000);
    b->call.timeout_ms = 1000;
    b->call.connect_timeout_ms = 100;
    ms = clock_mono_ms();
    get_bad(b, "http://127.0.0.1:%d/slow", RC_TIMEOUT, "no complete answer from 127.0.0.1:");
    assert_true(clock_mono_ms() - ms >= 1000);
    for (int i = 0; i < 3; i++)
        close(more[i]);
    close(fd);
}

/* A value over many lines is put together a line at a time: that must not cost a square. */
static void test_http_client__folded_fields(void **state)
{
    struct result *r = get_ok(*state, "http://127.0.0.1:%d/folds");
    struct str value = http_answer_field(&r->answer, "x-long");

    assert_true(str_starts(value, STR("a a a a")));
    assert_in_range(value.len, 1000, 4096);
    assert_true(arena_size(r->arena) < 16 * 1024 * 1024);
}

static void test_http_client__peers_that_fail(void **state)
{
    struct bench *b = *state;
    struct result *r;
    int64_t ms = clock_mono_ms();

    r = get_bad(b, "http://127.0.0.1:%d/short", RC_PEER,
                "before the body had its announced length");
    assert_int_equal(r->status, 200);
    get_bad(b, "http://127.0.0.1:%d/close", RC_PEER, "without an answer");
    get_bad(b, "http://127.0.0.1:1/", RC_PEER, "cannot connect to 127.0.0.1:1");
    get_bad(b, "https://127.0.0.1:%d/ok", RC_PEER, "https://127.0.0.1:");
    get_bad(b, "ftp://127.0.0.1:%d/ok", RC_INPUT, "only http://");
    assert_true(clock_mono_ms() - ms < 50000); /* sooner than the time-out */
}

/* SCHED-18: addresses are judged whatever the name. */
static void test_http_client__guarded_addresses(void **state)
{
    struct bench *b = *state;

    get_bad(b, "http://10.1.2.3/", RC_DENIED, "10.1.2.3:80 is private or special");
    get_bad(b, "http://169.254.169.254/latest/meta-data/", RC_DENIED, "169.254.169.254:80");
    get_bad(b, "http://[::ffff:10.0.0.1]:%d/", RC_DENIED, "private or special");
    get_bad(b, "http://inside.test:%d/ok", RC_DENIED, "10.0.0.1:");
    assert_body(get_ok(b, "http://mixed.test:%d/ok"), "hello"); /* the permitted one */
}

static void test_http_client__names(void **state)
{
    struct bench *b = *state;
    struct result *r = get_ok(b, "http://a.test:%d/echo");
    int questions;

    assert_true(body_has(r, "\r\nHost: a.test:"));
    questions = names_questions(b->names);
    get_ok(b, "http://a.test:%d/ok"); /* from the cache */
    assert_int_equal(names_questions(b->names), questions);
    assert_body(get_ok(b, "http://localhost:%d/ok"), "hello"); /* from /etc/hosts */
    assert_body(get_ok(b, "http://two.test:%d/ok"), "hello");  /* one of two does not listen */
    r = get_bad(b, "http://no.test:%d/ok", RC_PEER, "the name \"no.test\" cannot be resolved");
    assert_true(r->answer.is_no_name);
    b->call.timeout_ms = 300;
    r = get_bad(b, "http://mute.test:%d/ok", RC_TIMEOUT, "within 300 ms");
    assert_false(r->answer.is_no_name);
}

static void test_http_client__askers_share_a_look_up(void **state)
{
    struct bench *b = *state;
    int one;

    get_ok(b, "http://a.test:%d/ok");
    one = names_questions(b->names); /* of one look-up: A and AAAA */
    for (int i = 0; i < 5; i++)
        start(b, "http://mixed.test:%d/ok");
    wait_done(b, 5);
    assert_int_equal(names_questions(b->names), 2 * one);
    for (int i = 1; i < 6; i++)
        assert_int_equal(b->results[i].rc, RC_OK);
}

static void test_http_client__more_calls_than_transfers(void **state)
{
    struct bench *b = *state;

    loop_call(b->loop, drop_client, b);
    b->cfg.max_total = 2;
    loop_call(b->loop, make_client, b);
    for (int i = 0; i < 40; i++)
        start(b, i % 2 ? "http://127.0.0.1:%d/ok" : "http://127.0.0.1:%d/to/301//ok");
    wait_done(b, 40);
    for (int i = 0; i < 40; i++)
        assert_int_equal(b->results[i].rc, RC_OK);
    assert_true(origin_most_connections(b->origin) <= 3); /* one may be closing */
}

/* Beyond the bound (16 idle ones and one in use) a connection is closed after its call. It does not
 * take the place of an older one: libcurl would look through all of them to find the oldest, and
 * never forget its host. */
static void test_http_client__more_hosts_than_connections(void **state)
{
    struct bench *b = *state;
    struct origin *hosts[20];

    loop_call(b->loop, drop_client, b);
    b->cfg.max_total = 1;
    loop_call(b->loop, make_client, b);
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
            if (round == 0)
                hosts[i] = origin_new(http_script, NULL, false);
            get_ok(b, arena_printf(&b->a, "http://127.0.0.1:%d/ok", origin_port(hosts[i])));
        }
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        assert_int_equal(i < 17 ? 1 : 2, origin_accepted(hosts[i]));
        origin_free(&hosts[i]);
    }
}

/* With one transfer at a time, calls end in the order in which they were started. */
static void test_http_client__calls_wait_in_order(void **state)
{
    struct bench *b = *state;

    loop_call(b->loop, drop_client, b);
    b->cfg.max_total = 1;
    loop_call(b->loop, make_client, b);
    for (int i = 0; i < 20; i++)
        start(b, "http://127.0.0.1:%d/ok");
    wait_done(b, 20);
    for (int i = 0; i < 20; i++)
        assert_int_equal(b->results[i].order, i + 1);
}

static void cancel_call(void *ctx)
{
    struct result *r = ctx;

    http_client_cancel(r->b->client, r->number);
    http_client_cancel(r->b->client, r->number); /* unknown by now, or not done twice */
    http_client_cancel(r->b->client, 999999);
    if (r->times != 0)
        fail_msg("called back from inside cancel");
}

static void test_http_client__cancel(void **state)
{
    struct bench *b = *state;
    struct result *running, *resolving, *waiting, *next;

    loop_call(b->loop, drop_client, b);
    b->cfg.max_total = 2;
    loop_call(b->loop, make_client, b);
    running = start(b, "http://127.0.0.1:%d/slow");
    resolving = start(b, "http://mute.test:%d/slow");
    waiting = start(b, "http://127.0.0.1:%d/slow");
    next = start(b, "http://127.0.0.1:%d/ok");
    loop_call(b->loop, cancel_call, waiting);
    wait_done(b, 1);
    assert_int_equal(waiting->rc, RC_CLOSED);
    loop_call(b->loop, cancel_call, resolving);
    wait_done(b, 2);
    assert_int_equal(resolving->rc, RC_CLOSED);
    assert_int_equal(next->rc, RC_OK); /* it got the room */
    while (origin_count(b->origin, NULL) < 2)
        usleep(1000);
    loop_call(b->loop, cancel_call, running);
    wait_done(b, 1);
    assert_int_equal(running->rc, RC_CLOSED);
    assert_true(http_client_busy(b->client) == 0);
}

static void test_http_client__free_ends_all_calls(void **state)
{
    struct bench *b = *state;

    for (int i = 0; i < 20; i++)
        start(b, i % 2 ? "http://127.0.0.1:%d/slow" : "http://mute.test:%d/");
    assert_true(http_client_busy(b->client) == 20);
    loop_call(b->loop, drop_client, b);
    for (int i = 0; i < 20; i++)
        assert_int_equal(b->results[i].rc, RC_CLOSED);
}

/* A callback may start the next call. */
static void on_done_again(void *ctx, enum rc rc UNUSED, struct http_answer *answer,
                          const struct err *err UNUSED)
{
    struct result *r = ctx;

    arena_free(&answer->arena);
    (void)http_client_start(r->b->client, &r->b->call, on_done, r);
}

static void start_again(void *ctx)
{
    struct result *r = ctx;

    (void)http_client_start(r->b->client, &r->b->call, on_done_again, r);
}

static void test_http_client__calls_from_callbacks(void **state)
{
    struct bench *b = *state;
    struct result *r = &b->results[b->n_results++];

    r->b = b;
    b->call.url = str_printf(&b->a, "http://127.0.0.1:%d/ok", origin_port(b->origin));
    loop_call(b->loop, start_again, r);
    wait_done(b, 1);
    assert_int_equal(r->rc, RC_OK);
    assert_int_equal(origin_count(b->origin, NULL), 2);
}

static int init(void **state UNUSED)
{
    http_client_global_init();
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_http_client__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(get),
        TEST(what_is_sent),
        TEST(post),
        TEST(each_call_has_its_own_url),
        TEST(a_request_that_is_made_again),
        TEST(redirects),
        TEST(redirects_that_are_not_followed),
        TEST(redirected_posts),
        TEST(secrets_stay_at_the_first_origin),
        TEST(own_fields),
        TEST(credentials),
        TEST(basic_is_remembered),
        TEST(basic_is_refused_once),
        TEST(compressed_bodies),
        TEST(bomb),
        TEST(bounds),
        TEST(no_answer_on_a_connection_used_before),
        TEST(time_for_connecting),
        TEST(folded_fields),
        TEST(peers_that_fail),
        TEST(guarded_addresses),
        TEST(names),
        TEST(askers_share_a_look_up),
        TEST(more_calls_than_transfers),
        TEST(more_hosts_than_connections),
        TEST(calls_wait_in_order),
        TEST(cancel),
        TEST(free_ends_all_calls),
        TEST(calls_from_callbacks),
    };

    return cmocka_run_group_tests(tests, init, NULL);
}
