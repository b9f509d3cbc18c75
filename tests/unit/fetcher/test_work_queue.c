/* tests/unit/fetcher/test_work_queue.c - one slot a feed, classes, hosts, bursts. */
#include "tests/unit/cmocka_all.h"

#include "base/digest.h"
#include "fetcher/work_queue.h"

/* What the queue is told of a feed when it asks: the last that a test said. */
static struct feed_host hosts[10];

static struct feed_host find_host(void *ctx UNUSED, int64_t feed_id, struct arena *a UNUSED)
{
    return hosts[feed_id];
}

static struct work_queue *make_queue(int max_asking, int max_per_host, int64_t gap_ms)
{
    const struct work_queue_cfg cfg = {.max_asking = max_asking,
                                       .max_per_host = max_per_host,
                                       .host_gap_ms = gap_ms,
                                       .ping_gap_ms = 1000,
                                       .find_host = find_host,
                                       .remember_ms = 1000};

    return work_queue_new(&cfg);
}

static void want(struct work_queue *q, int64_t id, const char *host, enum fetch_reason reason,
                 int64_t now_ms)
{
    hosts[id] = (struct feed_host){.authority = str_from(host)};
    work_queue_want(q, id, reason, now_ms);
}

static int64_t take_id(struct work_queue *q, int64_t now_ms)
{
    struct slot *s = work_queue_take(q, now_ms);

    return s == NULL ? 0 : s->feed_id;
}

static void end(struct work_queue *q, int64_t id, int64_t now_ms)
{
    work_queue_end(q, work_queue_find(q, id), now_ms);
}

static size_t n_in_flight(struct work_queue *q)
{
    struct slot *s;
    void *it = NULL;
    size_t n = 0;

    while ((s = work_queue_next(q, &it)) != NULL)
        n += s->state == SLOT_RUNNING || s->state == SLOT_BETWEEN;
    return n;
}

/* However many reasons ask, a feed is there once and knows them all. */
static void test_work_queue__one_slot_a_feed(void **state UNUSED)
{
    struct work_queue *q = make_queue(10, 10, 0);
    struct slot *s;

    want(q, 1, "a:80", REASON_PERIOD, 5000);
    want(q, 1, "a:80", REASON_PING, 5000);
    want(q, 1, "a:80", REASON_READER, 5000);
    assert_int_equal(work_queue_queued(q), 1);
    s = work_queue_take(q, 5000);
    assert_non_null(s);
    assert_int_equal(s->reasons, REASON_BIT(REASON_PERIOD) | REASON_BIT(REASON_PING) |
                                     REASON_BIT(REASON_READER));
    assert_null(work_queue_take(q, 5000));
    assert_int_equal(n_in_flight(q), 1);
    end(q, 1, 5000);
    assert_int_equal(n_in_flight(q), 0);
    work_queue_free(&q);
    assert_null(q);
}

/* SCHED-10: a feed in flight is not started again; a ping meanwhile makes it be fetched once more.
 */
static void test_work_queue__dirty_again_by_ping_only(void **state UNUSED)
{
    struct work_queue *q = make_queue(10, 10, 0);

    want(q, 1, "a:80", REASON_PERIOD, 5000);
    assert_int_equal(take_id(q, 5000), 1);
    want(q, 1, "a:80", REASON_READER, 5100);
    want(q, 1, "a:80", REASON_PERIOD, 5100);
    assert_int_equal(take_id(q, 5100), 0);
    end(q, 1, 7000);
    assert_int_equal(take_id(q, 9000), 0);

    want(q, 1, "a:80", REASON_PERIOD, 9000);
    assert_int_equal(take_id(q, 9000), 1);
    want(q, 1, "a:80", REASON_PING, 9100);
    want(q, 1, "a:80", REASON_PING, 9200);
    assert_int_equal(take_id(q, 9300), 0);
    end(q, 1, 12000);
    assert_int_equal(take_id(q, 12000), 1);
    end(q, 1, 12100);
    assert_int_equal(take_id(q, 20000), 0);
    work_queue_free(&q);
}

