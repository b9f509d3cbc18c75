/* What the HTTP server makes of the bytes of a request, and what it refuses. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "http_probe.h"
#include "tests/unit/cmocka_all.h"

static void test_http_parse__takes_the_forms_of_a_target(void **state)
{
    static const struct {
        const char *line, *wanted;
    } rows[] = {
        {"GET http://other.example:8/p?q HTTP/1.1",
         "target=/p?q\npath=/p\nquery=q\nhost=other.example:8\n"},
        {"GET HTTPS://other.example HTTP/1.1",
         "target=/\npath=/\nquery=null\nhost=other.example\n"},
        {"GET http://other.example?q=/ HTTP/1.1", "target=/?q=/\npath=/\nquery=q=/\n"},
        {"OPTIONS * HTTP/1.1", "method=OPTIONS\ntarget=*\npath=*\n"},
        {"DELETE / HTTP/1.1", "method=DELETE\ntarget=/\npath=/\n"},
        {"GET /a//b// HTTP/1.1", "path=/a//b/\n"},
        {"GET /? HTTP/1.1", "path=/\nquery=\n"},
        {"GET /x HTTP/1.9", "path=/x\n"},
    };
    struct client c = dial(*state);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct reply r;
        sayz(&c, rows[i].line);
        sayz(&c, "\r\nHost: x\r\n\r\n");
        r = next_reply(&c);
        if (r.status != 200 || !has(r.body, rows[i].wanted))
            fail_msg("%s: %d %.*s", rows[i].line, r.status, STR_ARG(r.body));
    }
    hang_up(&c);
}

/* HTTP-23; every split of the bytes gives the same answer */
static void test_http_parse__reads_chunks_however_they_are_cut(void **state)
{
    static const char text[] = "POST /e HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
                               "3\r\nabc\r\n00A;ext=\"v\"\r\n0123456789\r\n1\r\n\n\r\n"
                               "0\r\nX-Test: trailer\r\nContent-Length: 99\r\n\r\n"
                               "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
    const size_t len = sizeof text - 1;

    for (size_t cut = 0; cut < len; cut++) {
        struct client c = dial(*state);
        int quick = cut % 2;
        struct reply r;
        say(&c, str_of(text, cut));
        if (quick == 0)
            poll(NULL, 0, 1);
        say(&c, str_of(text + cut, len - cut));
        r = next_reply(&c);
        assert_int_equal(r.status, 200);
        assert_true(has(r.body, "x=null\nbody=abc0123456789\n\n"));
        assert_int_equal(next_reply(&c).status, 200);
        hang_up(&c);
    }
}

/* A server that forgets the body of such a request reads it as the next request. */
static void test_http_parse__any_method_may_have_a_body(void **state)
{
    static const char *const methods[] = {"GET", "HEAD", "DELETE", "OPTIONS"};
    struct client c = dial(*state);
    char text[200];

    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        snprintf(text, sizeof text,
                 "%s /x HTTP/1.1\r\nHost: x\r\nContent-Length: 32\r\n\r\n"
                 "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
                 "GET /end HTTP/1.1\r\nHost: x\r\n\r\n",
                 methods[i]);
        sayz(&c, text);
        assert_int_equal(next_reply_of(&c, i == 1).status, 200);
        assert_true(has(next_reply(&c).body, "path=/end\n"));
    }
    hang_up(&c);
}

