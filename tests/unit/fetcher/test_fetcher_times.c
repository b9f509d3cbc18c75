/* tests/unit/fetcher/test_fetcher_times.c - the whole fetcher over a real store: when it fetches,
 * how much at once, and how it starts and stops. */
#include "world.h"
#include "tests/unit/cmocka_all.h"

#include <sys/resource.h>

#include "base/clock.h"

/* The number of feeds that a ping wakes. */
static size_t ping(struct world *w, struct str url, struct str rss_url)
{
    size_t n = 0;

    assert_int_equal(fetcher_ping(w->fetcher, url, rss_url, &n, NULL, NULL), RC_OK);
    return n;
}

/* SCHED-07, SCHED-10, PING-05: a burst of pings is at most three fetches, never two at once. */
static void test_fetcher_times__burst_of_pings(void **state)
{
    struct world *w = *state;
    struct str url;
    int64_t id, begun_ms;
    int before, most;

    origin_set(w->origin, "/f", &(struct origin_page){.body = RSS(ITEM("a", "A")), .delay_ms = 50});
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, 1, 0);
    assert_int_equal(fetch(w, id), RC_OK);
    rest_ms(300);
    before = origin_count(w->origin, "/f");
    url = str_from(origin_url(w->origin, "/f"));
    begun_ms = clock_mono_ms();
    for (int i = 0; i < 100; i++)
        assert_int_equal(ping(w, url, url), 1);
    most = 3 + (int)((clock_mono_ms() - begun_ms) / w->cfg.ping_gap_ms);
    wait_count(w, "/f", before + 1);
    rest_ms(1000);
    assert_in_range(origin_count(w->origin, "/f") - before, 1, most);
    assert_int_equal(origin_most(w->origin, "/f"), 1);
    assert_int_equal(feed_of(w, id)->level, 0); /* SCHED-04 */
    assert_int_equal(ping(w, str_from(origin_url(w->origin, "/unknown")), STR_NULL), 0);
    /* site URLs are known, too, whichever way their last slash is */
    assert_int_equal(ping(w, STR("http://example.org/"), STR_NULL), 1);
    assert_int_equal(ping(w, STR("http://example.org"), STR_NULL), 1);
}

/* SCHED-02: exact periods; SCHED-06: pings do not change them. */
static void test_fetcher_times__exact_period(void **state)
{
    struct world *w = *state;
    int64_t id, begun_ms;

    serve(w, "/f", NULL, RSS("<ttl>120</ttl>" ITEM("a", "A")));
    begun_ms = clock_mono_ms();
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, LEVEL_EXACT, 1);
    wait_count(w, "/f", 4);
    assert_true(clock_mono_ms() - begun_ms >= 2000);
    ping(w, str_from(origin_url(w->origin, "/f")), STR_NULL);
    rest_ms(1200);
    assert_int_equal(feed_of(w, id)->level, LEVEL_EXACT);
    assert_int_equal(feed_of(w, id)->period_s, 1);
    assert_int_equal(feed_of(w, id)->hints.ttl_s, 7200);
}

/* SCHED-09: hanging publishers delay nobody. */
static void test_fetcher_times__hanging_origin_beside_others(void **state)
{
    enum { HANGING = 8, OTHERS = 50 };
    struct world *w = *state;
    struct ticket tickets[OTHERS];
    struct fetcher_cfg cfg = w->cfg;
    int64_t begun_ms;

    cfg.timeout_ms = 600000; /* so that nothing waits for its end */
    fetcher_reload(w->fetcher, &cfg);
    for (int i = 0; i < HANGING; i++) {
        char path[16];

        snprintf(path, sizeof path, "/hang%d", i);
        origin_set(w->origin, path, &(struct origin_page){.hangs = true});
        subscribe(w, origin_url(w->origin, path), NULL, 1, 0);
    }
    for (int i = 0; i < HANGING; i++) {
        char path[16];

        snprintf(path, sizeof path, "/hang%d", i);
        wait_count(w, path, 1);
    }
    for (int i = 0; i < OTHERS; i++) {
        char path[16];

        snprintf(path, sizeof path, "/f%d", i);
        serve(w, path, NULL, RSS(ITEM("a", "A")));
        tickets[i] = (struct ticket)TICKET;
        fetcher_await(w->fetcher, subscribe(w, origin_url(w->origin, path), NULL, 1, 0),
                      REASON_READER, on_fetched, &tickets[i]);
    }
    for (int i = 0; i < OTHERS; i++) {
        wait_for(&tickets[i]);
        assert_int_equal(tickets[i].rc, RC_OK);
    }
    begun_ms = clock_mono_ms();
    fetcher_stop(w->fetcher, 50); /* bounded, whoever hangs */
    assert_true(clock_mono_ms() - begun_ms < 20000);
}