/* SCHED-07: 100 pings within a second are two fetches, the second one a gap after the first. */
static void test_work_queue__burst_of_pings(void **state UNUSED)
{
    struct work_queue *q = make_queue(10, 10, 0);
    int n_fetches = 0;
    int64_t last_ms = 0;

    for (int64_t ms = 5000; ms < 9000; ms += 10) {
        if (ms < 6000)
            want(q, 1, "a:80", REASON_PING, ms);
        while (take_id(q, ms) == 1) {
            assert_true(n_fetches == 0 || ms - last_ms >= 1000);
            last_ms = ms;
            n_fetches++;
            end(q, 1, ms);
        }
    }
    assert_int_equal(n_fetches, 2);
    assert_true(last_ms - 6000 <= 2000);
    work_queue_free(&q);
}

/* A reader does not wait for the gap of the pings. */
static void test_work_queue__reader_lifts_a_delayed_ping(void **state UNUSED)
{
    struct work_queue *q = make_queue(10, 10, 0);
    struct slot *s;

    want(q, 1, "a:80", REASON_PING, 5000);
    assert_int_equal(take_id(q, 5000), 1);
    end(q, 1, 5010);
    want(q, 1, "a:80", REASON_PING, 5020);
    assert_int_equal(take_id(q, 5020), 0);
    assert_int_equal(work_queue_wait_ms(q, 5020), 980);
    want(q, 1, "a:80", REASON_READER, 5030);
    s = work_queue_take(q, 5030);
    assert_non_null(s);
    assert_int_equal(s->reasons, REASON_BIT(REASON_PING) | REASON_BIT(REASON_READER));
    work_queue_free(&q);
}

/* Readers before pings before sweeps. */
static void test_work_queue__classes(void **state UNUSED)
{
    struct work_queue *q = make_queue(1, 10, 0);

    want(q, 1, "a:80", REASON_PERIOD, 5000);
    want(q, 2, "a:80", REASON_PING, 5000);
    want(q, 3, "a:80", REASON_NEW, 5000);
    want(q, 4, "a:80", REASON_READER, 5000);
    assert_int_equal(take_id(q, 5000), 4);
    assert_int_equal(take_id(q, 5000), 0); /* one at once in all */
    end(q, 4, 5000);
    assert_int_equal(take_id(q, 5000), 2);
    end(q, 2, 5000);
    work_queue_want(q, 1, REASON_READER, 5000); /* overtakes 3 */
    assert_int_equal(take_id(q, 5000), 1);
    end(q, 1, 5000);
    assert_int_equal(take_id(q, 5000), 3);
    work_queue_free(&q);
}

/* SCHED-09, SCHED-10: a host at its limit holds only its own feeds up; it counts requests. */
static void test_work_queue__host_limit(void **state UNUSED)
{
    struct work_queue *q = make_queue(100, 2, 0);

    for (int64_t id = 1; id <= 8; id++)
        want(q, id, "slow:80", REASON_READER, 5000);
    want(q, 9, "fast:80", REASON_PERIOD, 5000);
    assert_int_equal(take_id(q, 5000), 1);
    assert_int_equal(take_id(q, 5000), 2);
    assert_int_equal(take_id(q, 5000), 9);
    assert_int_equal(take_id(q, 5000), 0);
    /* the answer is there: the host is free while the document is worked on */
    work_queue_leave_host(q, work_queue_find(q, 1), 5000);
    assert_int_equal(take_id(q, 5000), 3);
    assert_int_equal(take_id(q, 5000), 0);
    assert_int_equal(n_in_flight(q), 4);
    work_queue_free(&q);
}

/* Sweeps of one host keep their distance, hosts take turns. */
static void test_work_queue__gap_and_turns(void **state UNUSED)
{
    struct work_queue *q = make_queue(100, 10, 500);

    want(q, 1, "a:80", REASON_PERIOD, 5000);
    want(q, 2, "a:80", REASON_PERIOD, 5000);
    want(q, 3, "b:80", REASON_PERIOD, 5000);
    assert_int_equal(take_id(q, 5000), 1);
    assert_int_equal(take_id(q, 5000), 3);
    assert_int_equal(take_id(q, 5000), 0);
    assert_int_equal(work_queue_wait_ms(q, 5000), 500);
    want(q, 4, "a:80", REASON_PING, 5100);
    assert_int_equal(take_id(q, 5100), 4);
    assert_int_equal(take_id(q, 5599), 0);
    assert_int_equal(take_id(q, 5600), 2);
    work_queue_free(&q);
}

static void want_insisting(struct work_queue *q, int64_t id, int64_t now_ms)
{
    hosts[id] = (struct feed_host){STR("a:80"), true, false, false};
    work_queue_want(q, id, REASON_PERIOD, now_ms);
}

