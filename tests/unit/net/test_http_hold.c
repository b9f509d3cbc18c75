/* tests/unit/net/test_http_hold.c - requests that the listener holds until an answer is ready. */
#include <poll.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "http_probe.h"
#include "tests/unit/cmocka_all.h"

static void test_http_hold__answers_a_held_request_from_its_mailbox(void **state)
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

static void test_http_hold__a_reset_ends_holding(void **state)
{
    struct fixture *f = *state;
    struct client c = dial_and_hold(f, "");

    slam(&c);
    assert_true(wait_for(f, &f->n_gone, 1));
    loop_call(f->held_loop, find_none, f);
    expect_works(f);
}

static void test_http_hold__a_half_closed_client_gets_its_answer(void **state)
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

static void test_http_hold__a_reset_after_a_half_close_ends_holding(void **state)
{
    struct fixture *f = *state;
    struct client c = dial_and_hold(f, "");

    shutdown(c.fd, SHUT_WR);
    poll(NULL, 0, 50);
    assert_int_equal(noted(f, &f->n_gone), 0);
    slam(&c);
    assert_true(wait_for(f, &f->n_gone, 1));
}

static void test_http_hold__an_end_after_a_while_ends_holding(void **state)
{
    struct fixture *f = *state;
    struct client c = dial_and_hold(f, "");

    poll(NULL, 0, 1100);
    hang_up(&c);
    assert_true(wait_for(f, &f->n_gone, 1));
}

static void test_http_hold__late_answers_or_504(void **state)
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

static void test_http_hold__a_kept_request_outlives_its_client(void **state)
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

static void test_http_hold__takes_little_in_while_it_holds(void **state)
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

#define T(name) cmocka_unit_test_setup_teardown(test_http_hold__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(answers_a_held_request_from_its_mailbox), T(a_reset_ends_holding),
        T(a_half_closed_client_gets_its_answer),    T(a_reset_after_a_half_close_ends_holding),
        T(an_end_after_a_while_ends_holding),       T(late_answers_or_504),
        T(a_kept_request_outlives_its_client),      T(takes_little_in_while_it_holds),
    };

    return cmocka_run_group_tests_name("http_hold", tests, NULL, NULL);
}