static void test_http_parse__an_offer_to_upgrade_is_passed_over(void **state)
{
    struct client c = dial(*state);

    sayz(&c, "POST /a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
             "Content-Length: 3\r\n\r\nabcGET /b HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
             "Connection: upgrade\r\n\r\nGET /c HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(has(next_reply(&c).body, "path=/a\nquery=null\nhost=x\nx=null\nbody=abc\n"));
    assert_true(has(next_reply(&c).body, "path=/b\n"));
    assert_true(has(next_reply(&c).body, "path=/c\n"));
    hang_up(&c);
}

/* ---- refusals ---- */

/* HTTP-18, HTTP-20 */
static void test_http_parse__refuses_what_can_be_read_in_two_ways(void **state)
{
#define BYTES(literal)                                                                             \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }
#define LINE "POST /sink HTTP/1.1\r\n"
#define HOST LINE "Host: x\r\n"
    static const struct {
        struct str request;
        int status;
        const char *detail;
    } rows[] = {
        {BYTES("GET / HTTP/1.1\r\n\r\n"), 400, "needs a Host"},
        {BYTES("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"), 400, "more than once"},
        {BYTES("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"), 400, "more than once"},
        {BYTES("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), 400, "Host must be a name"},
        {BYTES("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), 400, "Host must be a name"},
        {BYTES("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"), 400, "Host must be a name"},
        {BYTES(HOST "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"), 400, "more than once"},
        {BYTES(HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\na"), 400, "more than once"},
        {BYTES(HOST "Content-Length: 1, 1\r\n\r\na"), 400, "in digits"},
        {BYTES(HOST "Content-Length: +5\r\n\r\nabcde"), 400, "in digits"},
        {BYTES(HOST "Content-Length: -5\r\n\r\nabcde"), 400, "in digits"},
        {BYTES(HOST "Content-Length: 0x5\r\n\r\nabcde"), 400, "in digits"},
        {BYTES(HOST "Content-Length: 5 5\r\n\r\nabcde"), 400, "in digits"},
        {BYTES(HOST "Content-Length: \r\n\r\nabcde"), 400, "empty"},
        {BYTES(HOST "Content-Length: 99999999999999999999999\r\n\r\n"), 413, "longer than"},
        {BYTES(HOST "Content-Length: 18446744073709551617\r\n\r\na"), 413, "longer than"},
        {BYTES(HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400,
         "both"},
        {BYTES(HOST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"), 400,
         "both"},
        {BYTES(HOST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"), 501, "chunked"},
        {BYTES(HOST "Transfer-Encoding: identity\r\n\r\n"), 501, "chunked"},
        {BYTES(HOST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), 501, "chunked"},
        {BYTES(HOST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"), 501, "chunked"},
        {BYTES(HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
         501, "chunked"},
        {BYTES(HOST "Transfer-Encoding:\r\n\r\n0\r\n\r\n"), 501, "chunked"},
        {BYTES(HOST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"), 501, "chunked"},
        {BYTES("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400, "HTTP/1.0"},
        {BYTES(HOST "Content-Length : 5\r\n\r\nabcde"), 400, "field name"},
        {BYTES(HOST "Content-Length\t: 5\r\n\r\nabcde"), 400, "field name"},
        {BYTES(HOST "X: a\r\n b\r\n\r\n"), 400, "folded"},
        {BYTES(HOST "X: a\r\n\tContent-Length: 5\r\n\r\nabcde"), 400, "folded"},
        {BYTES(LINE " Host: x\r\n\r\n"), 400, "white space"},
        {BYTES(HOST "X\r\n\r\n"), 400, "no colon"},
        {BYTES(HOST ": x\r\n\r\n"), 400, "field name"},
        {BYTES(HOST "X(y): x\r\n\r\n"), 400, "field name"},
        {BYTES(HOST "X\xC3\xA9: x\r\n\r\n"), 400, "field name"},
        {BYTES("GET / HTTP/1.1\nHost: x\n\n"), 400, "bare line feed"},
        {BYTES("GET / HTTP/1.1\r\nHost: x\n\r\n"), 400, "bare line feed"},
        {BYTES("GET / HTTP/1.1\r\nHost: x\r\n\n"), 400, "bare line feed"},
        {BYTES(HOST "X: a\rb\r\n\r\n"), 400, "carriage return"},
        {BYTES(HOST "X: a\r\r\n\r\n"), 400, "carriage return"},
        {BYTES(HOST "X: a\0b\r\n\r\n"), 400, "control character"},
        {BYTES(HOST "X: a\x7F\r\n\r\n"), 400, "control character"},
        {BYTES(HOST "X\0: a\r\n\r\n"), 400, "control character"},
        {BYTES("GET /\r\n\r\n"), 400, "no HTTP version"},
        {BYTES("GET\r\n\r\n"), 400, "method and one space"},
        {BYTES("GET  / HTTP/1.1\r\nHost: x\r\n\r\n"), 400, "one space"},
        {BYTES("GET /  HTTP/1.1\r\nHost: x\r\n\r\n"), 400, "one space"},
        {BYTES("GET / HTTP/1.1 \r\nHost: x\r\n\r\n"), 400, "one space"},
        {BYTES("GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n"), 400, "one space"},
        {BYTES("GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"), 400, "%20"},
        {BYTES("GET / http/1.1\r\nHost: x\r\n\r\n"), 400, "HTTP/1.1"},
        {BYTES("GET / HTTP/1.10\r\nHost: x\r\n\r\n"), 400, "HTTP/1.1"},
        {BYTES("GET / HTTP/+1.1\r\nHost: x\r\n\r\n"), 400, "HTTP/1.1"},
        {BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505, "HTTP/1.1"},
        {BYTES("\x16\x03\x01\x02"), 400, "TLS"},
        {BYTES("\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"), 400, "not HTTP"},
        {BYTES(" GET / HTTP/1.1\r\nHost: x\r\n\r\n"), 400, "not HTTP"},
        {BYTES("BREW / HTTP/1.1\r\nHost: x\r\n\r\n"), 501, "method"},
        {BYTES("get / HTTP/1.1\r\nHost: x\r\n\r\n"), 501, "method"},
        {BYTES("CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n"), 501, "proxy"},
        {BYTES("GET * HTTP/1.1\r\nHost: x\r\n\r\n"), 400, "OPTIONS"},
        {BYTES("GET x:1 HTTP/1.1\r\nHost: x\r\n\r\n"), 400, ""},
        {BYTES("GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n"), 400, ""},
        {BYTES("GET http:///x HTTP/1.1\r\nHost: x\r\n\r\n"), 400, ""},
        {BYTES("GET http://u@x/ HTTP/1.1\r\nHost: x\r\n\r\n"), 400, ""},
        {BYTES("GET /#top HTTP/1.1\r\nHost: x\r\n\r\n"), 400, "percent-encode"},
        {BYTES("GET /\xC3\xA9 HTTP/1.1\r\nHost: x\r\n\r\n"), 400, "percent-encode"},
        {BYTES("GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n"), 400, "hexadecimal"},
        {BYTES("GET /a%2 HTTP/1.1\r\nHost: x\r\n\r\n"), 400, "hexadecimal"},
        {BYTES("GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n"), 400, "hexadecimal"},
        {BYTES(HOST "Expect: a miracle\r\nContent-Length: 1\r\n\r\na"), 417, "100-continue"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        expect_refused(*state, rows[i].request, rows[i].status, rows[i].detail);
    expect_works(*state); /* HTTP-22 */
}

static void test_http_parse__refuses_crooked_chunks(void **state)
{
    static const struct str bodies[] = {
        BYTES("5\nabcde\r\n0\r\n\r\n"),
        BYTES("5\r\nabcde\n0\r\n\r\n"),
        BYTES("5\r\nabcdeXX0\r\n\r\n"),
        BYTES("5\r\nabcdef\r\n0\r\n\r\n"),
        BYTES("5\r\nabcde\r\r0\r\n\r\n"),
        BYTES("+5\r\nabcde\r\n0\r\n\r\n"),
        BYTES("0x5\r\nabcde\r\n0\r\n\r\n"),
        BYTES(" 5\r\nabcde\r\n0\r\n\r\n"),
        BYTES("-1\r\nabcde\r\n0\r\n\r\n"),
        BYTES("5;a\nb\r\nabcde\r\n0\r\n\r\n"),
        BYTES("5;a\rb\r\nabcde\r\n0\r\n\r\n"),
        BYTES("5;a\0b\r\nabcde\r\n0\r\n\r\n"),
        BYTES("\r\n"),
        BYTES("g\r\n"),
        BYTES("0\r\nX: y\n\r\n"),
        BYTES("0\r\nX: y\r\n\n"),
        BYTES("0\r\nX: y\r\n\rZ"),
        BYTES("5\rXabcde\r\n0\r\n\r\n"),
    };

    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct buf b = BUF_INIT(BUF_ANY);
        buf_puts(&b, HOST "Transfer-Encoding: chunked\r\n\r\n");
        buf_str(&b, bodies[i]);
        expect_refused(*state, buf_view(&b), 400, "chunks");
        buf_release(&b);
    }
    expect_refused(*state, STR(HOST "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n"), 400,
                   "chunks");
    expect_works(*state);
}

static struct str long_text(struct buf *b, const char *before, const char *piece, size_t times,
                            const char *after)
{
    buf_reset(b);
    buf_puts(b, before);
    for (size_t i = 0; i < times; i++)
        buf_puts(b, piece);
    buf_puts(b, after);
    return buf_view(b);
}

/* HTTP-21, HTTP-23 */
static void test_http_parse__bounds_everything(void **state)
{
    struct buf b = BUF_INIT(BUF_ANY);
    const char *const end = "\r\n\r\n";

    expect_refused(*state, long_text(&b, "GET /", "x", 300000, " HTTP/1.1\r\nHost: x\r\n\r\n"), 414,
                   "POST");
    expect_refused(*state, long_text(&b, "GET /", "x", 300000, ""), 414, "POST");
    expect_refused(*state, long_text(&b, HOST "X: ", "x", 300000, end), 431, "too large");
    expect_refused(*state, long_text(&b, HOST, "X: y\r\n", 128, end), 431, "too many");
    expect_refused(*state, long_text(&b, HOST "Content-Length: 1048577\r\n\r\n", "x", 1048577, ""),
                   413, "longer than");
    expect_refused(*state, STR(HOST "Content-Length: 1048577\r\nExpect: 100-continue\r\n\r\n"), 413,
                   "longer than");
    expect_refused(*state,
                   long_text(&b, HOST "Transfer-Encoding: chunked\r\n\r\n",
                             "10\r\n0123456789abcdef\r\n", 70000, ""),
                   413, "longer than");
    expect_refused(*state, STR(HOST "Transfer-Encoding: chunked\r\n\r\n100001\r\n"), 413,
                   "longer than");
    /* endless extension, endless trailer */
    expect_refused(*state,
                   long_text(&b, HOST "Transfer-Encoding: chunked\r\n\r\n5;", "x", 200000, ""), 400,
                   "chunks");
    expect_refused(
        *state,
        long_text(&b, HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n", "X: y\r\n", 20000, ""), 400,
        "chunks");
    buf_release(&b);
    expect_works(*state);
}

/* One that goes on sending still finds the answer, and no reset on top of it. */
static void test_http_parse__a_refused_sender_gets_its_answer(void **state)
{
    struct client c = dial(*state);
    char *body = mem_zalloc(4 << 20);

    sayz(&c, HOST "Content-Length: 4194304\r\n\r\n");
    poll(NULL, 0, 20);
    say(&c, str_of(body, 4 << 20));
    assert_int_equal(next_reply(&c).status, 413);
    assert_true(is_closed(&c));
    mem_free(body);
    hang_up(&c);
}

static void test_http_parse__takes_a_full_header(void **state)
{
    struct client c = dial(*state);
    struct buf b = BUF_INIT(BUF_ANY);

    say(&c, long_text(&b, HOST, "X-Test: y\r\n", 127, "\r\n"));
    assert_int_equal(next_reply(&c).status, 200);
    say(&c, long_text(&b, "GET /p?", "x", 16000, " HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_int_equal(next_reply(&c).status, 200);
    buf_release(&b);
    hang_up(&c);
}

#define T(name) cmocka_unit_test_setup_teardown(test_http_parse__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(takes_the_forms_of_a_target),
        T(reads_chunks_however_they_are_cut),
        T(any_method_may_have_a_body),
        T(an_offer_to_upgrade_is_passed_over),
        T(refuses_what_can_be_read_in_two_ways),
        T(refuses_crooked_chunks),
        T(bounds_everything),
        T(a_refused_sender_gets_its_answer),
        T(takes_a_full_header),
    };

    return cmocka_run_group_tests_name("http_parse", tests, NULL, NULL);
}