/* SCHED-02: a feed that is new or has an exact period does not wait for the gap of its host. */
static void test_work_queue__one_that_insists(void **state UNUSED)
{
    struct work_queue *q = make_queue(100, 10, 500);

    want(q, 1, "a:80", REASON_PERIOD, 5000);
    assert_int_equal(take_id(q, 5000), 1);
    end(q, 1, 5001);
    want(q, 3, "a:80", REASON_PERIOD, 5002);
    want_insisting(q, 2, 5002);
    assert_int_equal(take_id(q, 5002), 2);
    assert_int_equal(take_id(q, 5002), 0);
    work_queue_free(&q);
}

/* ETIQ-03: a host that rests is left alone by all sweeps, and they come back one after another. */
static void test_work_queue__one_that_insists_lets_a_host_rest(void **state UNUSED)
{
    struct work_queue *q = make_queue(1, 10, 0);
    struct host_rest rest;

    want(q, 1, "a:80", REASON_PERIOD, 5000);
    assert_int_equal(take_id(q, 5000), 1);
    want_insisting(q, 2, 5000); /* before the host asks for a rest, */
    assert_true(work_queue_cool(q, STR("a:80"), 20000, 5000, &rest));
    end(q, 1, 5001);
    want_insisting(q, 3, 5002); /* and after it */
    want(q, 4, "a:80", REASON_READER, 5002);
    assert_int_equal(take_id(q, 5002), 4);
    end(q, 4, 5003);
    assert_int_equal(take_id(q, 24999), 0);
    assert_int_equal(take_id(q, 25000), 2);
    assert_int_equal(take_id(q, 25000), 0);
    end(q, 2, 26001);
    assert_int_equal(take_id(q, 26001), 3);
    work_queue_free(&q);
}

/* ETIQ-03: many feeds may be wanted by hand at once, and anybody may ping, so these wait for a host that rests, too. They
 * come before the sweeps, each once. */
static void test_work_queue__by_hand_a_host_rests_too(void **state UNUSED)
{
    struct work_queue *q = make_queue(100, 1, 0);
    struct host_rest rest;

    want(q, 1, "a:80", REASON_PERIOD, 5000);
    assert_int_equal(take_id(q, 5000), 1);
    want(q, 2, "a:80", REASON_PERIOD, 5000);
    want(q, 3, "a:80", REASON_HAND, 5000); /* before the host asks for a rest, */
    assert_true(work_queue_cool(q, STR("a:80"), 20000, 5000, &rest));
    end(q, 1, 5001);
    want(q, 4, "a:80", REASON_HAND, 5002); /* and after it */
    for (int i = 0; i < 6; i++)
        want(q, 5, "a:80", REASON_PING, 5002 + 3000 * i);
    want(q, 6, "b:80", REASON_PING, 20002);
    want(q, 7, "a:80", REASON_READER, 20002); /* a reader passes it */
    assert_int_equal(take_id(q, 20002), 7);
    assert_int_equal(take_id(q, 20002), 6);
    end(q, 7, 20003);
    assert_int_equal(take_id(q, 24999), 0);
    for (int64_t id = 3, now = 25000; id <= 5; id++, now += 2000) {
        assert_int_equal(take_id(q, now), id);
        assert_int_equal(take_id(q, now + 1500), 0);
        end(q, id, now + 1900);
    }
    assert_int_equal(take_id(q, 31000), 2);
    work_queue_free(&q);
}

/* SCHED-14: sweeps of a cooled host wait, others go on. */
static void test_work_queue__cooled_host(void **state UNUSED)
{
    struct work_queue *q = make_queue(100, 10, 0);
    struct host_rest rest;

    want(q, 1, "a:80", REASON_PERIOD, 5000);
    assert_int_equal(take_id(q, 5000), 1);
    want(q, 2, "a:80", REASON_PERIOD, 5000);
    assert_true(work_queue_cool(q, STR("a:80"), 20000, 5000, &rest));
    assert_true(str_eqz(rest.host, "a:80"));
    assert_int_equal(20000, rest.cool_ms);
    assert_true(rest.gentle_ms > rest.cool_ms);
    assert_false(work_queue_cool(q, STR("a:80"), 19000, 5000, &rest));
    want(q, 3, "b:80", REASON_PERIOD, 5000);
    assert_int_equal(take_id(q, 5000), 3);
    assert_int_equal(take_id(q, 24999), 0);
    want(q, 4, "a:80", REASON_READER, 24999);
    assert_int_equal(take_id(q, 24999), 4);
    end(q, 1, 25000);
    assert_int_equal(take_id(q, 26000), 0); /* the answer to 4 is not here yet */
    end(q, 4, 26001);
    assert_int_equal(take_id(q, 26001), 2);
    work_queue_free(&q);
}

