/* tests/unit/notifier/test_notifier.c - the notifier on a real store, calling a real endpoint on
 * the loopback. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/stats.h"
#include "net/http_client.h"
#include "net/xmlrpc.h"
#include "world.h"

#define FEED "http://example.org/feed"
#define OTHER "http://example.org/other"

static const char *const one_feed[] = {FEED};
static const char *const two_feeds[] = {FEED, OTHER};

static int setup(void **state)
{
    static struct world world;

    world_init(&world, false);
    *state = &world;
    return 0;
}

static int setup_refusing(void **state)
{
    static struct world world;

    world_init(&world, true);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    world_release(*state);
    return 0;
}

static void publish(struct world *w, int64_t feed, const char *uid)
{
    world_publish(w, feed, &uid, 1, "");
}

/* Does the i-th call to this path carry exactly these entries, in this order? `titles` as
 * "|a |b |". */
static void assert_titles(struct world *w, const char *path, int i, const char *titles)
{
    const char *at = origin_get(w->receiver, path, i).body, *end;
    char found[1024] = "|";

    while ((at = strstr(at, "<name>title</name>")) != NULL) {
        at = strstr(at, "<string>") + 8;
        end = strstr(at, "</string>");
        strncat(found, at, (size_t)(end - at));
        strcat(found, "|");
    }
    assert_string_equal(found, titles);
}

static bool carries(struct world *w, const char *path, int i, const char *text)
{
    return strstr(origin_get(w->receiver, path, i).body, text) != NULL;
}

/* PUSH-04, PUSH-08, PUSH-13: one call a fetch, new and changed entries, oldest first. */
static void test_notifier__new_and_changed_entries_in_order(void **state)
{
    struct world *w = *state;
    const char *const both[] = {"a", "b"};
    struct subscription sub;
    int64_t feed, id;

    world_start(w);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/ok", one_feed, 1, false);
    world_publish(w, feed, both, 2, "");
    world_publish(w, feed, &both[0], 1, "edited");
    assert_true(origin_wait(w->receiver, "/ok", 2));
    assert_true(world_wait_delivered(w, id, 3));
    assert_int_equal(origin_count(w->receiver, NULL), 2);
    assert_true(carries(w, "/ok", 0, "a ") && carries(w, "/ok", 0, "b "));
    assert_titles(w, "/ok", 1, "|a edited|");
    assert_true(world_sub(w, id, &sub));
    assert_int_equal(sub.position, store_last_seq(w->store));
}

/* PUSH-02 */
static void test_notifier__fields_of_the_request(void **state)
{
    struct world *w = *state;
    const char *head;
    int64_t feed;

    world_start(w);
    feed = world_feed(w, FEED);
    world_subscribe(w, "/ok", one_feed, 1, false);
    publish(w, feed, "a");
    assert_true(origin_wait(w->receiver, "/ok", 1));
    head = origin_get(w->receiver, "/ok", 0).head;
    assert_int_equal(strncmp(head, "POST /ok HTTP/1.1\r\n", 19), 0);
    assert_non_null(strcasestr(head, "\r\nHost: 127.0.0.1:"));
    assert_non_null(strcasestr(head, "\r\nContent-Type: text/xml"));
    assert_non_null(strcasestr(head, "\r\nContent-Length: "));
    assert_non_null(strcasestr(head, "\r\nUser-Agent: Feedmill-test/1"));
    assert_null(strcasestr(head, "\r\nTransfer-Encoding:"));
    assert_null(strcasestr(head, "\r\nExpect:"));
}

/* PUSH-01, PUSH-06, PUSH-07 */
static void test_notifier__id_and_url_of_the_subscription(void **state)
{
    struct world *w = *state;
    char text[64];
    int64_t id, other;

    world_start(w);
    world_feed(w, FEED);
    other = world_feed(w, OTHER);
    id = world_subscribe(w, "/ok", two_feeds, 2, false);
    publish(w, other, "a");
    assert_true(origin_wait(w->receiver, "/ok", 1));
    snprintf(text, sizeof text, "4>%" PRId64 "</", id);
    if (!carries(w, "/ok", 0, text)) {
        snprintf(text, sizeof text, "<int>%" PRId64 "</int>", id);
        assert_true(carries(w, "/ok", 0, text));
    }
    assert_true(carries(w, "/ok", 0, "<string>" OTHER "</string>"));
}

