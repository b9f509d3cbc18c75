/* The HTTP server over real loopback sockets: its answers, deadlines, holding and stopping, and
 * that no way of leaving a connection harms it. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "http_probe.h"

/* ---- answers ---- */

static void test_http_server__answers_with_its_own_fields(void **state)
{
    struct client c = dial(*state);
    struct reply r;

    sayz(&c, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    r = next_reply(&c);
    assert_int_equal(r.status, 200);
    assert_true(str_starts(r.head, STR("HTTP/1.1 200 OK\r\nDate: ")));
    assert_true(
        str_ends(r.head, STR(" GMT\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\n")));
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

/* ---- deadlines: HTTP-25 ---- */

static void test_http_server__header_deadline_counts_from_the_first_byte(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    int64_t start = clock_mono_ms();
    struct client c;
    struct reply r;

    cfg.header_ms = 150;
    reopen(f, &cfg);
    c = dial(f);
    sayz(&c, "GET / HTTP/1.1\r\n");
    for (int i = 0; i < 100 && clock_mono_ms() - start < 5000; i++) { /* a byte now and then */
        struct pollfd p = {c.fd, POLLIN, 0};
        if (poll(&p, 1, 10) == 1)
            break;
        sayz(&c, "X");
    }
    assert_true(clock_mono_ms() - start < 4500);
    r = next_reply(&c);
    assert_int_equal(r.status, 408);
    assert_true(is_closed(&c));
    hang_up(&c);
    c = dial(f); /* a client that says nothing is just closed */
    assert_true(is_closed(&c));
    hang_up(&c);
}

static void test_http_server__body_deadline(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    struct client c;

    cfg.body_ms = 50;
    reopen(f, &cfg);
    c = dial(f);
    sayz(&c, "POST /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab");
    assert_int_equal(next_reply(&c).status, 408);
    assert_true(is_closed(&c));
    hang_up(&c);
}

static void test_http_server__idle_deadline(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    struct client c;

    cfg.idle_ms = 50;
    reopen(f, &cfg);
    c = dial(f);
    sayz(&c, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(next_reply(&c).status, 200);
    assert_true(is_closed(&c));
    hang_up(&c);
}

static void test_http_server__a_reader_without_progress_is_dropped(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    struct client c;

    cfg.write_ms = 50;
    reopen(f, &cfg);
    c = dial_with(f, 4096);
    sayz(&c, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(wait_stat(STAT_http_connections, 1));
    assert_true(wait_stat(STAT_http_connections, 0));
    hang_up(&c);
}

/* A client that takes a few bytes now and then keeps the connection no longer than one that takes
 * none: progress is a rate. */
static void test_http_server__a_reader_that_trickles_is_dropped(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    int64_t slow = stats_get(STAT_http_slow_total);
    struct client c;
    char byte;

    cfg.write_ms = 300; /* so 1228 bytes must be read in that time */
    reopen(f, &cfg);
    c = dial_with(f, 4096);
    sayz(&c, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    for (int i = 0; i < 6000 && stats_get(STAT_http_slow_total) == slow; i++) {
        if (recv(c.fd, &byte, 1, MSG_DONTWAIT) != 1 && errno != EAGAIN)
            break; /* it was closed */
        poll(NULL, 0, 10);
    }
    assert_int_equal(stats_get(STAT_http_slow_total), slow + 1);
    assert_true(wait_stat(STAT_http_connections, 0));
    hang_up(&c);
}

/* The kernel asks for more only when a third of its own room is free again: a client that reads
 * steadily must not be dropped in between. */
static void test_http_server__a_steady_reader_is_kept(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    int64_t slow = stats_get(STAT_http_slow_total), start = clock_mono_ms();
    struct client c;
    char piece[1024];

    cfg.write_ms = 1500; /* longer than a busy machine keeps us from reading */
    reopen(f, &cfg);
    c = dial_with(f, 4096);
    sayz(&c, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    while (clock_mono_ms() - start < 4 * cfg.write_ms) {
        assert_true(recv(c.fd, piece, sizeof piece, 0) > 0);
        poll(NULL, 0, 5);
    }
    assert_int_equal(stats_get(STAT_http_slow_total), slow);
    hang_up(&c);
}

static void test_http_server__unread_answers_have_a_bound_together(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    struct client own[20], shared[20], quick;
    int64_t closed = stats_get(STAT_http_slow_total);
    int n_refused = 0;

    cfg.max_unsent = 3 * BIG_LEN;
    reopen(f, &cfg);
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        own[i] = dial_with(f, 4096);
        sayz(&own[i], "GET /own HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        assert_true(hear(&own[i]));
        if (str_starts(rest_of(&own[i]), STR("HTTP/1.1 503 "))) {
            struct reply r = next_reply(&own[i]);

            n_refused++;
            assert_true(str_eqz(reply_field(r.head, "Retry-After"), "5"));
            assert_true(has(r.body, "too many answers are being read"));
        } else {
            assert_true(str_starts(rest_of(&own[i]), STR("HTTP/1.1 200 ")));
        }
        assert_true(stats_get(STAT_http_unsent_bytes) <= (int64_t)cfg.max_unsent);
    }
    /* on a busy machine they are judged before all have asked: each that is closed makes room */
    closed = stats_get(STAT_http_slow_total) - closed;
    assert_int_equal(n_refused + closed, ARRAY_LEN(own) - 3);
    quick = dial(f); /* a small answer is not held up */
    sayz(&quick, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(next_reply(&quick).status, 200);
    hang_up(&quick);
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        hang_up(&own[i]);
    assert_true(wait_stat(STAT_http_unsent_bytes, 0));

    for (size_t i = 0; i < ARRAY_LEN(shared); i++) { /* one blob counts once */
        shared[i] = dial_with(f, 4096);
        sayz(&shared[i], "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    for (size_t i = 0; i < ARRAY_LEN(shared); i++) {
        assert_true(hear(&shared[i]));
        assert_true(str_starts(rest_of(&shared[i]), STR("HTTP/1.1 200 ")));
    }
    assert_int_equal(stats_get(STAT_http_unsent_bytes), BIG_LEN);
    for (size_t i = 0; i < ARRAY_LEN(shared); i++)
        hang_up(&shared[i]);
    assert_true(wait_stat(STAT_http_unsent_bytes, 0));
}

/* The slowest reader makes room for a new answer, once it has had time to show how it reads. */
static void test_http_server__the_slowest_reader_makes_room(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    struct client slow[3], late;
    int64_t closed = stats_get(STAT_http_slow_total);
    int status = 503;

    cfg.max_unsent = 3 * BIG_LEN;
    reopen(f, &cfg);
    for (size_t i = 0; i < ARRAY_LEN(slow); i++) {
        slow[i] = dial_with(f, 4096);
        sayz(&slow[i], "GET /own HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_true(hear(&slow[i]));
    }
    late = dial(f);
    for (int i = 0; i < 100 && status == 503; i++) {
        sayz(&late, "GET /own HTTP/1.1\r\nHost: x\r\n\r\n");
        status = next_reply(&late).status;
        poll(NULL, 0, status == 503 ? 50 : 0);
    }
    assert_int_equal(status, 200);
    assert_int_equal(stats_get(STAT_http_slow_total), closed + 1);
    hang_up(&late);
    for (size_t i = 0; i < ARRAY_LEN(slow); i++)
        hang_up(&slow[i]);
}

static void test_http_server__half_sent_requests_starve_nobody(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    struct client slow[200];
    int64_t start;

    cfg.max_connections = 300;
    reopen(f, &cfg);
    for (size_t i = 0; i < ARRAY_LEN(slow); i++) {
        slow[i] = dial(f);
        sayz(&slow[i],
             i % 2 ? "GET / HT" : "POST /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc");
    }
    start = clock_mono_ms();
    expect_works(f);
    assert_true(clock_mono_ms() - start < 20000);
    for (size_t i = 0; i < ARRAY_LEN(slow); i++)
        hang_up(&slow[i]);
}

/* ---- holding ---- */

static struct client dial_and_hold(struct fixture *f, const char *after)
{
    struct client c = dial(f);
    int n = noted(f, &f->n_held) + 1;

    sayz(&c, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    sayz(&c, after);
    assert_true(wait_for(f, &f->n_held, n));
    return c;
}

static void answer_held(void *ctx)
{
    struct fixture *f = ctx;
    struct http_request *r = http_request_find(f->held_loop, f->held_serial);

    if (r != NULL)
        http_reply(r, 200, STR_NULL, blob_copy(STR("held")));
}

static void test_http_server__answers_a_held_request_from_its_mailbox(void **state)
{
    struct fixture *f = *state;
    struct client c = dial_and_hold(f, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");

    assert_int_equal(stats_get(STAT_http_held), 1);
    loop_post(f->held_loop, answer_held, f);
    loop_post(f->held_loop, answer_held, f); /* the number means nothing any more */
    assert_true(str_eqz(next_reply(&c).body, "held"));
    assert_true(str_eqz(next_reply(&c).body, "hello\n")); /* the one behind it */
    assert_int_equal(noted(f, &f->n_gone), 0);
    hang_up(&c);
}

static void find_none(void *ctx)
{
    struct fixture *f = ctx;

    assert_null(http_request_find(f->held_loop, 0));
    assert_null(http_request_find(f->held_loop, UINT64_MAX));
    assert_null(http_request_find(f->held_loop, f->held_serial));
}

static void test_http_server__a_reset_ends_holding(void **state)
{
    struct fixture *f = *state;
    struct client c = dial_and_hold(f, "");

    slam(&c);
    assert_true(wait_for(f, &f->n_gone, 1));
    loop_call(f->held_loop, find_none, f);
    expect_works(f);
}

static void test_http_server__a_half_closed_client_gets_its_answer(void **state)
{
    struct fixture *f = *state;
    struct client c = dial_and_hold(f, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");

    shutdown(c.fd, SHUT_WR);
    poll(NULL, 0, 1300); /* past the second in which the end of input is not leaving */
    loop_post(f->held_loop, answer_held, f);
    assert_true(str_eqz(next_reply(&c).body, "held"));
    assert_true(str_eqz(next_reply(&c).body, "hello\n"));
    assert_true(is_closed(&c));
    assert_int_equal(noted(f, &f->n_gone), 0);
    hang_up(&c);
}

static void test_http_server__a_reset_after_a_half_close_ends_holding(void **state)
{
    struct fixture *f = *state;
    struct client c = dial_and_hold(f, "");

    shutdown(c.fd, SHUT_WR);
    poll(NULL, 0, 50);
    assert_int_equal(noted(f, &f->n_gone), 0);
    slam(&c);
    assert_true(wait_for(f, &f->n_gone, 1));
}

static void test_http_server__an_end_after_a_while_ends_holding(void **state)
{
    struct fixture *f = *state;
    struct client c = dial_and_hold(f, "");

    poll(NULL, 0, 1100);
    hang_up(&c);
    assert_true(wait_for(f, &f->n_gone, 1));
}

static void test_http_server__late_answers_or_504(void **state)
{
    struct fixture *f = *state;
    struct client c = dial(f);

    f->late_answers = true;
    sayz(&c, "GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(str_eqz(next_reply(&c).body, "late"));
    f->late_answers = false;
    sayz(&c, "GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(next_reply(&c).status, 504);
    assert_int_equal(noted(f, &f->n_late), 2);
    assert_int_equal(noted(f, &f->n_gone), 0);
    hang_up(&c);
}

static void answer_kept(void *ctx)
{
    struct fixture *f = ctx;

    assert_non_null(http_request_peer(f->kept));
    http_reply(f->kept, 200, STR_NULL, blob_ref(f->big));
}

static void test_http_server__a_kept_request_outlives_its_client(void **state)
{
    struct fixture *f = *state;
    struct client c = dial(f);

    sayz(&c, "GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(wait_for(f, &f->n_held, 1));
    slam(&c);
    assert_true(wait_stat(STAT_http_connections, 0));
    loop_call(f->held_loop, answer_kept, f);
    expect_works(f);
}

static void test_http_server__takes_little_in_while_it_holds(void **state)
{
    struct fixture *f = *state;
    struct client c = dial_and_hold(f, "");
    char *junk = mem_zalloc(1 << 20);
    ssize_t n, total = 0;

    memset(junk, 'x', 1 << 20);
    for (int quiet = 0; quiet < 10;) { /* until nothing moves any more */
        n = send(c.fd, junk, 1 << 20, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0)
            total += n;
        else
            poll(NULL, 0, 5);
        quiet = n > 0 ? 0 : quiet + 1;
        assert_true(total < 32 << 20); /* what the kernel keeps is bounded by itself */
    }
    mem_free(junk);
    slam(&c); /* and it is noticed although nothing is read */
    assert_true(wait_for(f, &f->n_gone, 1));
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

    http_server_stop(f->server, 5000);
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
    http_server_stop(f->server, 5000);
    for (size_t i = 0; i < ARRAY_LEN(c); i++) {
        assert_int_equal(next_reply(&c[i]).status, 200);
        hang_up(&c[i]);
    }
}

static void test_http_server__stop_ends_what_does_not_end(void **state)
{
    struct fixture *f = *state;
    struct client c = dial_and_hold(f, ""), d = dial(f), e = dial_with(f, 4096);

    sayz(&d, "GET / HTTP/1.1\r\n");
    sayz(&e, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(hear(&e));
    http_server_stop(f->server, 30);
    assert_int_equal(noted(f, &f->n_gone), 1);
    assert_true(is_closed(&c));
    hang_up(&c);
    hang_up(&d);
    hang_up(&e);
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
        T(header_deadline_counts_from_the_first_byte),
        T(body_deadline),
        T(idle_deadline),
        T(a_reader_without_progress_is_dropped),
        T(a_reader_that_trickles_is_dropped),
        T(a_steady_reader_is_kept),
        T(unread_answers_have_a_bound_together),
        T(the_slowest_reader_makes_room),
        T(half_sent_requests_starve_nobody),
        T(answers_a_held_request_from_its_mailbox),
        T(a_reset_ends_holding),
        T(a_half_closed_client_gets_its_answer),
        T(a_reset_after_a_half_close_ends_holding),
        T(an_end_after_a_while_ends_holding),
        T(late_answers_or_504),
        T(a_kept_request_outlives_its_client),
        T(takes_little_in_while_it_holds),
        T(over_the_cap_the_oldest_idle_one_goes),
        T(loops_share_a_port),
        T(survives_leaving_at_any_point),
        T(stop_lets_requests_end),
        T(stop_serves_what_is_in_the_queue),
        T(stop_ends_what_does_not_end),
        T(refuses_addresses_it_cannot_read),
        T(refuses_a_port_in_use),
        T(outlives_a_lack_of_descriptors),
        T(listens_on_ipv6_and_names),
        T(says_which_interface_is_missing),
    };

    return cmocka_run_group_tests_name("http_server", tests, NULL, NULL);
}