/* ETIQ-03: those that waited come one after another, however many and however slow; another
 * refusal cools the host again. */
static void test_work_queue__after_cooling_one_after_another(void **state UNUSED)
{
    struct work_queue *q = make_queue(100, 10, 0);
    struct host_rest rest;
    int64_t now = 25000;

    want(q, 1, "a:80", REASON_PERIOD, 5000);
    assert_int_equal(take_id(q, 5000), 1);
    assert_true(work_queue_cool(q, STR("a:80"), 20000, 5000, &rest));
    end(q, 1, 5001);
    for (int64_t id = 2; id <= 9; id++)
        want(q, id, "a:80", REASON_PERIOD, 6000);
    for (int64_t id = 2; id <= 8; id++) {
        assert_int_equal(take_id(q, now), id);
        assert_int_equal(take_id(q, now + 199000), 0);
        if (id == 7)
            assert_true(work_queue_cool(q, STR("a:80"), 50000, now + 200000, &rest));
        end(q, id, now + 200000);
        if (id == 7)
            assert_int_equal(take_id(q, now + 249999), 0);
        now += id == 7 ? 250000 : 200000;
    }
    work_queue_free(&q);
}

/* SCHED-14, NODE-04: a host rests that asked another owner, or us before a restart. */
static void test_work_queue__a_rest_that_is_known_from_before(void **state UNUSED)
{
    struct work_queue *q = make_queue(100, 10, 0);
    const struct host_rest rest = {STR("a:80"), 20000, 30000};

    work_queue_hold(q, true);
    want(q, 1, "a:80", REASON_PERIOD, 5000);
    want(q, 2, "b:80", REASON_PERIOD, 5000);
    want(q, 3, "b:80", REASON_READER, 5000);
    assert_int_equal(take_id(q, 5000), 3);
    assert_int_equal(take_id(q, 5000), 0); /* it is not known who rests */
    work_queue_rest(q, &rest, 5000);
    work_queue_hold(q, false);
    assert_int_equal(take_id(q, 5000), 2);
    assert_int_equal(take_id(q, 24999), 0);
    assert_int_equal(take_id(q, 25000), 1);
    work_queue_free(&q);
}

/* A job that asks another host next keeps its place in flight and waits for that host's room. */
/* ETIQ-03: nodes read the hosts that rest anew when others come, and are told of each until a day after its rest. */
static void test_work_queue__a_rest_that_was_over_before_a_fetch(void **state UNUSED)
{
    const struct host_rest rest = {.host = STR("a:80"), .cool_ms = -3600000, .gentle_ms = -3000000};
    struct work_queue *q = make_queue(10, 10, 60000);

    want(q, 1, "a:80", REASON_PERIOD, 5000);
    assert_int_equal(take_id(q, 5000), 1);
    end(q, 1, 5100);
    want(q, 2, "a:80", REASON_PING, 5200);
    work_queue_rest(q, &rest, 5300);
    assert_int_equal(take_id(q, 5300), 2); /* a ping does not wait for the gap of a host that does not rest */
    work_queue_free(&q);
}

static void test_work_queue__going_on_to_another_host(void **state UNUSED)
{
    struct work_queue *q = make_queue(2, 1, 0);
    struct slot *s;

    want(q, 1, "a:80", REASON_PERIOD, 5000);
    want(q, 2, "b:80", REASON_PERIOD, 5000);
    want(q, 3, "b:80", REASON_READER, 5000);
    assert_int_equal(take_id(q, 5000), 3);
    assert_int_equal(take_id(q, 5000), 1);
    s = work_queue_find(q, 1);
    work_queue_go_on(q, s, STR("b:80"), 5000);
    assert_int_equal(s->state, SLOT_BETWEEN);
    want(q, 1, "a:80", REASON_PERIOD, 5000);
    assert_int_equal(take_id(q, 5000), 0); /* b has its one request */
    work_queue_leave_host(q, work_queue_find(q, 3), 5000);
    assert_int_equal(take_id(q, 5000), 1); /* though both places are taken: it has one of them */
    assert_int_equal(n_in_flight(q), 2);
    end(q, 1, 5000);
    assert_int_equal(take_id(q, 5000), 2);
    work_queue_free(&q);
}