/* SCHED-09: feeds that hang do not hold up the first fetch of another feed of their host until they
 * time out. */
static void test_fetcher_times__first_fetch_beside_hanging_ones(void **state)
{
    struct world *w = *state;
    struct ticket t = TICKET;
    struct fetcher_cfg cfg = w->cfg;

    cfg.max_per_host = 3;
    cfg.timeout_ms = 600000;
    fetcher_reload(w->fetcher, &cfg);
    for (int i = 0; i < cfg.max_per_host; i++) {
        char path[16];

        snprintf(path, sizeof path, "/hang%d", i);
        origin_set(w->origin, path, &(struct origin_page){.hangs = true});
        subscribe(w, origin_url(w->origin, path), NULL, 1, 0);
        wait_count(w, path, 1);
    }
    serve(w, "/f", NULL, RSS(ITEM("a", "A")));
    fetcher_await(w->fetcher, subscribe(w, origin_url(w->origin, "/f"), NULL, 1, 0), REASON_READER,
                  on_fetched, &t);
    wait_for(&t);
    assert_int_equal(t.rc, RC_OK);
    fetcher_stop(w->fetcher, 50);
}

/* SCHED-10, the host's limit is kept for readers, too. */
static void test_fetcher_times__host_limit(void **state)
{
    struct world *w = *state;
    struct ticket tickets[12];
    struct fetcher_cfg cfg = w->cfg;

    cfg.max_per_host = 3;
    fetcher_reload(w->fetcher, &cfg);
    for (int i = 0; i < 12; i++) {
        char path[16];

        snprintf(path, sizeof path, "/f%d", i);
        origin_set(w->origin, path,
                   &(struct origin_page){.body = RSS(ITEM("a", "A")), .delay_ms = 200});
        tickets[i] = (struct ticket)TICKET;
        fetcher_await(w->fetcher, subscribe(w, origin_url(w->origin, path), NULL, 1, 0),
                      REASON_READER, on_fetched, &tickets[i]);
    }
    for (int i = 0; i < 12; i++)
        wait_for(&tickets[i]);
    assert_in_range(origin_most(w->origin, NULL), 2, 3);
}

/* SCHED-05: a sweep that finds what nobody announced makes level 0 level 1. */
static void test_fetcher_times__unannounced_update_raises_level_0(void **state)
{
    struct world *w = *state;
    struct fetcher_cfg cfg = w->cfg;
    int64_t id;

    cfg.levels.period_s[0] = 1;
    fetcher_reload(w->fetcher, &cfg);
    serve(w, "/f", NULL, RSS(ITEM("a", "A")));
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, 0, 0);
    wait_count(w, "/f", 2);
    assert_int_equal(feed_of(w, id)->level, 0);
    serve(w, "/f", NULL, RSS(ITEM("b", "B") ITEM("a", "A")));
    wait_count(w, "/f", 3);
    for (int i = 0; i < 1200 && feed_of(w, id)->level != 1; i++)
        rest_ms(50);
    assert_int_equal(feed_of(w, id)->level, 1);
    assert_true(feed_of(w, id)->next_fetch_at > clock_now_s() + 1000);
}

