/* tests/unit/net/test_http_deadlines.c - slow and silent clients of the listener. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "http_probe.h"
#include "tests/unit/cmocka_all.h"

/* ---- HTTP-25 ---- */

static void test_http_deadlines__header_deadline_counts_from_the_first_byte(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    struct client c;
    struct reply r;
    int i;

    cfg.header_ms = 150;
    reopen(f, &cfg);
    c = dial(f);
    sayz(&c, "GET / HTTP/1.1\r\n");
    for (i = 0; i < 3000; i++) { /* a byte now and then */
        struct pollfd p = {c.fd, POLLIN, 0};
        if (poll(&p, 1, 10) == 1)
            break;
        sayz(&c, "X");
    }
    assert_true(i < 3000);
    r = next_reply(&c);
    assert_int_equal(r.status, 408);
    assert_true(is_closed(&c));
    hang_up(&c);
    c = dial(f); /* a client that says nothing is just closed */
    assert_true(is_closed(&c));
    hang_up(&c);
}

static void test_http_deadlines__body_deadline(void **state)
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

static void test_http_deadlines__idle_deadline(void **state)
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

static void test_http_deadlines__a_reader_without_progress_is_dropped(void **state)
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
static void test_http_deadlines__a_reader_that_trickles_is_dropped(void **state)
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
static void test_http_deadlines__a_steady_reader_is_kept(void **state)
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
        assert_true(read_some(&c, piece, sizeof piece) > 0);
        poll(NULL, 0, 5);
    }
    assert_int_equal(stats_get(STAT_http_slow_total), slow);
    hang_up(&c);
}

static void test_http_deadlines__unread_answers_have_a_bound_together(void **state)
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
static void test_http_deadlines__the_slowest_reader_makes_room(void **state)
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

static void test_http_deadlines__half_sent_requests_starve_nobody(void **state)
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

#define T(name) cmocka_unit_test_setup_teardown(test_http_deadlines__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(header_deadline_counts_from_the_first_byte),
        T(body_deadline),
        T(idle_deadline),
        T(a_reader_without_progress_is_dropped),
        T(a_reader_that_trickles_is_dropped),
        T(a_steady_reader_is_kept),
        T(unread_answers_have_a_bound_together),
        T(the_slowest_reader_makes_room),
        T(half_sent_requests_starve_nobody),
    };

    return cmocka_run_group_tests_name("http_deadlines", tests, NULL, NULL);
}
