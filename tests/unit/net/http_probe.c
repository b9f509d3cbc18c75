/* tests/unit/net/http_probe.c - see http_probe.h. */
#include "http_probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"

/* ---- the server under test ---- */

void note(struct fixture *f, int *counter)
{
    pthread_mutex_lock(&f->lock);
    (*counter)++;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

int noted(struct fixture *f, const int *counter)
{
    int n;

    pthread_mutex_lock(&f->lock);
    n = *counter;
    pthread_mutex_unlock(&f->lock);
    return n;
}

bool wait_for(struct fixture *f, const int *counter, int n)
{
    struct timespec until;
    bool ok = true;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(&f->lock);
    while (*counter < n && ok)
        ok = pthread_cond_timedwait(&f->changed, &f->lock, &until) == 0;
    ok = *counter >= n;
    pthread_mutex_unlock(&f->lock);
    return ok;
}

bool wait_stat(enum stat_id stat, int64_t n)
{
    for (int i = 0; i < 6000 && stats_get(stat) != n; i++)
        poll(NULL, 0, 10);
    return stats_get(stat) == n;
}

static void on_gone(void *ctx, uint64_t serial UNUSED)
{
    struct fixture *f = ctx;

    note(f, &f->n_gone);
}

static void on_late(void *ctx, uint64_t serial)
{
    struct fixture *f = ctx;

    if (f->late_answers)
        http_reply(http_request_find(f->held_loop, serial), 200, STR_NULL, blob_copy(STR("late")));
    else if (f->late_holds)
        http_request_hold(http_request_find(f->held_loop, serial), on_gone, on_late, 60000, f);
    note(f, &f->n_late);
}

static void describe(struct http_request *r)
{
    struct arena *a = http_request_arena(r);
    struct str x = http_request_field(r, "x-test"), q = http_request_query(r), text;

    text = str_printf(
        a, "method=%.*s\ntarget=%.*s\npath=%.*s\nquery=%.*s\nhost=%.*s\nx=%.*s\nbody=%.*s\n",
        STR_ARG(http_request_method(r)), STR_ARG(http_request_target(r)),
        STR_ARG(http_request_path(r)), str_is_null(q) ? 4 : (int)q.len,
        str_is_null(q) ? "null" : q.ptr, STR_ARG(http_request_host(r)),
        str_is_null(x) ? 4 : (int)x.len, str_is_null(x) ? "null" : x.ptr,
        STR_ARG(http_request_body(r)));
    http_reply(r, 200, STR("Content-Type: text/plain\r\n"), blob_copy(text));
}

static void on_room(void *ctx)
{
    struct streamed *s = ctx;

    note(s->f, &s->n_room);
}

static void on_stream_gone(void *ctx)
{
    struct streamed *s = ctx;

    note(s->f, &s->n_gone);
}

static void begin_stream(struct fixture *f, struct http_request *r)
{
    struct streamed *s;

    pthread_mutex_lock(&f->lock);
    s = &f->streams[f->n_streams];
    *s = (struct streamed){.f = f, .loop = http_request_loop(r)};
    s->http =
        http_reply_stream(r, 200, STR("Content-Type: text/x\r\n"), on_room, on_stream_gone, s);
    pthread_mutex_unlock(&f->lock);
    note(f, &f->n_streams);
}

static void handle(void *ctx, struct http_request *r)
{
    struct fixture *f = ctx;
    struct str path = http_request_path(r);

    if (str_eqz(path, "/hello")) {
        http_reply(r, 200, STR("Content-Type: text/plain\r\n"), blob_copy(STR("hello\n")));
    } else if (str_eqz(path, "/big")) {
        http_reply(r, 200, STR_NULL, blob_ref(f->big));
    } else if (str_eqz(path, "/own")) {
        http_reply(r, 200, STR_NULL, blob_copy(blob_bytes(f->big)));
    } else if (str_eqz(path, "/none")) {
        http_reply(r, 304, STR("ETag: \"x\"\r\n"), NULL);
    } else if (str_eqz(path, "/sink")) {
        http_reply(r, 200, STR_NULL,
                   blob_copy(str_printf(http_request_arena(r), "%zu", http_request_body(r).len)));
    } else if (str_eqz(path, "/hold") || str_eqz(path, "/late")) {
        pthread_mutex_lock(&f->lock);
        f->held_loop = http_request_loop(r);
        f->held_serial = http_request_hold(r, on_gone, on_late, str_eqz(path, "/late") ? 20 : 0, f);
        pthread_mutex_unlock(&f->lock);
        note(f, &f->n_held);
    } else if (str_eqz(path, "/stream")) {
        begin_stream(f, r);
    } else if (str_eqz(path, "/keep")) {
        f->kept = r;
        f->held_loop = http_request_loop(r);
        note(f, &f->n_held);
    } else {
        describe(r);
    }
    note(f, &f->n_seen);
}

const struct http_server_cfg default_cfg = {
    .listen = {"127.0.0.1:0", 11},
    .n_loops = 1,
    .max_connections = 100,
    .max_header = 16384,
    .max_body = 1024 * 1024,
    .header_ms = 60000, /* a test that waits for a deadline sets its own */
    .body_ms = 60000,
    .idle_ms = 60000,
    .write_ms = 60000,
    .stall_ms = 60000,
    .max_unsent = 64 * 1024 * 1024,
};

void open_server(struct fixture *f, const struct http_server_cfg *cfg)
{
    struct err err = ERR_INIT;
    char *big = mem_alloc(BIG_LEN);

    memset(f, 0, sizeof *f);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    for (size_t i = 0; i < BIG_LEN; i++)
        big[i] = (char)('a' + i % 26);
    f->big = blob_new(big, BIG_LEN);
    if (http_server_new(cfg, handle, f, &f->server, &err) != RC_OK)
        fail_msg("%s", err.text);
    http_server_start(f->server);
}

void close_server(struct fixture *f)
{
    http_server_free(&f->server);
    assert_int_equal(stats_get(STAT_http_connections), 0);
    assert_int_equal(stats_get(STAT_http_held), 0);
    blob_unref(&f->big);
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->changed);
}