/* D49: what a reader asked for is swept while it is asked for, and no longer. */
static void test_fetcher_times__unused_feeds_rest_until_a_reader_comes(void **state)
{
    struct world *w = *state;
    struct fetcher_cfg cfg = w->cfg;
    struct str url = str_from(origin_url(w->origin, "/f"));
    struct feed_ref ref = {.url = url, .shown_url = url};
    struct ticket t = TICKET;
    int64_t id;

    serve(w, "/f", NULL, RSS(ITEM("a", "A")));
    assert_int_equal(store_add_feed(w->store, &ref, on_op, &t), RC_OK);
    wait_for(&t);
    id = t.id;
    assert_int_equal(fetch(w, id), RC_OK);
    assert_true(feed_of(w, id)->next_fetch_at > clock_now_s() + 1000);
    cfg.unused_s = -1;
    fetcher_reload(w->fetcher, &cfg);
    assert_int_equal(fetch_into(w, id, REASON_PERIOD, &t), RC_OK);
    assert_true(feed_of(w, id)->next_fetch_at == TIME_UNKNOWN);
    assert_int_equal(feed_of(w, id)->state, FEED_OK);
    fetcher_reload(w->fetcher, &w->cfg);
    assert_int_equal(fetch(w, id), RC_OK);
    assert_true(feed_of(w, id)->next_fetch_at > clock_now_s() + 1000);
}

/* A full storer and full queues slow the loop down; nothing is lost. */
static void test_fetcher_times__full_queues_lose_nothing(void **state)
{
    enum { N = 120 };
    struct world *w = *state;
    static struct ticket tickets[N];
    int64_t ids[N];

    close_world(w, 0);
    w->store_queue_len = 1;
    w->cfg.n_workers = 1;
    open_world(w);
    for (int i = 0; i < N; i++) {
        char path[16];

        snprintf(path, sizeof path, "/f%d", i);
        serve(w, path, NULL, RSS(ITEM("a", "A")));
        ids[i] = subscribe(w, origin_url(w->origin, path), NULL, 1, 0);
    }
    for (int i = 0; i < N; i++) {
        tickets[i] = (struct ticket)TICKET;
        fetcher_await(w->fetcher, ids[i], REASON_READER, on_fetched, &tickets[i]);
    }
    for (int i = 0; i < N; i++) {
        wait_for(&tickets[i]);
        assert_int_equal(tickets[i].rc, RC_OK);
        assert_int_equal(count_revisions(w, ids[i]), 1);
    }
}

/* SCHED-14, SCHED-02: Retry-After holds the feed. */
static void test_fetcher_times__retry_after(void **state)
{
    struct world *w = *state;
    struct feed *feed;
    int64_t id;

    origin_set(w->origin, "/f",
               &(struct origin_page){.status = 503, .fields = "Retry-After: 7200\r\n"});
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, LEVEL_EXACT, 1);
    assert_int_equal(fetch(w, id), RC_PEER);
    feed = feed_of(w, id);
    assert_true(feed->next_fetch_at >= feed->last_check_at + 7200);
    assert_int_equal(feed->next_reason, REASON_RETRY_AFTER);
    serve(w, "/g", NULL, RSS(ITEM("a", "A"))); /* a reader is told at once */
    id = subscribe(w, origin_url(w->origin, "/g"), NULL, LEVEL_EXACT, 1);
    assert_int_equal(RC_RESTING, fetch(w, id));
    assert_int_equal(0, origin_count(w->origin, "/g"));
}

/* SCHED-14, ETIQ-03: what a host asked for holds after a restart, too. */
static void test_fetcher_times__a_rest_survives_a_restart(void **state)
{
    struct world *w = *state;
    int64_t id;

    serve(w, "/b", NULL, RSS(ITEM("b", "B")));
    serve(w, "/c", NULL, RSS(ITEM("c", "C")));
    origin_set(w->origin, "/a",
               &(struct origin_page){.status = 429, .fields = "Retry-After: 3600\r\n"});
    id = subscribe(w, origin_url(w->origin, "/b"), NULL, 2, 0);
    assert_int_equal(RC_OK, fetch(w, id));
    id = subscribe(w, origin_url(w->origin, "/a"), NULL, 2, 0);
    assert_int_equal(RC_PEER, fetch(w, id));
    close_world(w, 0);
    clock_set_ahead_us(INT64_C(1000) * 1000000); /* /b is due */
    open_world(w);
    id = subscribe(w, origin_url(w->origin, "/c"), NULL, LEVEL_EXACT, 1);
    assert_int_equal(RC_RESTING, fetch(w, id));
    assert_int_equal(0, origin_count(w->origin, "/c"));
    assert_int_equal(1, origin_count(w->origin, "/b"));
    clock_set_ahead_us(INT64_C(4000) * 1000000);
    wait_count(w, "/b", 2);
    clock_set_ahead_us(0);
}