/* PUSH-05, D46: what was there before is not pushed, nor is it later. */
static void test_notifier__nothing_from_before(void **state)
{
    struct world *w = *state;
    int64_t feed, id;

    world_start(w);
    feed = world_feed(w, FEED);
    publish(w, feed, "old");
    id = world_subscribe(w, "/ok", one_feed, 1, false);
    publish(w, feed, "new");
    assert_true(world_wait_delivered(w, id, 1));
    assert_int_equal(origin_count(w->receiver, NULL), 1);
    assert_titles(w, "/ok", 0, "|new |");
}

/* D46 */
static void test_notifier__from_start_if_asked(void **state)
{
    struct world *w = *state;
    int64_t feed, id;

    world_start(w);
    feed = world_feed(w, FEED);
    publish(w, feed, "old");
    id = world_subscribe(w, "/ok", one_feed, 1, true);
    assert_true(world_wait_delivered(w, id, 1));
    assert_titles(w, "/ok", 0, "|old |");
}

/* PUSH-09: order is kept; the second fetch waits for the first. */
static void test_notifier__tried_again_after_500(void **state)
{
    struct world *w = *state;
    struct subscription sub;
    int64_t feed, id;

    world_start(w);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/fail3", one_feed, 1, false);
    publish(w, feed, "a");
    publish(w, feed, "b");
    assert_true(world_wait_delivered(w, id, 2));
    assert_int_equal(origin_count(w->receiver, NULL), 5);
    for (int i = 0; i < 4; i++)
        assert_titles(w, "/fail3", i, "|a |");
    assert_titles(w, "/fail3", 4, "|b |");
    assert_true(world_sub(w, id, &sub));
    assert_int_equal(sub.n_failures, 0);
    assert_int_equal(sub.next_try_at, TIME_UNKNOWN);
}

/* PUSH-09 */
static void test_notifier__tried_again_after_refused(void **state)
{
    struct world *w = *state;
    struct subscription sub;
    int64_t feed, id, until = clock_mono_ms() + 60000;

    world_start(w);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/ok", one_feed, 1, false);
    publish(w, feed, "a");
    do {
        assert_true(world_sub(w, id, &sub));
    } while (sub.n_failures < 3 && clock_mono_ms() < until);
    assert_true(sub.n_failures >= 3);
    assert_true(sub.last_error.len > 0);
    assert_int_not_equal(sub.next_try_at, TIME_UNKNOWN);
    origin_open(w->receiver);
    assert_true(world_wait_delivered(w, id, 1));
}

/* PUSH-09: a redirect does not count as delivered, and is not followed. */
static void test_notifier__redirect_is_a_failure(void **state)
{
    struct world *w = *state;
    int64_t feed;

    world_start(w);
    feed = world_feed(w, FEED);
    world_subscribe(w, "/moved", one_feed, 1, false);
    publish(w, feed, "a");
    assert_true(origin_wait(w->receiver, "/moved", 2));
    assert_int_equal(origin_count(w->receiver, "/ok"), 0);
}

/* PUSH-10, PUSH-11 */
static void test_notifier__fault_and_garbage_are_delivered(void **state)
{
    struct world *w = *state;
    struct subscription sub;
    int64_t feed, fault, garbage;

    world_start(w);
    feed = world_feed(w, FEED);
    fault = world_subscribe(w, "/fault", one_feed, 1, false);
    garbage = world_subscribe(w, "/garbage", one_feed, 1, false);
    publish(w, feed, "a");
    publish(w, feed, "b");
    assert_true(world_wait_delivered(w, fault, 2));
    assert_true(world_wait_delivered(w, garbage, 2));
    assert_int_equal(origin_count(w->receiver, "/fault"), 2);
    assert_int_equal(origin_count(w->receiver, "/garbage"), 2);
    assert_true(world_sub(w, fault, &sub));
    assert_int_equal(sub.n_faults, 2);
    assert_true(world_sub(w, garbage, &sub));
    assert_int_equal(sub.n_faults, 0);
}

/* PUSH-12 */
static void test_notifier__slow_endpoint_delays_nobody(void **state)
{
    struct world *w = *state;
    int64_t feed, slow, quick;

    world_start(w);
    feed = world_feed(w, FEED);
    slow = world_subscribe(w, "/hold", one_feed, 1, false);
    quick = world_subscribe(w, "/ok", one_feed, 1, false);
    publish(w, feed, "a");
    assert_true(origin_wait(w->receiver, "/hold", 1));
    for (int i = 0; i < 10; i++)
        publish(w, feed, i % 2 == 0 ? "b" : "c");
    assert_true(world_wait_delivered(w, quick, 11));
    assert_int_equal(origin_count(w->receiver, "/hold"), 1);
    origin_release(w->receiver);
    assert_true(world_wait_delivered(w, slow, 11));
}