/* The answer is there, and its document goes to a worker. */
static void give_place(struct work_queue *q, int64_t id)
{
    work_queue_leave_host(q, work_queue_find(q, id), 5000);
    work_queue_give_place(q, work_queue_find(q, id));
}

/* A fetch whose document is being stored leaves its place to the next one, but not without end. */
static void test_work_queue__stored_ones_do_not_stop_the_network(void **state UNUSED)
{
    struct work_queue *q = make_queue(2, 10, 0);

    for (int64_t id = 1; id <= 6; id++)
        want(q, id, "a:80", REASON_PERIOD, 5000);
    assert_int_equal(take_id(q, 5000), 1);
    assert_int_equal(take_id(q, 5000), 2);
    assert_int_equal(take_id(q, 5000), 0);
    work_queue_leave_host(q, work_queue_find(q, 1), 5000);
    assert_int_equal(take_id(q, 5000), 0); /* answered, but perhaps without a document */
    give_place(q, 1);
    assert_int_equal(take_id(q, 5000), 3);
    assert_int_equal(take_id(q, 5000), 0);
    give_place(q, 2);
    assert_int_equal(take_id(q, 5000), 4);
    give_place(q, 3);
    give_place(q, 4);
    assert_int_equal(take_id(q, 5000), 0); /* four are being stored */
    assert_int_equal(n_in_flight(q), 4);
    end(q, 2, 5000);
    assert_int_equal(take_id(q, 5000), 5);
    assert_int_equal(take_id(q, 5000), 0);
    work_queue_free(&q);
}

/* One that goes on asks again, so it waits for a place that is free, although it is in flight. */
static void test_work_queue__going_on_takes_a_place(void **state UNUSED)
{
    struct work_queue *q = make_queue(1, 10, 0);

    want(q, 1, "a:80", REASON_PERIOD, 5000);
    want(q, 2, "a:80", REASON_PERIOD, 5000);
    assert_int_equal(take_id(q, 5000), 1);
    give_place(q, 1);
    assert_int_equal(take_id(q, 5000), 2);
    work_queue_go_on(q, work_queue_find(q, 1), STR("b:80"), 5000);
    assert_int_equal(take_id(q, 5000), 0);
    give_place(q, 2);
    assert_int_equal(take_id(q, 5000), 1);
    end(q, 2, 5000);
    end(q, 1, 5000);
    assert_int_equal(n_in_flight(q), 0);
    work_queue_free(&q);
}

/* PMHC-09: contents that wait for another host can go on when as many as may be are in flight, or nothing ever would. */
static void test_work_queue__contents_go_on_when_all_is_taken(void **state UNUSED)
{
    struct work_queue *q = make_queue(1, 10, 0);

    hosts[1].authority = STR("a:80");
    hosts[2].authority = STR("c:80");
    work_queue_want_content(q, 1, STR("a:80"), 5000);
    work_queue_want_content(q, 2, STR("c:80"), 5000);
    for (int64_t id = 1; id <= 2; id++) {
        assert_int_equal(take_id(q, 5000), id);
        work_queue_go_on(q, work_queue_find(q, id), STR("b:80"), 5000);
    }
    want(q, 3, "c:80", REASON_READER, 5000);
    assert_int_equal(take_id(q, 5000), 2); /* two are in flight, and wait */
    assert_int_equal(take_id(q, 5000), 0);
    end(q, 2, 5000);
    assert_int_equal(take_id(q, 5000), 3); /* it has the place of the one that ended */
    end(q, 3, 5000);
    assert_int_equal(take_id(q, 5000), 1);
    work_queue_free(&q);
}

/* Slots are forgotten a while after their fetch; dropped ones at once. */
static void test_work_queue__forgets(void **state UNUSED)
{
    struct work_queue *q = make_queue(10, 10, 0);

    want(q, 1, "a:80", REASON_PERIOD, 5000);
    assert_int_equal(take_id(q, 5000), 1);
    end(q, 1, 5100);
    assert_null(work_queue_take(q, 6099));
    assert_non_null(work_queue_find(q, 1));
    assert_null(work_queue_take(q, 6100));
    assert_null(work_queue_find(q, 1));
    assert_int_equal(work_queue_wait_ms(q, 6100), -1);
    work_queue_drop(q, work_queue_want(q, 2, REASON_PERIOD, 6100), 6100);
    assert_null(work_queue_find(q, 2));
    assert_int_equal(work_queue_queued(q), 0);
    work_queue_free(&q);
}