int setup(void **state)
{
    *state = NEW(struct fixture);
    open_server(*state, &default_cfg);
    return 0;
}

int teardown(void **state)
{
    close_server(*state);
    mem_free(*state);
    return 0;
}

void reopen(struct fixture *f, const struct http_server_cfg *cfg)
{
    close_server(f);
    open_server(f, cfg);
}

/* ---- a client ---- */

struct client dial_with(struct fixture *f, int receive_room)
{
    struct client c = {socket(AF_INET, SOCK_STREAM, 0), BUF_INIT(BUF_ANY), 0};
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)http_server_port(f->server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {60, 0};

    assert_true(c.fd >= 0);
    setsockopt(c.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (receive_room > 0)
        setsockopt(c.fd, SOL_SOCKET, SO_RCVBUF, &receive_room, sizeof receive_room);
    assert_int_equal(connect(c.fd, (struct sockaddr *)&to, sizeof to), 0);
    return c;
}

struct client dial(struct fixture *f)
{
    return dial_with(f, 0);
}

void hang_up(struct client *c)
{
    close(c->fd);
    buf_release(&c->in);
}

void slam(struct client *c)
{
    struct linger hard = {1, 0};

    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    hang_up(c);
}

void say(struct client *c, struct str s)
{
    while (s.len > 0) {
        ssize_t n = send(c->fd, s.ptr, s.len, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        s = str_slice(s, (size_t)n, s.len);
    }
}

void sayz(struct client *c, const char *z)
{
    say(c, str_from(z));
}

ssize_t read_some(struct client *c, void *to, size_t len)
{
    ssize_t n = TEMP_FAILURE_RETRY(recv(c->fd, to, len, 0));

    if (n >= 0)
        errno = 0; /* a process that was stopped is interrupted, and errno keeps that */
    return n;
}

bool hear(struct client *c)
{
    char room[65536];
    ssize_t n = read_some(c, room, sizeof room);

    if (n <= 0)
        return false;
    buf_append(&c->in, room, (size_t)n);
    return true;
}

struct str rest_of(struct client *c)
{
    return str_slice(buf_view(&c->in), c->at, c->in.len);
}

struct str reply_field(struct str head, const char *name)
{
    struct str rest = head, line;

    while (!str_is_null(rest)) {
        line = str_split(&rest, '\n');
        if (str_istarts(line, str_from(name)) && line.len > strlen(name) &&
            line.ptr[strlen(name)] == ':')
            return str_trim(str_slice(line, strlen(name) + 1, line.len));
    }
    return STR_NULL;
}

struct reply next_reply_of(struct client *c, bool is_head)
{
    struct reply r = {0, STR_NULL, STR_NULL};
    int64_t len = 0;
    ssize_t end;

    while ((end = str_find(rest_of(c), STR("\r\n\r\n"))) < 0)
        if (!hear(c))
            return r;
    r.head = str_slice(rest_of(c), 0, (size_t)end + 4);
    assert_true(str_starts(r.head, STR("HTTP/1.1 ")));
    if (!str_is_null(reply_field(r.head, "Content-Length")) && !is_head)
        assert_true(str_to_i64(reply_field(r.head, "Content-Length"), &len));
    while (rest_of(c).len < (size_t)end + 4 + (size_t)len)
        if (!hear(c))
            return (struct reply){-1, STR_NULL, STR_NULL};
    r.head = str_slice(rest_of(c), 0, (size_t)end + 4);
    r.body = str_slice(rest_of(c), (size_t)end + 4, (size_t)end + 4 + (size_t)len);
    r.status = atoi(r.head.ptr + 9);
    c->at += (size_t)end + 4 + (size_t)len;
    return r;
}

struct reply next_reply(struct client *c)
{
    return next_reply_of(c, false);
}

bool is_closed(struct client *c)
{
    errno = 0;
    return rest_of(c).len == 0 && !hear(c) && errno == 0;
}

bool has(struct str s, const char *part)
{
    return str_find(s, str_from(part)) >= 0;
}

void expect_refused(struct fixture *f, struct str request, int status, const char *detail)
{
    struct client c = dial(f);
    struct reply r;

    say(&c, request);
    r = next_reply(&c);
    if (r.status != status || !has(r.body, detail))
        fail_msg("%.*s\ngot %d, wanted %d: %.*s", STR_ARG(request), r.status, status,
                 STR_ARG(r.body));
    assert_true(str_eqz(reply_field(r.head, "Content-Type"), "application/problem+json"));
    assert_true(str_eqz(reply_field(r.head, "Connection"), "close"));
    assert_true(has(r.body, "\"type\":\"about:blank\"") && has(r.body, "\"title\":"));
    assert_true(is_closed(&c));
    hang_up(&c);
}

void expect_works(struct fixture *f)
{
    struct client c = dial(f);
    struct reply r;

    sayz(&c, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    r = next_reply(&c);
    assert_int_equal(r.status, 200);
    assert_true(str_eqz(r.body, "hello\n"));
    hang_up(&c);
}

struct client dial_and_hold(struct fixture *f, const char *after)
{
    struct client c = dial(f);
    int n = noted(f, &f->n_held) + 1;

    sayz(&c, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    sayz(&c, after);
    assert_true(wait_for(f, &f->n_held, n));
    return c;
}

void answer_held(void *ctx)
{
    struct fixture *f = ctx;
    struct http_request *r = http_request_find(f->held_loop, f->held_serial);

    if (r != NULL)
        http_reply(r, 200, STR_NULL, blob_copy(STR("held")));
}