/* PUSH-13, PUSH-16: two subscriptions of one URL, two ids, one call at a time. */
static void test_notifier__one_call_at_a_time_for_an_endpoint(void **state)
{
    struct world *w = *state;
    int64_t feed, a, b;

    world_start(w);
    feed = world_feed(w, FEED);
    a = world_subscribe(w, "/hold", one_feed, 1, false);
    b = world_subscribe(w, "/hold", one_feed, 1, false);
    assert_int_not_equal(a, b);
    for (int i = 0; i < 5; i++)
        publish(w, feed, "a");
    assert_true(origin_wait(w->receiver, "/hold", 1));
    origin_release(w->receiver);
    assert_true(world_wait_delivered(w, a, 5));
    assert_true(world_wait_delivered(w, b, 5));
    assert_int_equal(origin_most_of_a_path(w->receiver), 1);
    assert_int_equal(origin_count(w->receiver, NULL), 10);
}

/* PUSH-18: a thousand endpoints, one update, bounded sockets. */
static void test_notifier__thousand_subscriptions(void **state)
{
    struct world *w = *state;
    char path[32];
    int64_t feed, last = 0;

    w->cfg.max_calls = 16;
    world_start(w);
    feed = world_feed(w, FEED);
    for (int i = 0; i < 1000; i++) {
        snprintf(path, sizeof path, "/ok/%d", i);
        last = world_subscribe(w, path, one_feed, 1, false);
    }
    publish(w, feed, "a");
    assert_true(origin_wait(w->receiver, NULL, 1000));
    assert_true(world_wait_delivered(w, last, 1));
    for (int i = 0; i < 1000; i++) {
        snprintf(path, sizeof path, "/ok/%d", i);
        assert_int_equal(origin_count(w->receiver, path), 1);
    }
    assert_true(origin_most(w->receiver, NULL) <= 16);
    assert_true(origin_most_connections(w->receiver) <= 32);
}

/* PUSH-09, nothing lost: after a stop with pushes pending, exactly the missing ones. */
static void test_notifier__restart_resumes_at_the_position(void **state)
{
    struct world *w = *state;
    int64_t feed, id;

    world_start(w);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/down", one_feed, 1, false);
    publish(w, feed, "a");
    assert_true(world_wait_delivered(w, id, 1));
    world_down(w, true);
    publish(w, feed, "b");
    publish(w, feed, "c");
    assert_true(origin_wait(w->receiver, "/down", 3));
    world_stop(w, 1000);
    world_down(w, false);
    world_start(w);
    assert_true(world_wait_delivered(w, id, 3));
    assert_titles(w, "/down", origin_count(w->receiver, NULL) - 2, "|b |");
    assert_titles(w, "/down", origin_count(w->receiver, NULL) - 1, "|c |");
}

/* PUSH-09, PUSH-18: at the start, subscriptions are read a thousand at a time. All are there: those
 * that have nothing to get, and one of the last part that has. */
static void test_notifier__more_subscriptions_than_one_read_at_the_start(void **state)
{
    enum { most = 1100 };
    struct world *w = *state;
    char path[32];
    int64_t feed, pending, subs[most];

    world_start(w);
    feed = world_feed(w, FEED);
    for (int i = 0; i < most; i++) {
        snprintf(path, sizeof path, "/ok/%d", i);
        subs[i] = world_subscribe(w, path, one_feed, 1, false);
    }
    world_down(w, true);
    pending = world_subscribe(w, "/down", one_feed, 1, false);
    publish(w, feed, "a");
    assert_true(origin_wait(w->receiver, "/down", 1));
    for (int i = 0; i < most; i++) /* one that is cut off would be repeated */
        assert_true(world_wait_delivered(w, subs[i], 1));
    world_stop(w, 60000);
    world_down(w, false);
    world_start(w);
    assert_true(world_wait_delivered(w, pending, 1));
    publish(w, feed, "b");
    assert_true(world_wait_delivered(w, pending, 2));
    for (int i = 0; i < most; i++) {
        snprintf(path, sizeof path, "/ok/%d", i);
        assert_true(origin_wait(w->receiver, path, 2));
        assert_titles(w, path, 1, "|b |");
    }
    assert_int_equal(origin_count(w->receiver, NULL) - origin_count(w->receiver, "/down"),
                     2 * most);
}

