/* tests/unit/fetcher/test_fetcher_nodes.c - the fetcher of a node that owns all hosts, on a real
 * PostgreSQL, and another node, which is a store without a fetcher. */
#include "world.h"

#include "base/clock.h"
#include "net/url.h"
#include "storage/nodes.h"

#define POSTGRES "FEEDMILL_POSTGRES" /* the address of a database that all tests share */

struct other {
    struct store *store;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t come;
    int64_t feed_id; /* of the last answer to a wish */
    enum rc rc;
    int n_answers;
};

struct nodes_world {
    struct world *own;
    struct other other;
};

static void on_notice(void *ctx, const struct commit_notice *notice)
{
    struct other *o = ctx;

    pthread_mutex_lock(&o->lock);
    for (size_t i = 0; i < notice->n_feeds; i++)
        if (notice->feeds[i].is_answered) {
            o->feed_id = notice->feeds[i].feed_id;
            o->rc = notice->feeds[i].answer;
            o->n_answers++;
        }
    pthread_cond_broadcast(&o->come);
    pthread_mutex_unlock(&o->lock);
}

/* Wish for a fetch at the other node; returns the owner's answer. */
static enum rc wish(struct other *o, int64_t feed_id)
{
    int before;
    enum rc rc;

    pthread_mutex_lock(&o->lock);
    before = o->n_answers;
    pthread_mutex_unlock(&o->lock);
    assert_int_equal(RC_OK, store_wish(o->store, feed_id));
    pthread_mutex_lock(&o->lock);
    while (o->n_answers == before)
        pthread_cond_wait(&o->come, &o->lock);
    assert_int_equal(feed_id, o->feed_id);
    rc = o->rc;
    pthread_mutex_unlock(&o->lock);
    return rc;
}

static void open_other(struct other *o)
{
    struct store_cfg cfg = {.path = str_from(getenv(POSTGRES)),
                            .n_readers = 1,
                            .queue_len = 100,
                            .batch_ops = 64,
                            .batch_ms = 5,
                            .cache_bytes = 1 << 20,
                            .is_shared = true,
                            .levels = {{86400, 1800, 300}}};
    struct err err = ERR_INIT;

    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->come, NULL);
    if (store_open(&cfg, &o->store, &err) != RC_OK)
        fail_msg("%s", err.text);
    store_listen(o->store, on_notice, o);
}

static int setup(void **state)
{
    struct nodes_world *w = calloc(1, sizeof *w);
    void *own;

    world_setup_at(&own, getenv(POSTGRES));
    w->own = own;
    open_other(&w->other);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct nodes_world *w = *state;
    void *own = w->own;

    store_close(&w->other.store);
    pthread_mutex_destroy(&w->other.lock);
    pthread_cond_destroy(&w->other.come);
    free(w);
    return world_teardown(&own);
}

/* NODE-04, NODE-07: a reader's node did not know yet that the feed is fetched, and its wish comes
 * when the fetch is over. */
static void test_fetcher_nodes__a_late_wish_needs_no_fetch(void **state)
{
    struct nodes_world *w = *state;
    int64_t id;

    serve(w->own, "/f", NULL, RSS(ITEM("a", "A")));
    id = subscribe(w->own, origin_url(w->own->origin, "/f"), "", 2, 0);
    assert_int_equal(RC_OK, fetch(w->own, id));
    for (int i = 0; i < 3; i++)
        assert_int_equal(RC_OK, wish(&w->other, id));
    assert_int_equal(1, origin_count(w->own->origin, "/f"));
}

/* NODE-07: a feed that could not be fetched is fetched for a wish. */
static void test_fetcher_nodes__a_wish_is_fetched(void **state)
{
    struct nodes_world *w = *state;
    int64_t id = subscribe(w->own, origin_url(w->own->origin, "/fails"), "", 2, 0);
    int n;

    assert_int_equal(RC_PEER, fetch(w->own, id));
    serve(w->own, "/fails", NULL, RSS(ITEM("a", "A")));
    n = origin_count(w->own->origin, "/fails");
    while (wish(&w->other, id) != RC_OK) /* the failure is told for a second */
        rest_ms(50);
    assert_int_equal(n + 1, origin_count(w->own->origin, "/fails"));
}

static void join(struct other *o)
{
    struct nodes_cfg cfg = {.name = STR("other"),
                            .address = STR("http://h:2"),
                            .program = STR("1.0"),
                            .base_url = STR(""),
                            .roles = STR(""),
                            .lease_ms = 600000}; /* it gives nothing back before it leaves */

    assert_int_equal(RC_OK, nodes_join(store_nodes(o->store), &cfg, NULL));
}

