/* GET /log, over real sockets. */
#include "world.h"
#include "tests/unit/cmocka_all.h"

#include <poll.h>
#include <sqlite3.h>
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

/* What the storer has committed and not yet announced: a copy of the log's last row, one seq on. */
static void commit_in_silence(struct world *w)
{
    char path[96], *error = NULL;
    sqlite3 *sq;

    snprintf(path, sizeof path, "%s/f.db", w->dir);
    assert_int_equal(SQLITE_OK, sqlite3_open(path, &sq));
    sqlite3_busy_timeout(sq, 10000); /* the storer may be at work */
    sqlite3_exec(sq,
                 "INSERT INTO revisions (seq, entry_id, feed_id, batch, kind, initial, at_us,"
                 " sort_at, doc, ext) SELECT seq + 1, entry_id, feed_id, seq + 1, 1, 0, at_us + 1,"
                 " sort_at, doc, ext FROM revisions ORDER BY seq DESC LIMIT 1;"
                 "UPDATE meta SET value = value + 1 WHERE name = 'last_seq'",
                 NULL, NULL, &error);
    assert_null(error);
    assert_int_equal(1, sqlite3_changes(sq));
    sqlite3_close(sq);
}

/* no seq in an answer is behind the end that the same answer names, and its cursors can be used */
static void test_log__shows_only_what_is_announced(void **state)
{
    static const char *const since[] = {"start", "end", "3", "2024-01-01", "time:1"};
    struct world *w = *state;

    get(w, &arena, "/feed?url=" OK);
    commit_in_silence(w);
    for (size_t i = 0; i < ARRAY_LEN(since); i++) {
        struct answer ans = get(w, &arena, str_printf(&arena, "/log?since=%s", since[i]).ptr);
        struct value *v = json_of(&arena, &ans);
        int64_t seq = value_get_int(v, STR("seq"), -1);

        assert_int_equal(3, value_get_int(v, STR("last_seq"), 0));
        assert_int_equal(3, seq);
        ans = get(w, &arena, str_printf(&arena, "/log?since=%lld", (long long)seq).ptr);
        assert_int_equal(200, ans.status);
    }
}

/* a page of the log holds what its documents show */
static void test_log__pages_count_only_what_is_announced(void **state)
{
    struct world *w = *state;
    struct answer ans;

    get(w, &arena, "/feed?url=" OK);
    commit_in_silence(w);
    ans = get(w, &arena, "/history?url=" OK);
    assert_int_equal(200, ans.status);
    assert_true(has(&ans, "/0-3\""));
    assert_false(has(&ans, "-4\""));
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

static struct str key_in(const struct answer *ans)
{
    ssize_t at = str_find(ans->body, STR("http%3A%2F%2F"));
    struct str rest;

    assert_true(at > 0);
    rest = str_slice(ans->body, (size_t)at + strlen("http%3A%2F%2F"), ans->body.len);
    return str_slice(rest, 0, (size_t)str_find(rest, STR("%40")));
}

/* what a password opens is shown to those who name it, or who hold the token */
static void test_log__protected_feeds_are_shown_to_those_who_may_see_them(void **state)
{
    struct world *w = *state;
    struct api_cfg cfg = w->cfg;
    struct answer ans = get(w, &arena, "/feed?type=atom&url=http://me:pw@p.test/ok");
    struct str key = key_in(&ans);
    struct value *v;

    get(w, &arena, "/feed?url=" OK "2");
    ans = get(w, &arena, "/log?max=2");
    v = json_of(&arena, &ans);
    assert_int_equal(2, value_len(value_getz(v, "revisions")));
    assert_str(value_get_textz(value_at(value_getz(v, "revisions"), 0), "url"), OK "2");
    ans = get(w, &arena, "/log");
    assert_int_equal(3, value_len(value_getz(json_of(&arena, &ans), "revisions")));
    assert_int_equal(6, value_get_int(json_of(&arena, &ans), STR("seq"), 0));
    ans = get(w, &arena, "/log?url=http://me:pw@p.test/ok");
    assert_int_equal(3, value_len(value_getz(json_of(&arena, &ans), "revisions")));
    ans = get(w, &arena, str_printf(&arena, "/log?url=http://%.*s@p.test/ok", STR_ARG(key)).ptr);
    assert_int_equal(3, value_len(value_getz(json_of(&arena, &ans), "revisions")));
    cfg.token = STR("t0ken");
    api_reload(w->api, &cfg);
    ans = ask(w, &arena, "GET", "/log", "Authorization: Bearer t0ken\r\n", NULL);
    assert_int_equal(6, value_len(value_getz(json_of(&arena, &ans), "revisions")));
}

/* a wait is not ended by what may not be shown, and goes on from there */
static void test_log__protected_news_wake_nobody(void **state)
{
    struct world *w = *state;
    struct answer ans;
    int fd;

    get(w, &arena, "/feed?url=" OK);
    fd = open_request(w, "GET", "/log?since=end&timeout=20", NULL, NULL);
    until(waiting(w) == 1);
    get(w, &arena, "/feed?url=http://me:pw@p.test/ok2");
    until(waiting(w) == 1);
    publish(w, OK, 7, 1);
    ans = read_answer(&arena, fd, false);
    assert_int_equal(1, value_len(value_getz(json_of(&arena, &ans), "revisions")));
    assert_true(has(&ans, "Entry 7"));
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
        T(shows_only_what_is_announced),
        T(pages_count_only_what_is_announced),
        T(forgets_clients_that_left),
        T(every_waiter_sees_every_commit),
        T(stop_ends_waiting),
        T(the_end_answers_those_who_wait),
        T(protected_feeds_are_shown_to_those_who_may_see_them),
        T(protected_news_wake_nobody),
        T(bad_parameters),
    };

    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