/* PUSH-09: suspended with its position; resumed, it goes on from there. */
static void test_notifier__suspended_and_resumed(void **state)
{
    struct world *w = *state;
    struct subscription sub;
    int n;
    int64_t feed, id;

    w->cfg.suspend_after_s = 1;
    world_start(w);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/down", one_feed, 1, false);
    world_down(w, true);
    publish(w, feed, "a");
    assert_true(world_wait_suspended(w, id));
    n = origin_count(w->receiver, NULL);
    world_down(w, false);
    publish(w, feed, "b");
    assert_true(world_sub(w, id, &sub));
    assert_true(sub.position < store_last_seq(w->store) - 1);
    assert_int_equal(origin_count(w->receiver, NULL), n);
    world_resume(w, id, -1);
    assert_true(world_wait_delivered(w, id, 2));
    assert_titles(w, "/down", n, "|a |");
    assert_titles(w, "/down", n + 1, "|b |");
}

static void test_notifier__suspended_survives_a_restart(void **state)
{
    struct world *w = *state;
    struct subscription sub;
    int64_t feed, id, other;

    w->cfg.suspend_after_s = 1;
    world_start(w);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/down", one_feed, 1, false);
    world_down(w, true);
    publish(w, feed, "a");
    assert_true(world_wait_suspended(w, id));
    world_stop(w, 1000);
    world_down(w, false);
    world_start(w);
    other = world_subscribe(w, "/ok", one_feed, 1, false);
    publish(w, feed, "b");
    assert_true(world_wait_delivered(w, other, 1));
    assert_true(world_sub(w, id, &sub));
    assert_int_equal(sub.state, SUB_SUSPENDED);
    world_resume(w, id, -1);
    assert_true(world_wait_delivered(w, id, 2));
}

static void test_notifier__replay_from_a_position(void **state)
{
    struct world *w = *state;
    struct subscription sub;
    int64_t feed, id, before;

    world_start(w);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/ok", one_feed, 1, false);
    assert_true(world_sub(w, id, &sub));
    before = sub.position;
    publish(w, feed, "a");
    publish(w, feed, "b");
    assert_true(world_wait_delivered(w, id, 2));
    world_resume(w, id, before);
    assert_true(world_wait_delivered(w, id, 4));
    assert_titles(w, "/ok", 2, "|a |");
    assert_titles(w, "/ok", 3, "|b |");
}

/* A position set while a call is in flight wins over the one that this call would move to. */
static void test_notifier__replay_during_a_call(void **state)
{
    struct world *w = *state;
    struct subscription sub;
    int64_t feed, id, before;

    world_start(w);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/down", one_feed, 1, false);
    assert_true(world_sub(w, id, &sub));
    before = sub.position;
    publish(w, feed, "a");
    assert_true(world_wait_delivered(w, id, 1));
    origin_hold(w->receiver, "/down");
    publish(w, feed, "b");
    assert_true(origin_wait(w->receiver, "/down", 2)); /* b is in flight */
    world_resume(w, id, before);
    origin_release(w->receiver);
    assert_true(origin_wait(w->receiver, "/down", 4));
    assert_titles(w, "/down", 2, "|a |");
    assert_titles(w, "/down", 3, "|b |");
}

/* The same, when the notifier has read the new position long before the answer comes. */
static void test_notifier__replay_long_before_the_answer(void **state)
{
    struct world *w = *state;
    struct subscription sub;
    int64_t feed, id, other, before;

    world_start(w);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/down", one_feed, 1, false);
    assert_true(world_sub(w, id, &sub));
    before = sub.position;
    publish(w, feed, "a");
    assert_true(world_wait_delivered(w, id, 1));
    origin_hold(w->receiver, "/down");
    publish(w, feed, "b");
    assert_true(origin_wait(w->receiver, "/down", 2)); /* b is in flight */
    world_resume(w, id, before);
    other = world_subscribe(w, "/ok", one_feed, 1, false); /* read after the one above */
    publish(w, feed, "c");
    assert_true(world_wait_delivered(w, other, 1));
    origin_release(w->receiver);
    assert_true(origin_wait(w->receiver, "/down", 5));
    assert_titles(w, "/down", 2, "|a |");
    assert_titles(w, "/down", 3, "|b |");
    assert_titles(w, "/down", 4, "|c |");
}

