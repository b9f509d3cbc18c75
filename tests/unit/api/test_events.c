/* GET /events, over real sockets. */
#include "world.h"
#include "tests/unit/cmocka_all.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stats.h"

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

/* A client of a stream. */
struct listener {
    int fd;
    struct buf in;
};

static struct listener listen_to(struct world *w, const char *target, const char *fields)
{
    return (struct listener){open_request(w, "GET", target, fields, NULL), BUF_INIT(BUF_ANY)};
}

/* With a reset: a client that ends its side early could still be reading. */
static void leave(struct listener *l)
{
    reset_request(l->fd);
    buf_release(&l->in);
}

/* str_find() in small pieces: sanitizers look at all of what it is given. */
static ssize_t find(struct str s, struct str part)
{
    enum { PIECE = 4096 };

    for (size_t at = 0; at < s.len; at += PIECE) {
        size_t to = at + PIECE + part.len - 1;
        ssize_t found = str_find(str_slice(s, at, to < s.len ? to : s.len), part);

        if (found >= 0)
            return (ssize_t)at + found;
    }
    return -1;
}

static size_t count(const struct listener *l, const char *part)
{
    struct str rest = buf_view(&l->in);
    size_t n = 0;
    ssize_t at;

    for (; (at = find(rest, str_from(part))) >= 0; n++)
        rest = str_slice(rest, (size_t)at + strlen(part), rest.len);
    return n;
}

static bool hear(struct listener *l)
{
    char room[65536];
    struct pollfd p = {.fd = l->fd, .events = POLLIN};
    ssize_t n = poll(&p, 1, 30000) == 1 ? recv(l->fd, room, sizeof room, 0) : -1;

    if (n > 0)
        buf_append(&l->in, room, (size_t)n);
    return n > 0;
}

/* Wait until `part` has come n times. */
static void await(struct listener *l, const char *part, size_t n)
{
    size_t came = 0, at = 0;

    for (;;) {
        struct str rest = str_slice(buf_view(&l->in), at, l->in.len);
        ssize_t found = find(rest, str_from(part));

        if (found >= 0) {
            at += (size_t)found + strlen(part);
            came++;
            continue;
        }
        if (came >= n)
            return;
        if (!hear(l))
            fail_msg("%zu of %zu \"%s\" came, in %zu bytes", came, n, part, l->in.len);
        if (rest.len > strlen(part)) /* what was looked at is not looked at again */
            at += rest.len - strlen(part);
    }
}

#define EVENT "\ndata: {\"seq\":"
static void await_begin(struct listener *l)
{
    await(l, "retry: 2000\nid: fm1.", 1);
}

static struct str id_of_first(struct listener *l)
{
    struct str rest = buf_view(&l->in);

    rest = str_slice(rest, (size_t)str_find(rest, STR("\nid: ")) + 5, rest.len);
    return str_split(&rest, '\n');
}

/* SSE-04 */
static void test_events__comments_come_at_their_time(void **state)
{
    struct world *w = *state;
    struct listener l[3];

    w->cfg.event_beat_ms = 40;
    world_restart(w);
    for (size_t i = 0; i < ARRAY_LEN(l); i++)
        l[i] = listen_to(w, "/events", NULL);
    for (size_t i = 0; i < ARRAY_LEN(l); i++)
        await(&l[i], "\n:\n\n", 3);
    get(w, &arena, "/feed?url=" OK);
    for (size_t i = 0; i < ARRAY_LEN(l); i++) {
        await(&l[i], EVENT, 3);
        await(&l[i], "\n:\n\n", count(&l[i], "\n:\n\n") + 2);
        leave(&l[i]);
    }
}

/* VIEW-09 */
static void test_events__the_id_moves_past_what_does_not_match(void **state)
{
    struct world *w = *state;
    struct listener none, all;
    struct str id;

    w->cfg.event_beat_ms = 40;
    world_restart(w);
    none = listen_to(w, "/events?q=nothing+has+this", NULL);
    all = listen_to(w, "/events", NULL);
    await(&none, "\n:\n\n", 1);
    get(w, &arena, "/feed?url=" OK);
    await(&all, EVENT, 3);
    await(&none, "\n:\nid: ", 1);
    await(&none, "\n:\n\n", count(&none, "\n:\n\n") + 2); /* once is enough */
    assert_int_equal(1, count(&none, "\n:\nid: "));
    assert_int_equal(0, count(&none, "data:"));
    id = str_slice(buf_view(&none.in), (size_t)find(buf_view(&none.in), STR("\n:\nid: ")) + 7,
                   none.in.len);
    id = str_split(&id, '\n');
    assert_true(find(buf_view(&all.in), str_concat(&arena, STR("\nid: "), id)) > 0);
    leave(&none);
    leave(&all);
}