/* The host is looked up when the feed is queued, for it may have moved since. One that is gone
 * waits for no other: what starts it finds that out. */
static void test_work_queue__hosts_are_asked_for(void **state UNUSED)
{
    struct work_queue *q = make_queue(10, 1, 0);

    want(q, 1, "a:80", REASON_PERIOD, 5000);
    assert_int_equal(take_id(q, 5000), 1);
    assert_string_equal(work_queue_find(q, 1)->host->key, "a:80");
    want(q, 1, "b:80", REASON_PING, 5000);
    end(q, 1, 9000);
    assert_int_equal(take_id(q, 9000), 1);
    assert_string_equal(work_queue_find(q, 1)->host->key, "b:80");
    want(q, 2, "", REASON_PERIOD, 9000);
    assert_int_equal(take_id(q, 9000), 2);
    work_queue_free(&q);
}

/* PMHC-09: contents of metadata records come after fetches of feeds, one at a time on a host; what
 * is wanted of the feed while one is in flight is not lost. */
static void test_work_queue__contents_come_last(void **state UNUSED)
{
    struct work_queue *q = make_queue(10, 10, 0);
    struct slot *s;

    want(q, 1, "a:80", REASON_CONTENT, 5000);
    want(q, 2, "a:80", REASON_CONTENT, 5000);
    want(q, 3, "a:80", REASON_PERIOD, 5000);
    assert_int_equal(take_id(q, 5000), 3);
    assert_int_equal(take_id(q, 5000), 0); /* not beside it */
    end(q, 3, 5000);
    assert_int_equal(take_id(q, 5000), 1);
    assert_int_equal(take_id(q, 5000), 0);
    want(q, 1, "a:80", REASON_PERIOD, 5000);
    want(q, 1, "a:80", REASON_CONTENT, 5000);
    end(q, 1, 5000);
    s = work_queue_find(q, 1);
    assert_int_equal(s->reasons, REASON_BIT(REASON_PERIOD) | REASON_BIT(REASON_CONTENT));
    want(q, 2, "a:80", REASON_PERIOD, 5000); /* it is a fetch of the feed now */
    s = work_queue_take(q, 5000);
    assert_non_null(s);
    assert_true((s->reasons & REASON_BIT(REASON_PERIOD)) != 0);
    work_queue_free(&q);
}

/* A content waits at the host that it is asked of; a fetch of the feed that is wanted later, too,
 * until its request is made. */
static void test_work_queue__contents_wait_at_their_host(void **state UNUSED)
{
    struct work_queue *q = make_queue(10, 1, 0);
    struct slot *s;

    want(q, 1, "b:80", REASON_PERIOD, 5000);
    assert_int_equal(take_id(q, 5000), 1);
    hosts[2] = (struct feed_host){.authority = STR("a:80")};
    work_queue_want_content(q, 2, STR("b:80"), 5000);
    work_queue_want_content(q, 3, STR("c:80"), 5000);
    assert_int_equal(take_id(q, 5000), 3);
    assert_int_equal(take_id(q, 5000), 0);
    end(q, 1, 5000);
    s = work_queue_take(q, 5000);
    assert_non_null(s);
    assert_int_equal(s->feed_id, 2);
    assert_string_equal(s->host->key, "b:80");
    work_queue_want(q, 2, REASON_PERIOD, 5000);
    end(q, 2, 5000);
    s = work_queue_take(q, 5000);
    assert_non_null(s);
    assert_string_equal(s->host->key, "a:80"); /* now it is the feed itself */
    work_queue_free(&q);
}

/* OPS-02: the age of the oldest that waits, and whether places are missing. */
static void test_work_queue__oldest_and_saturated(void **state UNUSED)
{
    struct work_queue *q = make_queue(1, 10, 0);

    assert_int_equal(0, work_queue_oldest_ms(q));
    want(q, 1, "a:80", REASON_PERIOD, 1000);
    want(q, 2, "b:80", REASON_PERIOD, 1001);
    want(q, 3, "c:80", REASON_READER, 1002); /* it is first, but not the oldest */
    assert_int_equal(3, take_id(q, 1003));
    assert_int_equal(1000, work_queue_oldest_ms(q));
    assert_true(work_queue_is_saturated(q));
    end(q, 3, 1004);
    assert_int_equal(1, take_id(q, 1004));
    assert_int_equal(1001, work_queue_oldest_ms(q));
    work_queue_drop(q, work_queue_find(q, 2), 1005);
    assert_int_equal(0, work_queue_oldest_ms(q));
    assert_false(work_queue_is_saturated(q));
    end(q, 1, 1006);
    work_queue_free(&q);
}