/* An unsubscribed endpoint hears nothing more, retries included. */
static void test_notifier__ended_subscription_is_left_alone(void **state)
{
    struct world *w = *state;
    int n;
    int64_t feed, id, other;

    world_start(w);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/down", one_feed, 1, false);
    world_down(w, true);
    publish(w, feed, "a");
    assert_true(origin_wait(w->receiver, "/down", 2));
    world_unsubscribe(w, id);
    other = world_subscribe(w, "/ok", one_feed, 1, false);
    publish(w, feed, "b");
    assert_true(world_wait_delivered(w, other, 1));
    n = origin_count(w->receiver, "/down");
    publish(w, feed, "c");
    assert_true(world_wait_delivered(w, other, 2));
    publish(w, feed, "d");
    assert_true(world_wait_delivered(w, other, 3));
    assert_int_equal(origin_count(w->receiver, "/down"), n);
}

/* A call in flight of a subscription that ends is cancelled; the endpoint serves others again. */
static void test_notifier__ended_during_a_call(void **state)
{
    struct world *w = *state;
    int64_t feed, id, other;

    world_start(w);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/hold", one_feed, 1, false);
    publish(w, feed, "a");
    assert_true(origin_wait(w->receiver, "/hold", 1));
    world_unsubscribe(w, id);
    other = world_subscribe(w, "/hold", one_feed, 1, false);
    publish(w, feed, "b");
    assert_true(origin_wait(w->receiver, "/hold", 2));
    origin_release(w->receiver);
    assert_true(world_wait_delivered(w, other, 1));
}

/* ---- another endpoint ---- */

/* Stops the storer after each commit that has a notice, before the notifier hears of it. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_shut;
    int n_came, n_let; /* commits that came, and that may go on */
};