/* SCHED-08, PING-07: a change of a ping server's log is one request. */
static void test_fetcher_times__monitor_passes_each_change_once(void **state)
{
    struct world *w = *state;
    struct fetcher_cfg cfg = w->cfg;
    char log[600], url[128];
    struct str server;
    int before;

    serve(w, "/f", NULL, RSS(ITEM("a", "A")));
    snprintf(url, sizeof url, "%s", origin_url(w->origin, "/f"));
    assert_int_equal(fetch(w, subscribe(w, url, NULL, 1, 0)), RC_OK);
    before = origin_count(w->origin, "/f");
    for (int round = 0; round < 3; round++) { /* the same change, seen a second later each time */
        snprintf(
            log, sizeof log,
            "<weblogUpdates version=\"2\" updated=\"Sat, 21 Nov 2026 10:00:%02d GMT\" count=\"2\">"
            "<weblog name=\"x\" url=\"http://unknown.example/\" when=\"1\"/>"
            "<weblog name=\"f\" url=\"%s\" when=\"%d\"/></weblogUpdates>",
            10 + round, url, 2 + round);
        serve(w, "/changes.xml", NULL, log);
        if (round == 0) {
            server = str_from(origin_url(w->origin, "/changes.xml"));
            cfg.ping_servers = &server;
            cfg.n_ping_servers = 1;
            cfg.monitor_period_s = 1;
            fetcher_reload(w->fetcher, &cfg);
        }
        wait_count(w, "/changes.xml", origin_count(w->origin, "/changes.xml") + 1);
    }
    wait_count(w, "/f", before + 1);
    rest_ms(1200);
    assert_int_equal(origin_count(w->origin, "/f"), before + 1);
    snprintf(log, sizeof log,
             "<weblogUpdates version=\"2\" updated=\"Sat, 21 Nov 2026 10:05:00 GMT\" count=\"1\">"
             "<weblog name=\"f\" url=\"%s\" when=\"2\"/></weblogUpdates>",
             url);
    serve(w, "/changes.xml", NULL, log);
    wait_count(w, "/f", before + 2);
    /* what has left the log for a day is remembered no more */
    snprintf(log, sizeof log,
             "<weblogUpdates version=\"2\" updated=\"Fri, 01 Jan 2016 10:00:00 GMT\" count=\"1\">"
             "<weblog name=\"f\" url=\"%s/\" when=\"2\"/></weblogUpdates>",
             url);
    for (int round = 3; round < 5; round++) {
        serve(w, "/changes.xml", NULL, log);
        wait_count(w, "/f", before + round);
        serve(w, "/changes.xml", NULL,
              "<weblogUpdates version=\"2\" updated=\"Sun, 03 Jan 2016 10:00:00 GMT\" count=\"1\">"
              "<weblog name=\"x\" url=\"http://x.example/\" when=\"1\"/></weblogUpdates>");
        wait_count(w, "/changes.xml", origin_count(w->origin, "/changes.xml") + 2);
    }
}

/* Without a file descriptor for its readers it does not start, and says so. */
static void test_fetcher_times__start_without_descriptors(void **state)
{
    struct world *w = *state;
    struct fetcher *other;
    struct err err = ERR_INIT;
    struct rlimit limit, none;
    enum rc rc;

    fetcher_stop(w->fetcher, 0);
    other = fetcher_new(&w->cfg);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    rc = fetcher_start(other, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(rc, RC_IO);
    assert_true(err.text[0] != '\0');
    close_world(w, 0);
    fetcher_free(&other);
    open_world(w);
}

/* Those who wait are told when the daemon stops, also those who come late. */
static void test_fetcher_times__stop_tells_those_who_wait(void **state)
{
    struct world *w = *state;
    struct ticket hanging = TICKET, queued = TICKET, late = TICKET;
    struct fetcher_cfg cfg = w->cfg;
    int64_t a, b;

    cfg.max_per_host = 1;
    fetcher_reload(w->fetcher, &cfg);
    origin_set(w->origin, "/hang", &(struct origin_page){.hangs = true});
    a = subscribe(w, origin_url(w->origin, "/hang"), NULL, 1, 0);
    fetcher_await(w->fetcher, a, REASON_READER, on_fetched, &hanging);
    wait_count(w, "/hang", 1);
    b = subscribe(w, origin_url(w->origin, "/b"), NULL, 1, 0);
    fetcher_await(w->fetcher, b, REASON_READER, on_fetched, &queued);
    rest_ms(50);
    fetcher_stop(w->fetcher, 50);
    wait_for(&hanging);
    wait_for(&queued);
    assert_int_equal(hanging.rc, RC_CLOSED);
    assert_int_equal(queued.rc, RC_CLOSED);
    assert_int_equal(origin_count(w->origin, "/b"), 0);
    store_close(&w->store);
    fetcher_await(w->fetcher, a, REASON_READER, on_fetched, &late);
    fetcher_free(&w->fetcher);
    wait_for(&late);
    assert_int_equal(late.rc, RC_CLOSED);

    /* start is recovery: both are due */
    serve(w, "/hang", NULL, RSS(ITEM("a", "A")));
    serve(w, "/b", NULL, RSS(ITEM("a", "A")));
    open_world(w);
    wait_count(w, "/hang", 2);
    wait_count(w, "/b", 1);
}

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool is_held, is_open;
};

