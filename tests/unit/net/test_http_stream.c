/* Streamed replies over real sockets: framing, waiting, readers that stop, and all ways of their
 * end. SSE-01, SSE-04 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "http_probe.h"
#include "net/http_server_priv.h"
#include "tests/unit/cmocka_all.h"

/* ---- on the loop of a stream ---- */

struct order {
    struct streamed *s;
    struct blob *const *pieces; /* NULL: end */
    size_t n, unsent;
};

static void obey(void *ctx)
{
    struct order *o = ctx;

    if (o->s->n_gone > 0) /* it is freed */
        return;
    if (o->pieces == NULL) {
        http_stream_end(o->s->http);
        return;
    }
    for (size_t i = 0; i < o->n; i++)
        blob_ref(o->pieces[i]);
    http_stream_send(o->s->http, o->pieces, o->n);
    o->unsent = http_stream_unsent(o->s->http);
}

/* Send pieces, which the caller keeps; returns what waits then. */
static size_t send_pieces(struct streamed *s, struct blob *const *pieces, size_t n)
{
    struct order o = {s, pieces, n, 0};

    loop_call(s->loop, obey, &o);
    return o.unsent;
}

static void send_text(struct streamed *s, const char *z)
{
    struct blob *b = blob_copy(str_from(z));

    send_pieces(s, &b, 1);
    blob_unref(&b);
}

static void end(struct streamed *s)
{
    struct order o = {.s = s};

    loop_call(s->loop, obey, &o);
}

/* ---- a client ---- */

/* Begin the i-th stream of the fixture; its head is read. */
static struct client begin(struct fixture *f, int i, int receive_room)
{
    struct client c = dial_with(f, receive_room);

    sayz(&c, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(next_reply_of(&c, true).status, 200);
    assert_true(wait_for(f, &f->n_streams, i + 1));
    return c;
}

/* The next chunk; null at the end of the connection. */
static struct str next_chunk(struct client *c)
{
    ssize_t line;
    size_t len;