static void on_commit(void *ctx, const struct commit_notice *notice UNUSED)
{
    struct gate *g = ctx;
    int mine;

    pthread_mutex_lock(&g->lock);
    mine = ++g->n_came;
    pthread_cond_broadcast(&g->changed);
    while (g->is_shut && g->n_let < mine)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

/* Let the next commit come, and stop after it. */
static void gate_shut(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->is_shut = true;
    g->n_came = g->n_let = 0;
    pthread_mutex_unlock(&g->lock);
}

static void gate_wait(struct gate *g, int n_came)
{
    pthread_mutex_lock(&g->lock);
    while (g->n_came < n_came)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void gate_let(struct gate *g, int n)
{
    pthread_mutex_lock(&g->lock);
    g->n_let = n;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

static void gate_open(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->is_shut = false;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

static struct gate *world_gate(struct world *w)
{
    static struct gate gate;

    gate = (struct gate){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    w->listener = on_commit;
    w->listener_ctx = &gate;
    return &gate;
}

static void no_answer(void *ctx UNUSED, enum rc rc UNUSED, const struct store_result *res UNUSED,
                      const struct err *err UNUSED)
{
}

/* Give the subscription another endpoint; nothing is waited for. */
static void change_endpoint(struct world *w, int64_t sub_id, const char *path,
                            const char *credential)
{
    struct sub_change change = {.sub_id = sub_id,
                                .endpoint = str_from(origin_url(w->receiver, path)),
                                .endpoint_credential = str_from(credential),
                                .name = STR_NULL,
                                .folder = STR_NULL,
                                .sink = STR_NULL,
                                .sink_settings = STR_NULL,
                                .level = LEVEL_KEEP};

    assert_int_equal(RC_OK, store_change_sub(w->store, &change, no_answer, NULL));
}

/* Wait until something is so, but not longer than this. What must not happen is looked for in this
 * way: a short time is enough to find the fault, and no time makes a sound program fail. */
#define WHILE_NOT(is_so, ms)                                                                       \
    for (int64_t until = clock_mono_ms() + (ms); !(is_so) && clock_mono_ms() < until;)             \
    nanosleep(&(struct timespec){0, 2000000}, NULL)

/* DELIV-01: what the old endpoint has acknowledged does not go to the new one, although it was not
 * yet written when the endpoint changed. */
static void test_notifier__acknowledged_by_the_endpoint_before(void **state)
{
    struct world *w = *state;
    struct gate *gate = world_gate(w);
    int64_t feed, one, two;

    world_start(w);
    feed = world_feed(w, FEED);
    one = world_subscribe(w, "/hold/1", one_feed, 1, false);
    two = world_subscribe(w, "/hold/2", one_feed, 1, false);
    publish(w, feed, "a");
    assert_true(origin_wait(w->receiver, "/hold/1", 1) && origin_wait(w->receiver, "/hold/2", 1));
    gate_shut(gate);
    change_endpoint(w, one, "/ok/1", NULL);
    gate_wait(gate, 1);
    change_endpoint(w, two, "/ok/2", NULL);
    origin_release(
        w->receiver); /* one outcome goes to the storer, and the other one waits for it */
    WHILE_NOT(stats_get(STAT_push_running) == 0, 60000);
    gate_let(gate, 1);
    gate_wait(gate, 2);
    gate_let(gate, 2);
    gate_open(gate);
    WHILE_NOT(origin_count(w->receiver, "/ok/2") > 0, 200);
    publish(w, feed, "b");
    assert_true(world_wait_delivered(w, one, 2) && world_wait_delivered(w, two, 2));
    assert_titles(w, "/ok/1", 0, "|b |");
    assert_titles(w, "/ok/2", 0, "|b |");
}

/* The password of a new endpoint does not go to the old one, when a delivery is drawn in the moment
 * of the change. */
static void test_notifier__password_of_the_endpoint_after(void **state)
{
    struct world *w = *state;
    struct gate *gate = world_gate(w);
    struct subscription sub;
    int64_t feed, id;

    w->cfg.first_retry_ms = w->cfg.max_retry_ms = 300; /* enough for the change to be written */
    world_start(w);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/auth", one_feed, 1, false);
    publish(w, feed, "a");
    WHILE_NOT(world_sub(w, id, &sub) && sub.n_failures == 1, 60000);
    gate_shut(gate);
    change_endpoint(w, id, "/ok", "user:secret");
    gate_wait(gate, 1);
    WHILE_NOT(origin_count(w->receiver, "/auth") > 1, 1000);
    gate_open(gate);
    assert_true(world_wait_delivered(w, id, 1));
    assert_int_equal(1, origin_count(w->receiver, "/ok"));
    for (int i = 0; i < origin_count(w->receiver, "/auth"); i++)
        assert_null(strcasestr(origin_get(w->receiver, "/auth", i).head, "\r\nAuthorization:"));
    assert_true(world_sub(w, id, &sub));
    assert_int_equal(0, sub.n_failures);
}

/* ---- Retry-After ---- */

/* D56, DELIV-09: an endpoint that says when it wants to be called again is left alone by all of its
 * subscriptions. */
static void test_notifier__retry_after_is_of_the_endpoint(void **state)
{
    struct world *w = *state;
    int64_t feed, one, two;

    world_start(w);
    feed = world_feed(w, FEED);
    one = world_subscribe(w, "/busy", one_feed, 1, false);
    two = world_subscribe(w, "/busy", one_feed, 1, false);
    publish(w, feed, "a");
    assert_true(world_wait_delivered(w, one, 1) && world_wait_delivered(w, two, 1));
    assert_int_equal(3, origin_count(w->receiver, "/busy"));
    assert_true(w->busy_ms[1] - w->busy_ms[0] >= 900);
    assert_true(w->busy_ms[2] - w->busy_ms[0] >= 900);
}

static void on_tested(void *ctx, const struct push_test_result *res)
{
    atomic_int *status = ctx;

    *status = res->status == 0 ? -1 : res->status;
}

/* The same after a restart, until somebody resumes one of them. A test does not wait. */
static void test_notifier__retry_after_survives_a_restart(void **state)
{
    struct world *w = *state;
    struct subscription sub;
    atomic_int status = 0;
    int64_t feed, one, two, other;
    char endpoint[100];

    w->retry_after = "Retry-After: 3600\r\n";
    world_start(w);
    feed = world_feed(w, FEED);
    one = world_subscribe(w, "/busy", one_feed, 1, false);
    publish(w, feed, "a");
    WHILE_NOT(world_sub(w, one, &sub) && sub.n_failures == 1, 60000);
    world_stop(w, 60000);
    world_start(w);
    two = world_subscribe(w, "/busy", one_feed, 1, true);
    other = world_subscribe(w, "/ok", one_feed, 1, true);
    publish(w, feed, "b");
    assert_true(world_wait_delivered(w, other, 2));
    WHILE_NOT(origin_count(w->receiver, "/busy") > 1, 100);
    assert_int_equal(1, origin_count(w->receiver, "/busy"));
    assert_int_equal(RC_OK, notifier_test(w->notifier, two, on_tested, &status));
    WHILE_NOT(status != 0, 60000);
    assert_int_equal(200, status);
    assert_int_equal(2, origin_count(w->receiver, "/busy"));
    assert_true(world_sub(w, two, &sub)); /* which has not failed */
    assert_true(sub.next_try_at == TIME_UNKNOWN);
    snprintf(endpoint, sizeof endpoint, "%.*s", STR_ARG(sub.endpoint));
    assert_in_range(notifier_held(w->notifier, str_from(endpoint)) - clock_now_s(), 3000, 3610);
    world_resume(w, two, -1);
    assert_true(world_wait_delivered(w, two, 2));
    assert_true(notifier_held(w->notifier, str_from(endpoint)) == TIME_UNKNOWN);
    world_resume(w, one, -1);
    assert_true(world_wait_delivered(w, one, 2));
}

/* What holds an endpoint is forgotten with the notifier, also when nobody subscribes it any more.
 */
static void test_notifier__held_endpoint_without_subscriptions(void **state)
{
    struct world *w = *state;
    struct subscription sub;
    int64_t feed, id, other;

    w->retry_after = "Retry-After: 1\r\n";
    world_start(w);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/busy", one_feed, 1, false);
    publish(w, feed, "a");
    WHILE_NOT(world_sub(w, id, &sub) && sub.n_failures == 1, 60000);
    world_unsubscribe(w, id);
    other = world_subscribe(w, "/busy", one_feed, 1, true);
    assert_true(world_wait_delivered(w, other, 1));
    assert_true(w->busy_ms[1] - w->busy_ms[0] >= 900);
    world_unsubscribe(w, other);
    id = world_subscribe(w, "/busy/2", one_feed, 1, true);
    WHILE_NOT(world_sub(w, id, &sub) && sub.n_failures == 1, 60000);
    world_unsubscribe(w, id); /* it is still held when the test ends */
}

/* PUSH-17 */
static void test_notifier__deletions_are_no_entries(void **state)
{
    struct world *w = *state;
    int64_t feed, id;

    world_start(w);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/ok", one_feed, 1, false);
    publish(w, feed, "a");
    assert_true(world_wait_delivered(w, id, 1));
    world_delete(w, feed, "a");
    publish(w, feed, "b");
    assert_true(world_wait_delivered(w, id, 2));
    assert_int_equal(origin_count(w->receiver, NULL), 2);
    assert_titles(w, "/ok", 1, "|b |");
}

/* More entries than one call takes: several calls, in order, none twice. */
static void test_notifier__large_fetch_in_parts(void **state)
{
    struct world *w = *state;
    const char *const five[] = {"a", "b", "c", "d", "e"};
    int64_t feed, id;

    w->cfg.max_entries = 2;
    world_start(w);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/ok", one_feed, 1, false);
    world_publish(w, feed, five, 5, "");
    assert_true(world_wait_delivered(w, id, 5));
    assert_int_equal(origin_count(w->receiver, NULL), 3);
    for (size_t i = 0; i < 5; i++) {
        size_t calls = 0;
        char title[32];

        snprintf(title, sizeof title, "<string>%s </string>", five[i]);
        for (int k = 0; k < 3; k++)
            calls += carries(w, "/ok", k, title);
        assert_int_equal(calls, 1);
    }
}

static void *release_soon(void *arg)
{
    struct timespec pause = {0, 100000000};

    nanosleep(&pause, NULL); /* the stop below has begun by then; either way the test holds */
    origin_release(arg);
    return NULL;
}

static void test_notifier__stop_waits_for_the_call_in_flight(void **state)
{
    struct world *w = *state;
    struct subscription sub;
    pthread_t thread;
    int64_t feed, id;

    world_start(w);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/hold", one_feed, 1, false);
    publish(w, feed, "a");
    assert_true(origin_wait(w->receiver, "/hold", 1));
    assert_int_equal(pthread_create(&thread, NULL, release_soon, w->receiver), 0);
    world_stop(w, 60000);
    pthread_join(thread, NULL);
    world_start(w);
    assert_true(world_sub(w, id, &sub));
    assert_int_equal(sub.n_delivered, 1);
}

static void test_notifier__stop_is_bounded(void **state)
{
    struct world *w = *state;
    struct subscription sub;
    int64_t feed, id, began;

    world_start(w);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/hold", one_feed, 1, false);
    publish(w, feed, "a");
    assert_true(origin_wait(w->receiver, "/hold", 1));
    began = clock_mono_ms();
    world_stop(w, 50);
    assert_true(clock_mono_ms() - began < 20000);
    world_start(w);
    assert_true(world_sub(w, id, &sub));
    assert_int_equal(sub.n_delivered, 0);
    assert_true(origin_wait(w->receiver, "/hold", 2)); /* it is pushed again */
}

/* A storer without room: positions wait, and each entry is pushed once all the same. */
static void test_notifier__full_storer_is_waited_for(void **state)
{
    struct world *w = *state;
    char path[32];
    int64_t feed, ids[40];

    w->queue_len = 1;
    world_start(w);
    feed = world_feed(w, FEED);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        snprintf(path, sizeof path, "/ok/%zu", i);
        ids[i] = world_subscribe(w, path, one_feed, 1, false);
    }
    publish(w, feed, "a");
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        assert_true(world_wait_delivered(w, ids[i], 1));
    assert_int_equal(origin_count(w->receiver, NULL), ARRAY_LEN(ids));
}

/* PUSH-09: an endpoint that does not answer in time has failed; the time can be set anew. */
static void test_notifier__time_out_and_reload(void **state)
{
    struct world *w = *state;
    struct notifier_cfg cfg;
    struct subscription sub;
    int64_t feed, id, until = clock_mono_ms() + 60000;

    world_start(w);
    cfg = w->cfg;
    cfg.timeout_ms = 100;
    notifier_reload(w->notifier, &cfg);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/hold", one_feed, 1, false);
    publish(w, feed, "a");
    do {
        assert_true(world_sub(w, id, &sub));
    } while (sub.n_failures == 0 && clock_mono_ms() < until);
    assert_true(sub.n_failures > 0);
    origin_release(w->receiver);
    assert_true(world_wait_delivered(w, id, 1));
}

static void test_notifier__credential_of_the_endpoint(void **state)
{
    struct world *w = *state;
    struct subscription sub;
    int64_t feed, id;

    w->credential = "user:secret";
    world_start(w);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/auth", one_feed, 1, false);
    publish(w, feed, "a");
    assert_true(world_wait_delivered(w, id, 1));
    assert_titles(w, "/auth", origin_count(w->receiver, "/auth") - 1, "|a |");
    assert_true(world_sub(w, id, &sub));
    assert_int_equal(str_find(sub.endpoint, STR("secret")), -1);
}

static void test_notifier__starts_once(void **state)
{
    struct world *w = *state;

    world_start(w);
    assert_int_equal(notifier_start(w->notifier, NULL), RC_CONFLICT);
}

/* The address guard of callbacks holds: nothing is called that it closes. */
static void test_notifier__guard_is_asked(void **state)
{
    struct world *w = *state;
    struct subscription sub;
    int64_t feed, id, until = clock_mono_ms() + 60000;

    guard_free(&w->guard);
    assert_int_equal(guard_new(NULL, 0, &w->guard, NULL), RC_OK);
    world_start(w);
    feed = world_feed(w, FEED);
    id = world_subscribe(w, "/ok", one_feed, 1, false);
    publish(w, feed, "a");
    do {
        assert_true(world_sub(w, id, &sub));
    } while (sub.n_failures == 0 && clock_mono_ms() < until);
    assert_true(sub.n_failures > 0);
    assert_true(str_find(sub.last_error, STR("--allow-callback")) >= 0);
    assert_int_equal(origin_count(w->receiver, NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_notifier__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(new_and_changed_entries_in_order),
        TEST(fields_of_the_request),
        TEST(id_and_url_of_the_subscription),
        TEST(nothing_from_before),
        TEST(from_start_if_asked),
        TEST(tried_again_after_500),
        cmocka_unit_test_setup_teardown(test_notifier__tried_again_after_refused, setup_refusing,
                                        teardown),
        TEST(redirect_is_a_failure),
        TEST(fault_and_garbage_are_delivered),
        TEST(slow_endpoint_delays_nobody),
        TEST(one_call_at_a_time_for_an_endpoint),
        TEST(thousand_subscriptions),
        TEST(restart_resumes_at_the_position),
        TEST(more_subscriptions_than_one_read_at_the_start),
        TEST(suspended_and_resumed),
        TEST(suspended_survives_a_restart),
        TEST(replay_from_a_position),
        TEST(replay_during_a_call),
        TEST(replay_long_before_the_answer),
        TEST(ended_subscription_is_left_alone),
        TEST(ended_during_a_call),
        TEST(acknowledged_by_the_endpoint_before),
        TEST(password_of_the_endpoint_after),
        TEST(retry_after_is_of_the_endpoint),
        TEST(retry_after_survives_a_restart),
        TEST(held_endpoint_without_subscriptions),
        TEST(deletions_are_no_entries),
        TEST(large_fetch_in_parts),
        TEST(stop_waits_for_the_call_in_flight),
        TEST(stop_is_bounded),
        TEST(full_storer_is_waited_for),
        TEST(time_out_and_reload),
        TEST(credential_of_the_endpoint),
        TEST(starts_once),
        TEST(guard_is_asked),
    };

    digest_init();
    rpc_init();
    http_client_global_init();
    log_set_level(LOG_LEVEL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