/* ETIQ-04: in an outage one of the due feeds is fetched at a time; readers go on. The queue asks to
 * be woken for the next one only when that can start. */
static void test_work_queue__probes_come_one_at_a_time(void **state UNUSED)
{
    struct work_queue *q = make_queue(2, 10, 0);

    want(q, 1, "a:80", REASON_PERIOD, 1000);
    want(q, 2, "b:80", REASON_PERIOD, 1000);
    work_queue_probe(q, true, 1000);
    assert_int_equal(take_id(q, 1000), 0);
    assert_int_equal(work_queue_wait_ms(q, 1000), PROBE_GAP_MS);
    want(q, 3, "c:80", REASON_READER, 2000);
    want(q, 4, "d:80", REASON_READER, 2000);
    assert_int_equal(take_id(q, 2000), 3);
    assert_int_equal(take_id(q, 2000), 4);
    assert_int_equal(work_queue_wait_ms(q, 1000 + PROBE_GAP_MS), -1); /* there is no room */
    end(q, 4, 20000);
    assert_int_equal(take_id(q, 20000), 1);
    work_queue_go_on(q, work_queue_find(q, 1), STR("e:80"), 20000);
    assert_int_equal(take_id(q, 20000), 1); /* the probe itself goes on */
    end(q, 3, 20000);
    assert_int_equal(take_id(q, 20000), 0);
    end(q, 1, 30000);
    assert_int_equal(take_id(q, 30000), 0);
    assert_int_equal(take_id(q, 30000 + PROBE_GAP_MS), 2);
    end(q, 2, 50000);
    want(q, 1, "a:80", REASON_PERIOD, 50000);
    work_queue_probe(q, false, 50000);
    assert_int_equal(take_id(q, 50000), 1);
    work_queue_free(&q);
}

/* ETIQ-04: feeds that were never fetched come first among the probes, and soon; what a
 * reader waits for at once, in an outage and while the host cools (ETIQ-03). */
static void test_work_queue__new_feeds_are_probes_first(void **state UNUSED)
{
    struct work_queue *q = make_queue(10, 10, 0);
    const struct host_rest rest = {STR("d:80"), 20000, 30000};

    work_queue_probe(q, true, 1000);
    work_queue_rest(q, &rest, 1000);
    want(q, 1, "a:80", REASON_PERIOD, 1000);
    hosts[2] = (struct feed_host){STR("b:80"), true, false, false};
    work_queue_want(q, 2, REASON_PERIOD, 1000);
    hosts[3] = (struct feed_host){STR("c:80"), true, true, false};
    work_queue_want(q, 3, REASON_PERIOD, 1000);
    want(q, 4, "d:80", REASON_READER, 1000);
    assert_int_equal(take_id(q, 1000), 4);
    assert_int_equal(take_id(q, 1000), 0);
    assert_int_equal(work_queue_wait_ms(q, 1000), NEW_PROBE_GAP_MS);
    assert_int_equal(take_id(q, 1000 + NEW_PROBE_GAP_MS), 3);
    assert_int_equal(take_id(q, 1000 + PROBE_GAP_MS), 0); /* one at a time */
    end(q, 3, 20000);
    assert_int_equal(take_id(q, 20000 + PROBE_GAP_MS - 1), 0);
    assert_int_not_equal(take_id(q, 20000 + PROBE_GAP_MS), 0);
    work_queue_free(&q);
}

/* ETIQ-04: a feed that is well is the first probe, wherever it waited when the outage began; then it and new ones
 * take turns, and what fails for its own reasons comes last. */
