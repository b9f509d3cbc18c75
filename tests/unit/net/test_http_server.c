/* tests/unit/net/test_http_server.c - the listener: replies, connections, stopping, addresses. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "http_probe.h"
#include "tests/unit/cmocka_all.h"

/* ---- answers ---- */

static void test_http_server__answers_with_its_own_fields(void **state)
{
    struct client c = dial(*state);
    struct reply r;

    sayz(&c, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    r = next_reply(&c);
    assert_int_equal(r.status, 200);
    assert_true(str_starts(r.head, STR("HTTP/1.1 200 OK\r\nDate: ")));
    assert_true(str_find(r.head, STR(" GMT\r\nX-Request-Id: ")) >= 0);
    assert_true(str_ends(r.head, STR("\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\n")));
    assert_true(str_eqz(r.body, "hello\n"));
    hang_up(&c);
}

static void test_http_server__shows_the_request(void **state)
{
    struct client c = dial(*state);
    struct reply r;

    sayz(&c, "PUT /a%20b/%C3%A9/?x=%20&y HTTP/1.1\r\nHost: feeds.example:81\r\nX-Test: one\r\n"
             "x-tEST:  two \t\r\nContent-Length: 4\r\n\r\nbody");
    r = next_reply(&c);
    assert_true(str_eqz(r.body, "method=PUT\ntarget=/a%20b/%C3%A9/?x=%20&y\npath=/a b/\xC3\xA9\n"
                                "query=x=%20&y\nhost=feeds.example:81\nx=one, two\nbody=body\n"));
    hang_up(&c);
}

/* REST-29, HTTP-13 */
static void test_http_server__head_counts_the_body_and_does_not_send_it(void **state)
{
    struct client c = dial(*state);
    struct reply r;

    sayz(&c, "HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    r = next_reply_of(&c, true);
    assert_int_equal(r.status, 200);
    assert_true(str_eqz(reply_field(r.head, "Content-Length"), "6"));
    r = next_reply(&c);
    assert_true(str_eqz(r.body, "hello\n"));
    hang_up(&c);
}

static void test_http_server__304_has_neither_body_nor_length(void **state)
{
    struct client c = dial(*state);
    struct reply r;

    sayz(&c, "GET /none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    r = next_reply(&c);
    assert_int_equal(r.status, 304);
    assert_true(str_is_null(reply_field(r.head, "Content-Length")));
    assert_true(str_eqz(reply_field(r.head, "ETag"), "\"x\""));
    assert_true(is_closed(&c));
    hang_up(&c);
}

/* HTTP-17 */
static void test_http_server__pipelined_requests_are_answered_in_order(void **state)
{
    struct client c = dial(*state);
    struct buf b = BUF_INIT(BUF_ANY);
    char wanted[32];

    for (int i = 0; i < 2000; i++) /* more than the server takes in at once */
        buf_printf(&b, "\r\nGET /%d HTTP/1.1\r\nHost: x\r\n\r\n", i);
    say(&c, buf_view(&b));
    for (int i = 0; i < 2000; i++) {
        struct reply r = next_reply(&c);
        assert_int_equal(r.status, 200);
        snprintf(wanted, sizeof wanted, "target=/%d\n", i);
        assert_true(has(r.body, wanted));
    }
    buf_release(&b);
    hang_up(&c);
}

static void test_http_server__closes_when_asked_to(void **state)
{
    struct client c = dial(*state);
    struct reply r;

    sayz(&c, "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: foo, Close\r\n\r\n");
    r = next_reply(&c);
    assert_true(str_eqz(reply_field(r.head, "Connection"), "close"));
    assert_true(is_closed(&c));
    hang_up(&c);
}

/* HTTP-19 */
static void test_http_server__http10_is_answered_and_closed_unless_it_asks(void **state)
{
    struct client c = dial(*state);
    struct reply r;

    sayz(&c, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    r = next_reply(&c);
    assert_int_equal(r.status, 200);
    assert_true(str_eqz(reply_field(r.head, "Connection"), "keep-alive"));
    assert_true(has(r.body, "host=127.0.0.1:"));
    sayz(&c, "GET /hello HTTP/1.0\r\n\r\n");
    r = next_reply(&c);
    assert_true(str_eqz(r.body, "hello\n"));
    assert_true(str_eqz(reply_field(r.head, "Connection"), "close"));
    assert_true(is_closed(&c));
    hang_up(&c);
}

static void test_http_server__says_100_continue(void **state)
{
    struct client c = dial(*state);
    struct reply r;

    sayz(&c, "POST /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-Continue\r\n\r\n");
    r = next_reply(&c);
    assert_int_equal(r.status, 100);
    assert_true(str_eqz(r.head, "HTTP/1.1 100 Continue\r\n\r\n"));
    sayz(&c, "abc");
    r = next_reply(&c);
    assert_int_equal(r.status, 200);
    assert_true(str_eqz(r.body, "3"));
    /* a client that did not wait is not kept waiting, nor one that has no body */
    sayz(&c,
         "POST /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc");
    assert_int_equal(next_reply(&c).status, 200);
    sayz(&c, "GET /hello HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n");
    assert_int_equal(next_reply(&c).status, 200);
    hang_up(&c);
}

static void test_http_server__sends_a_large_body_to_a_slow_reader(void **state)
{
    struct fixture *f = *state;
    struct client c = dial_with(f, 4096);
    struct reply r;

    sayz(&c, "GET /big HTTP/1.1\r\nHost: x\r\n\r\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    poll(NULL, 0, 20);
    r = next_reply(&c);
    assert_int_equal(r.body.len, BIG_LEN);
    assert_true(str_eq(r.body, blob_bytes(f->big)));
    assert_true(str_eqz(next_reply(&c).body, "hello\n"));
    hang_up(&c);
}

static void test_http_server__a_half_closed_slow_reader_gets_all(void **state)
{
    struct client c = dial_with(*state, 4096);

    sayz(&c, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    shutdown(c.fd, SHUT_WR);
    poll(NULL, 0, 20);
    assert_int_equal(next_reply(&c).body.len, BIG_LEN);
    assert_true(is_closed(&c));
    hang_up(&c);
}

static void test_http_server__takes_a_body_up_to_its_bound(void **state)
{
    struct client c = dial(*state);
    char *body = mem_zalloc(default_cfg.max_body);

    sayz(&c, "POST /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n");
    say(&c, str_of(body, default_cfg.max_body));
    assert_true(str_eqz(next_reply(&c).body, "1048576"));
    mem_free(body);
    hang_up(&c);
}

/* Who is about to send much is not known yet: the bodies of all clients together have a bound.
 * Small ones are taken all the same. */
static void test_http_server__large_bodies_have_a_bound_together(void **state)
{
    enum { CLIENTS = 20 };
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    struct client c[CLIENTS], other;
    size_t len = default_cfg.max_body - 1;
    char *body = mem_zalloc(len);
    int64_t refused = stats_get(STAT_http_refused_total);

    cfg.n_loops = 1;
    cfg.body_ms = 60000;
    reopen(f, &cfg);
    for (int i = 0; i < CLIENTS; i++) { /* all but the last byte */
        c[i] = dial(f);
        sayz(&c[i], "POST /sink HTTP/1.1\r\nHost: x\r\n");
        sayz(&c[i], i % 2 ? "Content-Length: 1048576\r\n\r\n"
                          : "Transfer-Encoding: chunked\r\n\r\n100000\r\n");
        say(&c[i], str_of(body, len));
    }
    assert_true(wait_stat(STAT_http_refused_total, refused + 4));
    for (int i = 0; i < CLIENTS; i++) {
        struct pollfd p = {c[i].fd, POLLIN, 0};

        if (poll(&p, 1, 0) == 1)
            assert_int_equal(next_reply(&c[i]).status, 503);
    }
    other = dial(f);
    sayz(&other, "POST /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd");
    assert_true(str_eqz(next_reply(&other).body, "4"));
    for (int i = 0; i < CLIENTS; i++)
        hang_up(&c[i]);
    for (int i = 0; i < 500; i++) { /* ... and they leave room behind */
        struct client again = dial(f);
        int status;

        sayz(&again, "POST /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n");
        say(&again, str_of(body, len));
        sayz(&again, ".");
        status = next_reply(&again).status;
        hang_up(&again);
        if (status == 200)
            break;
        assert_true(i < 499);
    }
    hang_up(&other);
    mem_free(body);
}

/* ---- connections ---- */

static void test_http_server__over_the_cap_the_oldest_idle_one_goes(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    struct client a, b, c, d;
    struct reply r;

    cfg.max_connections = 2;
    reopen(f, &cfg);
    a = dial(f);
    sayz(&a, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(next_reply(&a).status, 200);
    b = dial_and_hold(f, "");
    c = dial_and_hold(f, "");
    assert_true(is_closed(&a));
    d = dial(f);
    r = next_reply(&d);
    assert_int_equal(r.status, 503);
    assert_true(str_eqz(reply_field(r.head, "Retry-After"), "5"));
    assert_true(has(r.body, "too many connections") && str_ends(r.body, STR("}\n")));
    assert_true(is_closed(&d));
    hang_up(&a);
    hang_up(&b);
    hang_up(&c);
    hang_up(&d);
}

static void test_http_server__loops_share_a_port(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    struct loop *first = NULL;
    bool both = false;

    cfg.n_loops = 2;
    reopen(f, &cfg);
    for (int i = 0; i < 200 && !both; i++) {
        struct client c = dial_and_hold(f, "");
        first = first == NULL ? f->held_loop : first;
        both = first != f->held_loop;
        hang_up(&c);
    }
    assert_true(both);
}

/* Clients that leave in the middle of anything, in both manners. */
static void test_http_server__survives_leaving_at_any_point(void **state)
{
    static const char text[] =
        "POST /sink HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n0\r\n\r\nGET /hold HTTP/1.1\r\nHost: x\r\n\r\n"
        "GET /big HTTP/1.1\r\nHost: x\r\n\r\n";
    static const char big[] =
        "GET /big HTTP/1.1\r\nHost: x\r\n\r\nGET /big HTTP/1.1\r\nHost: x\r\n\r\nX";
    struct fixture *f = *state;

    for (size_t cut = 0; cut < sizeof text; cut++) {
        struct client c = dial(f);
        say(&c, str_of(text, cut));
        if (cut % 3 == 0)
            poll(NULL, 0, 1);
        if (cut % 2)
            slam(&c);
        else
            hang_up(&c);
    }
    for (int i = 0; i < 20; i++) {
        struct client c = dial_with(f, 4096);
        sayz(&c, big);
        while (c.in.len < (size_t)i * 100000 && hear(&c))
            ;
        if (i % 2)
            slam(&c);
        else
            hang_up(&c);
    }
    expect_works(f);
}

/* ---- stopping ---- */

static void *stop_slowly(void *arg)
{
    struct fixture *f = arg;

    http_server_stop(f->server, 60000);
    return NULL;
}

static void test_http_server__stop_lets_requests_end(void **state)
{
    struct fixture *f = *state;
    struct client c = dial_and_hold(f, ""), idle = dial(f), queued;
    int64_t start = clock_mono_ms();
    struct reply r;
    pthread_t thread;

    sayz(&idle, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(next_reply(&idle).status, 200);
    queued = dial(f);
    sayz(&queued, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    pthread_create(&thread, NULL, stop_slowly, f);
    assert_int_equal(next_reply(&queued).status, 200);
    assert_true(is_closed(&idle));
    loop_post(f->held_loop, answer_held, f);
    r = next_reply(&c);
    assert_true(str_eqz(r.body, "held"));
    assert_true(str_eqz(reply_field(r.head, "Connection"), "close"));
    assert_true(is_closed(&c));
    pthread_join(thread, NULL);
    assert_true(clock_mono_ms() - start < 20000);
    assert_int_equal(noted(f, &f->n_gone), 0);
    hang_up(&c);
    hang_up(&idle);
    hang_up(&queued);
}

static void test_http_server__stop_serves_what_is_in_the_queue(void **state)
{
    struct fixture *f = *state;
    struct client c[50];

    for (size_t i = 0; i < ARRAY_LEN(c); i++) {
        c[i] = dial(f);
        sayz(&c[i], "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    http_server_stop(f->server, 60000);
    for (size_t i = 0; i < ARRAY_LEN(c); i++) {
        assert_int_equal(next_reply(&c[i]).status, 200);
        hang_up(&c[i]);
    }
}

/* OPS-07: at the end clients that wait, and those that have sent a part of a request, are answered. */
static void test_http_server__stop_ends_what_does_not_end(void **state)
{
    struct fixture *f = *state;
    struct client c = dial_and_hold(f, ""), d = dial(f), e = dial_with(f, 4096);

    sayz(&d, "GET / HTTP/1.1\r\n");
    sayz(&e, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(hear(&e));
    http_server_stop(f->server, 30);
    assert_int_equal(noted(f, &f->n_late), 1);
    assert_int_equal(next_reply(&c).status, 504);
    assert_int_equal(next_reply(&d).status, 408);
    assert_true(is_closed(&c));
    hang_up(&c);
    hang_up(&d);
    hang_up(&e);
}

/* NODE-08: a client that reads is told to ask again. A write that was begun may have been done. */
static void test_http_server__stop_tells_who_may_ask_again(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    struct client get, post;
    struct reply r;

    cfg.n_loops = 1;
    reopen(f, &cfg);
    f->late_holds = true;
    get = dial_and_hold(f, "");
    post = dial(f);
    sayz(&post, "POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    assert_true(wait_for(f, &f->n_held, 2));
    http_server_stop(f->server, 30);
    r = next_reply(&get);
    assert_int_equal(r.status, 503);
    assert_true(str_eqz(reply_field(r.head, "Retry-After"), "1"));
    r = next_reply(&post);
    assert_int_equal(r.status, 503);
    assert_true(str_is_null(reply_field(r.head, "Retry-After")));
    assert_true(has(r.body, "whether this was done is not known"));
    hang_up(&get);
    hang_up(&post);
}

static void *stop_in_time(void *arg)
{
    struct fixture *f = arg;

    http_server_stop(f->server, 2000); /* a quarter of it is for the last answers */
    return NULL;
}

/* OPS-07: closing a connection with unread input would reset it, and its answer might be lost. */
static void test_http_server__stop_does_not_reset_who_still_sends(void **state)
{
    struct fixture *f = *state;
    struct str piece = STR("0123456789012345678901234567890123456789");
    struct client c[8];
    pthread_t thread;
    int64_t answered;

    for (size_t i = 0; i < ARRAY_LEN(c); i++) {
        c[i] = dial(f);
        sayz(&c[i], "POST /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\nab");
    }
    pthread_create(&thread, NULL, stop_in_time, f);
    while (poll(&(struct pollfd){c[0].fd, POLLIN, 0}, 1, 5) == 0)
        for (size_t i = 0; i < ARRAY_LEN(c); i++)
            say(&c[i], piece);
    answered = clock_mono_ms();
    for (int round = 0; round < 3; round++, poll(NULL, 0, 20))
        for (size_t i = 0; i < ARRAY_LEN(c); i++) {
            bool is_sent = send(c[i].fd, piece.ptr, piece.len, MSG_NOSIGNAL) == (ssize_t)piece.len;

            assert_true(is_sent || clock_mono_ms() - answered > 400); /* or it was reset */
        }
    for (size_t i = 0; i < ARRAY_LEN(c); i++) {
        assert_int_equal(next_reply(&c[i]).status, 408);
        assert_true(is_closed(&c[i]));
        hang_up(&c[i]);
    }
    pthread_join(thread, NULL);
}

/* OPS-07: clients that do not close their connections are waited for together. */
static void test_http_server__stop_waits_for_all_at_once(void **state)
{
    struct fixture *f = *state;
    struct client c[100];
    int64_t start;

    for (size_t i = 0; i < ARRAY_LEN(c); i++) {
        c[i] = dial(f);
        sayz(&c[i], "GET / HTTP/1.1\r\n");
    }
    assert_true(wait_stat(STAT_http_connections, ARRAY_LEN(c)));
    start = clock_mono_ms();
    http_server_stop(f->server, 800); /* one after the other would take 20 s */
    assert_true(clock_mono_ms() - start < 10000);
    for (size_t i = 0; i < ARRAY_LEN(c); i++) {
        assert_int_equal(next_reply(&c[i]).status, 408);
        assert_true(is_closed(&c[i]));
        hang_up(&c[i]);
    }
}

/* ---- addresses ---- */

static void never(void *ctx UNUSED, struct http_request *r)
{
    http_reply(r, 500, STR_NULL, NULL);
}

static void test_http_server__refuses_addresses_it_cannot_read(void **state UNUSED)
{
    static const char *const wrong[] = {"",        "127.0.0.1", "127.0.0.1:",  "127.0.0.1:x",
                                        ":80",     "::1:80",    "[::1]",       "[]:80",
                                        "a:65536", "a:-1",      "1.2.3.4.5:80"};
    struct http_server_cfg cfg = default_cfg;
    struct http_server *s = NULL;

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct err err = ERR_INIT;
        cfg.listen = str_from(wrong[i]);
        assert_int_equal(http_server_new(&cfg, never, NULL, &s, &err), RC_INPUT);
        assert_null(s);
        assert_true(err.text[0] != '\0');
    }
}

static void test_http_server__refuses_a_port_in_use(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    struct http_server *s = NULL;
    struct err err = ERR_INIT;
    char text[32];

    snprintf(text, sizeof text, "127.0.0.1:%d", http_server_port(f->server));
    cfg.listen = str_from(text);
    assert_int_equal(http_server_new(&cfg, never, NULL, &s, &err), RC_IO);
    assert_true(has(str_from(err.text), text) && has(str_from(err.text), "in use"));
}

static void test_http_server__outlives_a_lack_of_descriptors(void **state)
{
    struct fixture *f = *state;
    struct client idle = dial(f), busy, late;
    struct rlimit before, tight;

    sayz(&idle, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(next_reply(&idle).status, 200);
    busy = dial_and_hold(f, "");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = before;
    tight.rlim_cur = (rlim_t)busy.fd + 3; /* its server's end, one client more, and no more */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    late = dial(f);
    assert_true(is_closed(&idle)); /* given up, so that there is a descriptor again */
    sayz(&late, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(next_reply(&late).status, 200);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    hang_up(&idle);
    hang_up(&busy);
    hang_up(&late);
}

static void test_http_server__listens_on_ipv6_and_names(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;

    cfg.listen = STR("localhost:0");
    reopen(f, &cfg);
    assert_true(http_server_port(f->server) > 0);
    cfg.listen = STR("[::1]:0");
    reopen(f, &cfg);
    assert_true(http_server_port(f->server) > 0);
    cfg.listen = STR("[::1%lo]:0");
    reopen(f, &cfg);
    assert_true(http_server_port(f->server) > 0);
    cfg.listen = STR("[::1%1]:0");
    reopen(f, &cfg);
    assert_true(http_server_port(f->server) > 0);
}

static void test_http_server__says_which_interface_is_missing(void **state UNUSED)
{
    static const struct {
        const char *listen, *says;
    } rows[] = {{"[fe80::1%nosuch0]:0", "interface \"nosuch0\""},
                {"[fe80::1%4000000000]:0", "interface \"4000000000\""},
                {"[fe80::1]:0", "%eth0"}};
    struct http_server_cfg cfg = default_cfg;
    struct http_server *s = NULL;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;

        cfg.listen = str_from(rows[i].listen);
        assert_int_equal(http_server_new(&cfg, never, NULL, &s, &err), RC_INPUT);
        if (!has(str_from(err.text), rows[i].says) || !has(str_from(err.text), rows[i].listen))
            fail_msg("%s", err.text);
    }
}

#define T(name) cmocka_unit_test_setup_teardown(test_http_server__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(answers_with_its_own_fields),
        T(shows_the_request),
        T(head_counts_the_body_and_does_not_send_it),
        T(304_has_neither_body_nor_length),
        T(pipelined_requests_are_answered_in_order),
        T(closes_when_asked_to),
        T(http10_is_answered_and_closed_unless_it_asks),
        T(says_100_continue),
        T(sends_a_large_body_to_a_slow_reader),
        T(a_half_closed_slow_reader_gets_all),
        T(takes_a_body_up_to_its_bound),
        T(large_bodies_have_a_bound_together),
        T(over_the_cap_the_oldest_idle_one_goes),
        T(loops_share_a_port),
        T(survives_leaving_at_any_point),
        T(stop_lets_requests_end),
        T(stop_serves_what_is_in_the_queue),
        T(stop_ends_what_does_not_end),
        T(stop_tells_who_may_ask_again),
        T(stop_does_not_reset_who_still_sends),
        T(stop_waits_for_all_at_once),
        T(refuses_addresses_it_cannot_read),
        T(refuses_a_port_in_use),
        T(outlives_a_lack_of_descriptors),
        T(listens_on_ipv6_and_names),
        T(says_which_interface_is_missing),
    };

    return cmocka_run_group_tests_name("http_server", tests, NULL, NULL);
}