/* SSE-01: what a password opens is shown to those who name it, or who hold the token */
static void test_events__protected_feeds_are_shown_to_those_who_may_see_them(void **state)
{
    struct world *w = *state;
    struct api_cfg cfg = w->cfg;
    struct listener all, ours, after, behind;

    get(w, &arena, "/feed?url=http://me:pw@p.test/ok");
    get(w, &arena, "/feed?url=" OK "2");
    all = listen_to(w, "/events?since=start", NULL);
    ours = listen_to(w, "/events?since=start&url=http://me:pw@p.test/ok", NULL);
    await(&all, EVENT, 3);
    await(&ours, EVENT, 3);
    publish(w, OK "2", 7, 1);
    await(&all, EVENT, 4);
    assert_int_equal(count(&all, "\"url\":\"" OK "2\""), 4);
    assert_int_equal(count(&ours, "\"url\":\"" OK "\""), 3);
    after = listen_to(w, "/events", NULL);
    await_begin(&after);
    get(w, &arena, "/feed?url=http://me:pw@p.test/ok3"); /* what comes is judged, too */
    publish(w, OK "2", 8, 1);
    await(&all, EVENT, 5);
    await(&after, EVENT, 1);
    assert_int_equal(count(&all, "ok3"), 0);
    assert_int_equal(count(&after, "ok3"), 0);
    cfg.token = STR("t0ken");
    api_reload(w->api, &cfg);
    behind = listen_to(w, "/events?since=start", "Authorization: Bearer t0ken\r\n");
    await(&behind, EVENT, 11);
    leave(&all);
    leave(&ours);
    leave(&after);
    leave(&behind);
}

/* Each stream gets each revision once, wherever it begins, while the log grows. SSE-02 SSE-03 */
static void test_events__nothing_is_lost_or_doubled_while_the_log_grows(void **state)
{
    enum { ROUNDS = 25 };
    struct world *w = *state;
    struct listener l[2 * ROUNDS];
    size_t since[2 * ROUNDS];

    get(w, &arena, "/feed?url=" OK);
    get(w, &arena, "/feed?url=" OK "2");
    for (size_t i = 0; i < ROUNDS; i++) {
        publish(w, i % 2 ? OK : OK "2", (int)(100 + 3 * i), 3);
        for (size_t k = 0; k < 2; k++) {
            size_t seq = k == 0 ? 0 : (3 + i) % (6 + 3 * i);

            since[2 * i + k] = seq;
            l[2 * i + k] = listen_to(w, str_printf(&arena, "/events?since=%zu", seq).ptr, NULL);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(l); i++) {
        size_t n = 6 + 3 * ROUNDS - since[i];

        await(&l[i], EVENT, n);
        assert_int_equal(count(&l[i], EVENT), n);
        for (size_t seq = since[i] + 1; seq <= 6 + 3 * ROUNDS; seq++)
            assert_int_equal(count(&l[i], str_printf(&arena, "\ndata: {\"seq\":%zu,", seq).ptr), 1);
        leave(&l[i]);
    }
    until(stats_get(STAT_event_streams) == 0);
}

/* SSE-04: it stands where it is, and has little in memory; and goes on from there */
static void test_events__a_reader_that_stops_is_held(void **state)
{
    struct world *w = *state;
    struct listener slow;

    get(w, &arena, "/feed?url=" OK);
    slow = listen_to(w, "/events", NULL);
    await_begin(&slow);
    for (int i = 0; i < 60; i++) /* more than the kernel takes */
        publish(w, OK, 1000 + 500 * i, 500);
    until(stats_get(STAT_http_unsent_bytes) > 0);
    for (int i = 0; i < 20; i++, nap(5))
        assert_true(stats_get(STAT_http_unsent_bytes) <= 1024 * 1024);
    await(&slow, EVENT, 30000);
    assert_int_equal(count(&slow, EVENT), 30000);
    leave(&slow);
}

/* SSE-02: a stream ends, and its client goes on from where it was */
static void test_events__the_end_of_the_server_is_a_clean_end(void **state)
{
    struct world *w = *state;
    struct listener l = listen_to(w, "/events", NULL), late;

    await_begin(&l);
    assert_true(str_starts(id_of_first(&l), STR("fm1.")));
    api_stop(w->api);
    await(&l, "\r\n0\r\n\r\n", 1);
    late = listen_to(w, "/events", NULL); /* who comes now does not wait either */
    await(&late, "\r\n0\r\n\r\n", 1);
    leave(&l);
    leave(&late);
}

/* The clients of streams that were about to begin leave, or the server stops. */
static void test_events__openings_are_left_in_order(void **state)
{
    struct world *w = *state;
    int fds[40];

    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 40; i++)
            fds[i] = open_request(w, "GET", "/events?since=time:2020-01-01", NULL, NULL);
        for (int i = 0; i < 40; i++)
            if (i % 2)
                reset_request(fds[i]);
            else
                close(fds[i]);
        if (round % 2)
            world_restart(w);
    }
    get(w, &arena, "/feed?url=" OK);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_events__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(comments_come_at_their_time),
        T(the_id_moves_past_what_does_not_match),
        T(protected_feeds_are_shown_to_those_who_may_see_them),
        T(nothing_is_lost_or_doubled_while_the_log_grows),
        T(a_reader_that_stops_is_held),
        T(the_end_of_the_server_is_a_clean_end),
        T(openings_are_left_in_order),
    };

    return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