    while ((line = str_find(rest_of(c), STR("\r\n"))) < 0)
        if (!hear(c))
            return STR_NULL;
    len = strtoul(rest_of(c).ptr, NULL, 16);
    while (rest_of(c).len < (size_t)line + len + 4)
        if (!hear(c))
            return STR_NULL;
    assert_memory_equal(rest_of(c).ptr + (size_t)line + 2 + len, "\r\n", 2);
    c->at += (size_t)line + len + 4;
    return str_of(c->in.ptr + c->at - 2 - len, len);
}

/* ---- framing ---- */

static void test_http_stream__pieces_are_chunks(void **state)
{
    struct fixture *f = *state;
    struct client c = dial(f);
    struct reply r;

    sayz(&c, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    r = next_reply_of(&c, true);
    assert_true(str_eqz(reply_field(r.head, "Transfer-Encoding"), "chunked"));
    assert_true(str_eqz(reply_field(r.head, "Content-Type"), "text/x"));
    assert_true(str_is_null(reply_field(r.head, "Content-Length")));
    assert_true(wait_for(f, &f->n_streams, 1));
    send_text(&f->streams[0], "one");
    assert_true(str_eqz(next_chunk(&c), "one"));
    send_text(&f->streams[0], "two, which is longer");
    assert_true(str_eqz(next_chunk(&c), "two, which is longer"));
    end(&f->streams[0]);
    assert_int_equal(next_chunk(&c).len, 0);
    sayz(&c, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"); /* the connection goes on */
    assert_true(str_eqz(next_reply(&c).body, "hello\n"));
    assert_int_equal(noted(f, &f->streams[0].n_gone), 0);
    hang_up(&c);
}

static void test_http_stream__http10_gets_bytes_until_the_end(void **state)
{
    struct fixture *f = *state;
    struct client c = dial(f);
    struct reply r;

    sayz(&c, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    r = next_reply(&c);
    assert_true(str_eqz(reply_field(r.head, "Connection"), "close"));
    assert_true(str_is_null(reply_field(r.head, "Transfer-Encoding")));
    assert_true(wait_for(f, &f->n_streams, 1));
    send_text(&f->streams[0], "one");
    send_text(&f->streams[0], "two");
    end(&f->streams[0]);
    while (hear(&c))
        ;
    assert_true(str_eqz(rest_of(&c), "onetwo"));
    hang_up(&c);
}

static void test_http_stream__head_is_answered_at_once(void **state)
{
    struct fixture *f = *state;
    struct client c = dial(f);

    sayz(&c, "HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(next_reply_of(&c, true).status, 200);
    assert_true(str_eqz(next_reply(&c).body, "hello\n"));
    assert_null(f->streams[0].http);
    hang_up(&c);
}

static void test_http_stream__the_next_request_waits_for_the_end(void **state)
{
    struct fixture *f = *state;
    struct client c = begin(f, 0, 0);

    sayz(&c, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    send_text(&f->streams[0], "one");
    assert_true(str_eqz(next_chunk(&c), "one"));
    end(&f->streams[0]);
    assert_int_equal(next_chunk(&c).len, 0);
    assert_true(str_eqz(next_reply(&c).body, "hello\n"));
    hang_up(&c);
}

/* ---- waiting ---- */

static void test_http_stream__a_slow_reader_gets_all_in_order(void **state)
{
    struct fixture *f = *state;
    struct client c = begin(f, 0, 4096);
    struct blob *pieces[300], *small = blob_copy(STR("."));
    size_t unsent;

    for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
        pieces[i] = i % 100 == 99 ? f->big : small;
    unsent = send_pieces(&f->streams[0], pieces, ARRAY_LEN(pieces));
    assert_true(unsent > BIG_LEN);
    assert_true(stats_get(STAT_http_unsent_bytes) >= BIG_LEN); /* shared: it counts once */
    assert_true(stats_get(STAT_http_unsent_bytes) < BIG_LEN + 300);
    assert_int_equal(noted(f, &f->streams[0].n_room), 0);
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        struct str chunk = next_chunk(&c);

        assert_true(str_eq(chunk, blob_bytes(pieces[i])));
    }
    assert_true(wait_for(f, &f->streams[0].n_room, 1));
    assert_int_equal(send_pieces(&f->streams[0], &small, 1), 0);
    assert_true(str_eqz(next_chunk(&c), "."));
    assert_true(wait_stat(STAT_http_unsent_bytes, 0));
    blob_unref(&small);
    hang_up(&c);
}

static void test_http_stream__an_end_waits_for_what_is_unsent(void **state)
{
    struct fixture *f = *state;
    struct client c = begin(f, 0, 4096);

    send_pieces(&f->streams[0], &f->big, 1);
    end(&f->streams[0]);
    assert_int_equal(next_chunk(&c).len, BIG_LEN);
    assert_int_equal(next_chunk(&c).len, 0);
    sayz(&c, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(str_eqz(next_reply(&c).body, "hello\n"));
    assert_int_equal(noted(f, &f->streams[0].n_room), 0);
    hang_up(&c);
}

static void test_http_stream__unsent_bytes_have_a_bound_together(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    struct client c[3];
    struct blob *own;

    cfg.max_unsent = 2 * BIG_LEN + BIG_LEN / 2;
    reopen(f, &cfg);
    for (int i = 0; i < 3; i++) {
        c[i] = begin(f, i, 4096);
        own = blob_copy(blob_bytes(f->big));
        send_pieces(&f->streams[i], &own, 1);
        blob_unref(&own);
    }
    assert_true(wait_for(f, &f->streams[2].n_gone, 1));
    assert_int_equal(noted(f, &f->streams[0].n_gone) + noted(f, &f->streams[1].n_gone), 0);
    assert_true(wait_stat(STAT_http_unsent_bytes, 2 * BIG_LEN));
    for (int i = 0; i < 3; i++)
        hang_up(&c[i]);
    assert_true(wait_stat(STAT_http_unsent_bytes, 0));
}

/* A large answer finds room, though streams that nobody reads have taken it. */
static void test_http_stream__the_slowest_makes_room_for_an_answer(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    struct client stopped, other;
    struct blob *own;
    int status = 503;

    cfg.max_unsent = BIG_LEN + BIG_LEN / 2;
    reopen(f, &cfg);
    stopped = begin(f, 0, 4096);
    own = blob_copy(blob_bytes(f->big));
    send_pieces(&f->streams[0], &own, 1);
    blob_unref(&own);
    other = dial(f);
    for (int i = 0; i < 100 && status == 503; i++) {
        sayz(&other, "GET /own HTTP/1.1\r\nHost: x\r\n\r\n");
        status = next_reply(&other).status;
        poll(NULL, 0, status == 503 ? 50 : 0);
    }
    assert_int_equal(status, 200);
    assert_true(wait_for(f, &f->streams[0].n_gone, 1));
    hang_up(&stopped);
    hang_up(&other);
}

/* ---- readers that stop: SSE-04 ---- */

static void test_http_stream__without_progress_it_is_closed(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    int64_t slow = stats_get(STAT_http_slow_total);
    struct client c;

    cfg.stall_ms = 240;
    reopen(f, &cfg);
    c = begin(f, 0, 4096);
    send_pieces(&f->streams[0], &f->big, 1);
    assert_true(wait_for(f, &f->streams[0].n_gone, 1));
    assert_int_equal(stats_get(STAT_http_slow_total), slow + 1);
    assert_true(wait_stat(STAT_http_unsent_bytes, 0));
    hang_up(&c);
}

/* What the kernel holds is not acknowledged either: here it has taken everything. */
static void test_http_stream__nor_may_it_leave_all_to_the_kernel(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    struct client c = {.in = BUF_INIT(BUF_ANY)};
    int fds[2];

    cfg.stall_ms = 240;
    reopen(f, &cfg);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    http_server_adopt(f->server, fds[0]);
    c.fd = fds[1];
    sayz(&c, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(wait_for(f, &f->n_streams, 1));
    assert_true(wait_for(f, &f->streams[0].n_gone, 1));
    hang_up(&c);
}

static void test_http_stream__one_that_is_read_or_idle_stays(void **state)
{
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    struct client reads, idle;
    int64_t start;
    char piece[512];

    cfg.stall_ms = 1800; /* the kernel may pause for some 200 ms */
    reopen(f, &cfg);
    idle = begin(f, 0, 0);
    reads = begin(f, 1, 4096);
    send_pieces(&f->streams[1], &f->big, 1);
    start = clock_mono_ms();
    while (clock_mono_ms() - start < 3 * cfg.stall_ms / 2) {
        assert_true(read_some(&reads, piece, sizeof piece) > 0);
        poll(NULL, 0, 2);
    }
    assert_int_equal(noted(f, &f->streams[0].n_gone) + noted(f, &f->streams[1].n_gone), 0);
    send_text(&f->streams[0], "still there");
    assert_true(str_eqz(next_chunk(&idle), "still there"));
    hang_up(&idle);
    hang_up(&reads);
}

/* ---- ends ---- */

static void test_http_stream__a_client_leaves_in_the_middle(void **state)
{
    struct fixture *f = *state;
    struct blob *own = blob_copy(blob_bytes(f->big));

    for (int i = 0; i < 12; i++) {
        struct client c = begin(f, i, 4096);

        if (i % 3 != 0)
            send_pieces(&f->streams[i], &own, 1);
        if (i % 3 == 2)
            assert_true(hear(&c));
        if (i % 2)
            slam(&c);
        else
            hang_up(&c);
        /* a quiet one that ends early is known to have left when the next piece is sent */
        for (int k = 0; k < 2 && i % 6 == 0; k++, poll(NULL, 0, 20))
            if (noted(f, &f->streams[i].n_gone) == 0)
                send_text(&f->streams[i], "are you there?");
        assert_true(wait_for(f, &f->streams[i].n_gone, 1));
    }
    blob_unref(&own);
    assert_true(wait_stat(STAT_http_unsent_bytes, 0));
    expect_works(f);
}

static void test_http_stream__an_early_half_close_still_reads(void **state)
{
    struct fixture *f = *state;
    struct client c = dial(f);

    sayz(&c, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    shutdown(c.fd, SHUT_WR);
    assert_int_equal(next_reply_of(&c, true).status, 200);
    assert_true(wait_for(f, &f->n_streams, 1));
    send_text(&f->streams[0], "one");
    assert_true(str_eqz(next_chunk(&c), "one"));
    send_pieces(&f->streams[0], &f->big, 1);
    assert_int_equal(next_chunk(&c).len, BIG_LEN);
    end(&f->streams[0]);
    assert_int_equal(next_chunk(&c).len, 0);
    assert_true(is_closed(&c));
    hang_up(&c);
}

static void test_http_stream__a_late_end_of_the_client_is_its_leaving(void **state)
{
    struct fixture *f = *state;
    struct client c = begin(f, 0, 0);

    poll(NULL, 0, HALF_CLOSE_MS + 200);
    shutdown(c.fd, SHUT_WR);
    assert_true(wait_for(f, &f->streams[0].n_gone, 1));
    hang_up(&c);
}

static void test_http_stream__the_stop_ends_what_nobody_ended(void **state)
{
    struct fixture *f = *state;
    struct client kept = begin(f, 0, 0), ended = begin(f, 1, 0);

    end(&f->streams[1]);
    http_server_stop(f->server, 50);
    assert_int_equal(noted(f, &f->streams[0].n_gone), 1);
    assert_int_equal(noted(f, &f->streams[1].n_gone), 0);
    assert_int_equal(next_chunk(&ended).len, 0);
    assert_true(is_closed(&ended));
    hang_up(&kept);
    hang_up(&ended);
}

static void test_http_stream__a_stop_waits_for_the_last_chunk(void **state)
{
    struct fixture *f = *state;
    struct client c = begin(f, 0, 4096);

    send_pieces(&f->streams[0], &f->big, 1);
    end(&f->streams[0]);
    http_server_stop(f->server, 0); /* no time at all */
    hang_up(&c);
    assert_true(wait_stat(STAT_http_unsent_bytes, 0));
}

/* ---- several loops ---- */

struct sender {
    struct streamed *s;
    struct blob *piece;
};

static void send_twenty(void *ctx)
{
    struct sender *x = ctx;

    for (int i = 0; i < 20; i++) {
        struct blob *piece = blob_ref(x->piece);

        http_stream_send(x->s->http, &piece, 1);
    }
    http_stream_end(x->s->http);
}

static void test_http_stream__loops_share_pieces(void **state)
{
    enum { STREAMS = 16 };
    struct fixture *f = *state;
    struct http_server_cfg cfg = default_cfg;
    struct blob *piece;
    struct client c[STREAMS];
    struct sender senders[STREAMS];
    char *bytes = mem_zalloc(100000);

    piece = blob_new(bytes, 100000);
    cfg.n_loops = 4;
    reopen(f, &cfg);
    for (int i = 0; i < STREAMS; i++)
        c[i] = begin(f, i, 4096);
    for (int i = 0; i < STREAMS; i++) {
        senders[i] = (struct sender){&f->streams[i], piece};
        loop_post(f->streams[i].loop, send_twenty, &senders[i]);
    }
    for (int i = 0; i < STREAMS; i++) {
        for (int k = 0; k < 20; k++)
            assert_int_equal(next_chunk(&c[i]).len, 100000);
        assert_int_equal(next_chunk(&c[i]).len, 0);
        hang_up(&c[i]);
    }
    blob_unref(&piece);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_http_stream__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(pieces_are_chunks),
        T(http10_gets_bytes_until_the_end),
        T(head_is_answered_at_once),
        T(the_next_request_waits_for_the_end),
        T(a_slow_reader_gets_all_in_order),
        T(an_end_waits_for_what_is_unsent),
        T(unsent_bytes_have_a_bound_together),
        T(the_slowest_makes_room_for_an_answer),
        T(without_progress_it_is_closed),
        T(nor_may_it_leave_all_to_the_kernel),
        T(one_that_is_read_or_idle_stays),
        T(a_client_leaves_in_the_middle),
        T(an_early_half_close_still_reads),
        T(a_late_end_of_the_client_is_its_leaving),
        T(the_stop_ends_what_nobody_ended),
        T(a_stop_waits_for_the_last_chunk),
        T(loops_share_pieces),
    };

    return cmocka_run_group_tests_name("http_stream", tests, NULL, NULL);
}