/* The storer's thread stands here until the gate is opened. */
static void hold_storer(void *ctx, enum rc rc, const struct store_result *res UNUSED,
                        const struct err *err UNUSED)
{
    struct gate *g = ctx;

    assert_int_equal(rc, RC_OK);
    pthread_mutex_lock(&g->lock);
    g->is_held = true;
    pthread_cond_broadcast(&g->moved);
    while (!g->is_open)
        pthread_cond_wait(&g->moved, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void wait_until_held(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    while (!g->is_held)
        pthread_cond_wait(&g->moved, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void open_gate(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->is_open = true;
    pthread_cond_broadcast(&g->moved);
    pthread_mutex_unlock(&g->lock);
}

#define PIECE                                                                                      \
    "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:fo='http://fanout.org/protocol/atom'>"        \
    "<title>T</title><fo:last_cursor>c1</fo:last_cursor><entry><id>urn:a</id><title>a</title>"     \
    "<updated>2020-01-01T00:00:00Z</updated></entry></feed>"

/* Those who wait for a long stream are told of what is stored by then, though the next piece has
 * failed and its outcome waits for the storer. */
static void test_fetcher_times__the_impatient_are_told_what_is_stored(void **state)
{
    static const char more[] = "/s?since=cursor%3Ac1&timeout=0&max=1000";
    struct world *w = *state;
    struct ticket t = TICKET;
    struct gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
    struct fetcher_cfg cfg = w->cfg;
    int64_t id;

    cfg.catch_up = 1;
    fetcher_reload(w->fetcher, &cfg);
    serve(w, "/s", NULL, PIECE);
    origin_set(w->origin, more, &(struct origin_page){.status = 500, .waits = true});
    id = subscribe(w, origin_url(w->origin, "/s"), NULL, 1, 0);
    fetcher_await(w->fetcher, id, REASON_READER, on_fetched, &t);
    wait_count(w, more, 1);
    assert_int_equal(store_ping(w->store, &id, 0, hold_storer, &gate), RC_OK);
    wait_until_held(&gate);
    origin_release(w->origin);
    wait_for(&t);
    open_gate(&gate);
    assert_int_equal(t.rc, RC_OK);
    assert_int_equal(t.id, id);
    assert_int_equal(count_revisions(w, id), 1);
}

int main(int argc UNUSED, char **argv)
{
    const struct CMUnitTest tests[] = {
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(test_fetcher_times__##name, world_setup, world_teardown)
        TEST(burst_of_pings),
        TEST(exact_period),
        TEST(hanging_origin_beside_others),
        TEST(first_fetch_beside_hanging_ones),
        TEST(host_limit),
        TEST(unannounced_update_raises_level_0),
        TEST(unused_feeds_rest_until_a_reader_comes),
        TEST(full_queues_lose_nothing),
        TEST(the_impatient_are_told_what_is_stored),
        TEST(retry_after),
        TEST(a_rest_survives_a_restart),
        TEST(monitor_passes_each_change_once),
        TEST(start_without_descriptors),
        TEST(stop_tells_those_who_wait),
#undef TEST
    };

    world_init(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