/* NODE-04, SCHED-14: a host that has asked for a rest gets it from its next owner, too. */
static void test_fetcher_nodes__a_rest_holds_for_the_next_owner(void **state)
{
    struct nodes_world *w = *state;
    struct host_rest rest = {.cool_ms = 3600000, .gentle_ms = 3700000};
    struct url_parts parts;
    int64_t id, read;

    serve(w->own, "/rests", NULL, RSS(ITEM("a", "A")));
    origin_set(w->own->origin, "/read", &(struct origin_page){.status = 404});
    id = subscribe(w->own, origin_url(w->own->origin, "/rests"), "", 2, 0);
    assert_int_equal(RC_OK, fetch(w->own, id));
    read = subscribe(w->own, origin_url(w->own->origin, "/read"), "", 2, 0);
    assert_int_equal(RC_PEER, fetch(w->own, read));
    close_world(w->own, 0);
    join(&w->other);
    w->own->lease_ms = 3000;
    open_world(w->own); /* owns nothing */
    assert_int_equal(
        RC_OK,
        url_parse(&w->own->arena, str_from(origin_url(w->own->origin, "/rests")), &parts, NULL));
    rest.host = url_authority(&w->own->arena, parts.url);
    assert_true(nodes_owns(store_nodes(w->other.store), rest.host, NULL));
    assert_int_equal(RC_OK, store_host_rest(w->other.store, &rest));
    clock_set_ahead_us(INT64_C(1000) * 1000000); /* it is due */
    store_close(&w->other.store);
    while (fetch(w->own, read) != RC_RESTING) /* a reader of what is not there is refused, too */
        rest_ms(50);
    rest_ms(200);
    assert_int_equal(1, origin_count(w->own->origin, "/rests"));
    clock_set_ahead_us(0);
}

/* ---- deliveries under tokens that nobody knows ---- */

struct verdicts {
    pthread_mutex_t lock;
    pthread_cond_t come;
    int n_unknown, n_others;
};

static void on_verdict(void *ctx, enum upstream_verdict verdict)
{
    struct verdicts *v = ctx;

    pthread_mutex_lock(&v->lock);
    v->n_unknown += verdict == VERDICT_UNKNOWN;
    v->n_others += verdict != VERDICT_UNKNOWN;
    pthread_cond_broadcast(&v->come);
    pthread_mutex_unlock(&v->lock);
}

/* NODE-02: a client that delivers under made-up tokens holds no more than so many bytes while they
 * are looked for; the next one is to come again, and can when these are over. */
static void test_fetcher_nodes__bodies_of_unknown_deliveries_are_bounded(void **state)
{
    enum { BODY = 12 * 1024 * 1024, BODIES = 8 };
    struct nodes_world *w = *state;
    struct verdicts v = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
    struct upstream_delivery d = {.token = STR("0123456789abcdef0123456789abcdef01234567"),
                                  .signature = STR("sha256=00"),
                                  .body = str_of(calloc(1, BODY), BODY)};
    int n_waiting = 0, n_busy = 0;

    for (int i = 0; i < BODIES; i++) {
        enum upstream_verdict verdict =
            fetcher_upstream_deliver(w->own->fetcher, &d, on_verdict, &v);

        n_waiting += verdict == VERDICT_PENDING;
        n_busy += verdict == VERDICT_BUSY;
    }
    assert_int_equal(2, n_waiting);
    assert_int_equal(BODIES - 2, n_busy);
    pthread_mutex_lock(&v.lock);
    while (v.n_unknown + v.n_others < n_waiting)
        pthread_cond_wait(&v.come, &v.lock);
    pthread_mutex_unlock(&v.lock);
    assert_int_equal(n_waiting, v.n_unknown);
    do /* who is told first and who gives the room back is not fixed */
        rest_ms(5);
    while (fetcher_upstream_deliver(w->own->fetcher, &d, on_verdict, &v) != VERDICT_PENDING);
    pthread_mutex_lock(&v.lock);
    while (v.n_unknown < n_waiting + 1)
        pthread_cond_wait(&v.come, &v.lock);
    pthread_mutex_unlock(&v.lock);
    free((char *)d.body.ptr);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_fetcher_nodes__##name, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(a_late_wish_needs_no_fetch),
        TEST(a_wish_is_fetched),
        TEST(a_rest_holds_for_the_next_owner),
        TEST(bodies_of_unknown_deliveries_are_bounded),
    };

    world_init(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