static void test_work_queue__known_hosts_are_probes_first(void **state UNUSED)
{
    struct work_queue *q = make_queue(10, 10, 0);

    want(q, 1, "dead:80", REASON_PERIOD, 1000);
    hosts[2] = (struct feed_host){STR("b:80"), true, true, false};
    hosts[3] = (struct feed_host){STR("c:80"), true, true, false};
    hosts[4] = (struct feed_host){STR("d:80"), false, false, true};
    hosts[5] = (struct feed_host){STR("e:80"), false, false, true};
    for (int id = 2; id <= 4; id++)
        work_queue_want(q, id, REASON_PERIOD, 1000);
    work_queue_probe(q, true, 1000);
    work_queue_want(q, 5, REASON_PERIOD, 1000);
    assert_int_equal(take_id(q, 1000 + NEW_PROBE_GAP_MS - 1), 0);
    assert_int_equal(work_queue_wait_ms(q, 1000), NEW_PROBE_GAP_MS);
    assert_int_equal(take_id(q, 1000 + NEW_PROBE_GAP_MS), 4);
    end(q, 4, 10000);
    assert_int_equal(take_id(q, 10000 + NEW_PROBE_GAP_MS), 2);
    end(q, 2, 20000);
    assert_int_equal(take_id(q, 20000 + NEW_PROBE_GAP_MS), 5);
    end(q, 5, 30000);
    assert_int_equal(take_id(q, 30000 + NEW_PROBE_GAP_MS), 3);
    end(q, 3, 40000);
    assert_int_equal(take_id(q, 40000 + PROBE_GAP_MS - 1), 0);
    assert_int_equal(take_id(q, 40000 + PROBE_GAP_MS), 1);
    end(q, 1, 60000);
    work_queue_want(q, 4, REASON_PERIOD, 60000);
    work_queue_want(q, 5, REASON_PERIOD, 60000);
    work_queue_probe(q, false, 60000);
    assert_int_equal(take_id(q, 60000), 4);
    assert_int_equal(take_id(q, 60000), 5);
    work_queue_free(&q);
}

/* ETIQ-04: feeds that are well may be near, so they do not keep the others from being probes. */
static void test_work_queue__those_that_are_well_do_not_keep_others_back(void **state UNUSED)
{
    struct work_queue *q = make_queue(10, 10, 0);
    int64_t now = 1000;

    hosts[2] = (struct feed_host){STR("near:80"), false, false, true};
    work_queue_probe(q, true, now);
    want(q, 1, "far:80", REASON_PERIOD, now);
    for (int i = 0; i < 4; i++) {
        work_queue_want(q, 2, REASON_PERIOD, now);
        now += PROBE_GAP_MS;
        if (i == 1)
            assert_int_equal(take_id(q, now), 1);
        else
            assert_int_equal(take_id(q, now), 2);
        end(q, i == 1 ? 1 : 2, now);
    }
    work_queue_free(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work_queue__contents_come_last),
        cmocka_unit_test(test_work_queue__contents_wait_at_their_host),
        cmocka_unit_test(test_work_queue__one_slot_a_feed),
        cmocka_unit_test(test_work_queue__dirty_again_by_ping_only),
        cmocka_unit_test(test_work_queue__burst_of_pings),
        cmocka_unit_test(test_work_queue__reader_lifts_a_delayed_ping),
        cmocka_unit_test(test_work_queue__classes),
        cmocka_unit_test(test_work_queue__host_limit),
        cmocka_unit_test(test_work_queue__gap_and_turns),
        cmocka_unit_test(test_work_queue__one_that_insists),
        cmocka_unit_test(test_work_queue__one_that_insists_lets_a_host_rest),
        cmocka_unit_test(test_work_queue__by_hand_a_host_rests_too),
        cmocka_unit_test(test_work_queue__cooled_host),
        cmocka_unit_test(test_work_queue__after_cooling_one_after_another),
        cmocka_unit_test(test_work_queue__a_rest_that_is_known_from_before),
        cmocka_unit_test(test_work_queue__a_rest_that_was_over_before_a_fetch),
        cmocka_unit_test(test_work_queue__going_on_to_another_host),
        cmocka_unit_test(test_work_queue__stored_ones_do_not_stop_the_network),
        cmocka_unit_test(test_work_queue__going_on_takes_a_place),
        cmocka_unit_test(test_work_queue__contents_go_on_when_all_is_taken),
        cmocka_unit_test(test_work_queue__forgets),
        cmocka_unit_test(test_work_queue__hosts_are_asked_for),
        cmocka_unit_test(test_work_queue__oldest_and_saturated),
        cmocka_unit_test(test_work_queue__probes_come_one_at_a_time),
        cmocka_unit_test(test_work_queue__new_feeds_are_probes_first),
        cmocka_unit_test(test_work_queue__known_hosts_are_probes_first),
        cmocka_unit_test(test_work_queue__those_that_are_well_do_not_keep_others_back),
    };

    digest_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
