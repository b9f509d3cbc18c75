/* GET /log, over real sockets. */
#include "world.h"

#include <poll.h>
#include <unistd.h>

#include "base/clock.h"

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

static void test_log__pages_through_everything_in_order(void **state)
{
    struct world *w = *state;
    struct str cursor = STR("start");
    int64_t seq = 0;
    size_t n = 0;

    get(w, &arena, "/feed?url=" OK);
    publish(w, OK, 3, 4);
    for (int i = 0; i < 5; i++) {
        struct answer ans =
            get(w, &arena, str_printf(&arena, "/log?max=2&since=%.*s", STR_ARG(cursor)).ptr);
        struct value *v = json_of(&arena, &ans), *rows = value_getz(v, "revisions");

        for (size_t k = 0; k < value_len(rows); k++, n++) {
            struct value *row = value_at(rows, k);

            assert_true(value_get_int(row, STR("seq"), 0) > seq);
            seq = value_get_int(row, STR("seq"), 0);
            assert_str(value_get_textz(row, "url"), OK);
            assert_str(value_get_textz(row, "kind"), "new");
            assert_true(value_get_textz(value_getz(row, "entry"), "title").len > 0);
        }
        cursor = value_get_textz(v, "cursor");
    }
    assert_int_equal(7, n);
}

static void test_log__answers_at_once_without_timeout(void **state)
{
    struct answer ans = get(*state, &arena, "/log");

    assert_int_equal(200, ans.status);
    assert_int_equal(0, value_len(value_getz(json_of(&arena, &ans), "revisions")));
}

static bool is_readable(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, ms) == 1;
}

static void test_log__waits_for_a_commit(void **state)
{
    struct world *w = *state;
    int all, ours, others;
    struct answer ans;

    get(w, &arena, "/feed?url=" OK);
    get(w, &arena, "/feed?url=" OK "2");
    all = open_request(w, "GET", "/log?since=end&timeout=20", NULL, NULL);
    ours = open_request(w, "GET", "/log?since=end&timeout=20&url=" OK, NULL, NULL);
    others = open_request(w, "GET", "/log?since=end&timeout=1&url=" OK "2", NULL, NULL);
    assert_false(is_readable(all, 100));
    publish(w, OK, 7, 1);
    ans = read_answer(&arena, all, false);
    assert_int_equal(1, value_len(value_getz(json_of(&arena, &ans), "revisions")));
    ans = read_answer(&arena, ours, false);
    assert_true(has(&ans, "Entry 7"));
    ans = read_answer(&arena, others, false);
    assert_int_equal(0, value_len(value_getz(json_of(&arena, &ans), "revisions")));
}

static int64_t waiting(struct world *w)
{
    struct answer ans = get(w, &arena, "/metrics");
    ssize_t at = str_find(ans.body, STR("\nfeedmill_log_waiters "));

    assert_true(at > 0);
    return atoi(ans.body.ptr + at + strlen("\nfeedmill_log_waiters "));
}

static void test_log__forgets_clients_that_left(void **state)
{
    struct world *w = *state;
    int fds[20];

    for (int i = 0; i < 20; i++)
        fds[i] = open_request(w, "GET", "/log?since=end&timeout=60", NULL, NULL);
    until(waiting(w) == 20);
    for (int i = 0; i < 20; i++)
        reset_request(fds[i]);
    until(waiting(w) == 0);
}

/* waiters and commits at the same time: nobody is forgotten */
static void test_log__every_waiter_sees_every_commit(void **state)
{
    struct world *w = *state;

    get(w, &arena, "/feed?url=" OK);
    for (int round = 0; round < 20; round++) {
        int fds[8];

        for (int i = 0; i < 8; i++)
            fds[i] = open_request(w, "GET", "/log?since=end&timeout=20", NULL, NULL);
        if (round % 2 == 0)
            until(waiting(w) == 8);
        publish(w, OK, 10 + 2 * round, 1);
        nap(20);
        publish(w, OK, 11 + 2 * round, 1);
        for (int i = 0; i < 8; i++) {
            struct answer ans = read_answer(&arena, fds[i], false);

            assert_int_equal(200, ans.status);
            if (round % 2 == 0)
                assert_true(value_len(value_getz(json_of(&arena, &ans), "revisions")) > 0);
        }
    }
}

static void test_log__stop_ends_waiting(void **state)
{
    struct world *w = *state;
    int fd = open_request(w, "GET", "/log?since=end&timeout=60", NULL, NULL);

    until(waiting(w) == 1);
    world_restart(w);
    close(fd);
}

static void test_log__the_end_answers_those_who_wait(void **state)
{
    struct world *w = *state;
    int fd = open_request(w, "GET", "/log?since=end&timeout=60", NULL, NULL);
    int64_t start = clock_mono_ms();

    until(waiting(w) == 1);
    api_stop(w->api);
    for (int i = 0; i < 2; i++) {
        struct answer ans = read_answer(&arena, fd, false);

        assert_int_equal(200, ans.status);
        assert_int_equal(0, value_len(value_getz(json_of(&arena, &ans), "revisions")));
        if (i == 0) /* who comes later does not wait either */
            fd = open_request(w, "GET", "/log?since=end&timeout=60", NULL, NULL);
    }
    assert_true(clock_mono_ms() - start < 20000);
}

/* ERR-04 */
static void test_log__bad_parameters(void **state)
{
    struct answer ans = get(*state, &arena, "/log?since=yesterday");

    assert_problem(&arena, &ans, 400, "bad-position-spec");
    ans = get(*state, &arena, "/log?max=x");
    assert_problem(&arena, &ans, 400, "bad-parameter");
    ans = get(*state, &arena, "/log?timeout=-1");
    assert_problem(&arena, &ans, 400, "bad-parameter");
    ans = get(*state, &arena, "/log?url=http://p.test/unknown");
    assert_problem(&arena, &ans, 404, "not-found");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_log__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(pages_through_everything_in_order),
        T(answers_at_once_without_timeout),
        T(waits_for_a_commit),
        T(forgets_clients_that_left),
        T(every_waiter_sees_every_commit),
        T(stop_ends_waiting),
        T(the_end_answers_those_who_wait),
        T(bad_parameters),
    };

    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
