/* tests/unit/storage/test_hub.c - requests of WebSub subscribers, leases, and how they end. */
#include "base/stats.h"
#include "gate.h"
#include "storage/pushes.h"
#include "tests/unit/cmocka_all.h"

#define START_S 1700000000LL

static void at(int64_t s)
{
    clock_fake_us((START_S + s) * 1000000);
}

/* A request for the feed at http://a.example/f; returns its id. */
static int64_t ask(struct fixture *f, enum hub_mode mode, const char *secret, bool renews)
{
    struct sub_feed feed = {.feed_id = add_feed(f, "http://a.example/f", NULL),
                            .url = STR("http://a.example/f")};
    struct hub_intent in = {.mode = mode,
                            .topic = STR("http://me/feed?url=x"),
                            .callback = STR("http://sink.example/cb"),
                            .credential = STR("name:word"),
                            .secret = secret == NULL ? STR_NULL : str_from(secret),
                            .reason = STR_NULL,
                            .verify_token = STR_NULL,
                            .legacy = renews,
                            .renews = renews,
                            .lease_s = 100,
                            .feeds = &feed,
                            .n_feeds = 1};
    struct answer a;

    WRITE(a, store_hub_request(f->store, &in, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    return a.res.id;
}

static enum rc settle(struct fixture *f, int64_t intent, bool confirmed)
{
    struct answer a;

    WRITE(a, store_hub_settle(f->store,
                              ((struct hub_settled){.intent_id = intent, .confirmed = confirmed}),
                              on_answer, &a));
    return a.rc;
}

static void unreached(struct fixture *f, int64_t intent)
{
    struct hub_settled settled = {.intent_id = intent, .unreached = true};
    struct answer a;

    WRITE(a, store_hub_settle(f->store, settled, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
}

static int64_t sweep(struct fixture *f)
{
    struct answer a;

    WRITE(a, store_hub_sweep(f->store, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    return a.res.id;
}

static struct hub_intent *intents(struct fixture *f, size_t *n)
{
    struct hub_intent *found;

    assert_int_equal(RC_OK, reader_hub_intents(f->reader, 0, 10, &f->arena, &found, n, NULL));
    return found;
}

static struct subscription *subs(struct fixture *f, size_t *n)
{
    struct subscription *found;

    assert_int_equal(RC_OK, reader_subs(f->reader, NULL, 0, &f->arena, &found, n, NULL));
    return found;
}

static struct hub_lease lease_of(struct fixture *f, int64_t sub_id)
{
    struct hub_lease lease;

    assert_int_equal(RC_OK, reader_hub_lease(f->reader, sub_id, &f->arena, &lease, NULL));
    return lease;
}

static int64_t subscribed(struct fixture *f, const char *secret, bool renews)
{
    size_t n;

    assert_int_equal(RC_OK, settle(f, ask(f, HUB_SUBSCRIBE, secret, renews), true));
    return subs(f, &n)[0].id;
}

/* HUB-26: also what nobody has confirmed yet. */
static void test_hub__requests_are_there_after_a_restart(void **state)
{
    struct fixture *f = *state;
    int64_t id = ask(f, HUB_SUBSCRIBE, "s", false);
    struct hub_intent *in;
    size_t n;

    fixture_close(f);
    fixture_open(f);
    in = intents(f, &n);
    assert_int_equal(1, n);
    assert_int_equal(id, in->id);
    assert_true(str_eqz(in->secret, "s"));
    assert_true(str_is_null(in->verify_token));
    assert_int_equal(100, in->lease_s);
    assert_int_equal(1, in->n_feeds);
    assert_true(str_eqz(in->feeds[0].url, "http://a.example/f"));
}

static void test_hub__confirmed_is_a_subscription(void **state)
{
    struct fixture *f = *state;
    struct subscription *sub;
    struct hub_lease lease;
    size_t n;

    at(0);
    subscribed(f, "s", false);
    sub = subs(f, &n);
    assert_int_equal(1, n);
    assert_true(str_eqz(sub->sink, HUB_SINK));
    assert_true(str_eqz(sub->endpoint, "http://sink.example/cb"));
    assert_int_equal(store_last_seq(f->store), sub->position);
    assert_int_equal(1, sub->n_feeds);
    lease = lease_of(f, sub->id);
    assert_int_equal(START_S + 100, lease.ends_at);
    assert_int_equal(TIME_UNKNOWN, lease.renew_at);
    assert_true(str_eqz(endpoint_credential(f, sub->id), "name:word"));
    intents(f, &n);
    assert_int_equal(0, n);
}

/* HUB-12, HUB-20: and an answer counts once. */
static void test_hub__refused_is_none(void **state)
{
    struct fixture *f = *state;
    int64_t id = ask(f, HUB_SUBSCRIBE, NULL, false);
    size_t n;

    assert_int_equal(RC_OK, settle(f, id, false));
    assert_int_equal(RC_NOT_FOUND, settle(f, id, true));
    subs(f, &n);
    assert_int_equal(0, n);
}

/* HUB-13, HUB-14 */
static void test_hub__subscribing_again_replaces_the_lease_alone(void **state)
{
    struct fixture *f = *state;
    int64_t id;
    size_t n;

    at(0);
    id = subscribed(f, "one", false);
    at(50);
    assert_int_equal(RC_OK, settle(f, ask(f, HUB_SUBSCRIBE, "two", false), false));
    assert_true(str_eqz(lease_of(f, id).secret, "one"));
    assert_int_equal(RC_OK, settle(f, ask(f, HUB_SUBSCRIBE, "two", false), true));
    assert_int_equal(id, subs(f, &n)[0].id);
    assert_int_equal(1, n);
    assert_true(str_eqz(lease_of(f, id).secret, "two"));
    assert_int_equal(START_S + 150, lease_of(f, id).ends_at);
}

/* HUB-15 */
static void test_hub__unsubscribing(void **state)
{
    struct fixture *f = *state;
    size_t n;

    subscribed(f, NULL, false);
    assert_int_equal(RC_OK, settle(f, ask(f, HUB_UNSUBSCRIBE, NULL, false), false));
    subs(f, &n);
    assert_int_equal(1, n);
    assert_int_equal(RC_OK, settle(f, ask(f, HUB_UNSUBSCRIBE, NULL, false), true));
    subs(f, &n);
    assert_int_equal(0, n);
    assert_int_equal(RC_OK, settle(f, ask(f, HUB_UNSUBSCRIBE, NULL, false), true));
}

/* HUB-16 */
static void test_hub__leases_end(void **state)
{
    struct fixture *f = *state;
    size_t n;

    at(0);
    assert_int_equal(TIME_UNKNOWN, sweep(f));
    subscribed(f, NULL, false);
    assert_int_equal(START_S + 100, sweep(f));
    at(99);
    assert_int_equal(START_S + 100, sweep(f));
    subs(f, &n);
    assert_int_equal(1, n);
    at(100);
    assert_int_equal(TIME_UNKNOWN, sweep(f));
    subs(f, &n);
    assert_int_equal(0, n);
}

/* HUB-35: once, with everything it was asked for with. */
static void test_hub__leases_are_renewed(void **state)
{
    struct fixture *f = *state;
    struct hub_intent *in;
    int64_t id, due;
    size_t n;

    at(0);
    id = subscribed(f, "s", true);
    due = sweep(f);
    assert_in_range(due, START_S + 50, START_S + 80);
    at(due - START_S);
    assert_int_equal(START_S + 100, sweep(f));
    assert_int_equal(START_S + 100, sweep(f));
    in = intents(f, &n);
    assert_int_equal(1, n);
    assert_true(in->mode == HUB_SUBSCRIBE && in->legacy && in->renews);
    assert_true(str_eqz(in->secret, "s"));
    assert_true(str_eqz(in->credential, "name:word"));
    assert_int_equal(RC_OK, settle(f, in->id, true));
    assert_int_equal(due + 100, lease_of(f, id).ends_at);
}

/* HUB-35: a callback that is away for a moment is asked again, one that says no is not. */
static void test_hub__renewals_that_nobody_answers_are_tried_again(void **state)
{
    struct fixture *f = *state;
    struct hub_intent *in;
    int64_t id, due, later;
    size_t n;

    at(0);
    id = subscribed(f, "s", true);
    due = sweep(f) - START_S;
    at(due);
    sweep(f);
    in = intents(f, &n);
    assert_int_equal(1, n);
    unreached(f, in->id);
    later = sweep(f) - START_S; /* half of what is left */
    assert_int_equal(due + (100 - due) / 2, later);
    at(later);
    sweep(f);
    in = intents(f, &n);
    assert_int_equal(1, n);
    assert_int_equal(RC_OK, settle(f, in->id, false));
    assert_int_equal(START_S + 100, sweep(f)); /* it just ends */
    assert_int_equal(START_S + 100, lease_of(f, id).ends_at);
    intents(f, &n);
    assert_int_equal(0, n);
}

/* Who verifies them reads on from the highest id it knows. */
static void test_hub__later_requests_have_higher_ids(void **state)
{
    struct fixture *f = *state;
    int64_t last;
    size_t n;

    at(0);
    subscribed(f, "s", true);
    at(sweep(f) - START_S);
    sweep(f);
    last = intents(f, &n)->id;
    assert_int_equal(1, n);
    assert_true(ask(f, HUB_SUBSCRIBE, "t", false) > last);
    sweep(f);
    assert_true(ask(f, HUB_SUBSCRIBE, "u", false) > last + 1);
}

/* HUB-23 */
static void test_hub__whoever_is_dropped_is_to_be_told(void **state)
{
    struct fixture *f = *state;
    int64_t id = subscribed(f, "s", false);
    struct hub_intent *in;
    struct answer a;
    size_t n;

    WRITE(a, store_unsubscribe(f->store, id, NULL, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    in = intents(f, &n);
    assert_int_equal(1, n);
    assert_int_equal(HUB_DENIED, in->mode);
    assert_true(str_eqz(in->topic, "http://me/feed?url=x"));
    assert_true(in->reason.len > 0);
    assert_int_equal(RC_OK, settle(f, in->id, false));
    subs(f, &n);
    assert_int_equal(0, n);
}

/* The publisher ends the feed, and with it its last subscription: what another one had wished for
 * the feed ends, too. */
static void test_hub__wishes_end_with_the_feed(void **state)
{
    struct fixture *f = *state;
    struct feed_ref ref = {.url = STR("http://a.example/f")};
    struct sub_request req = {
        .sink = STR("xmlrpc"), .feeds = &ref, .n_feeds = 1, .level = 2, .sanitize = SANITIZE_OFF};
    struct poll_outcome o;
    struct feed *feed;
    struct answer a;
    int64_t sub;
    size_t n;

    subscribed(f, NULL, false);
    WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
    sub = a.res.id;
    WRITE(a, store_unsubscribe(f->store, sub, NULL, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    o = outcome(add_feed(f, "http://a.example/f", NULL), NULL, 0);
    o.has_document = o.check.ok = false;
    o.check.state = FEED_GONE;
    o.check.raw_html = true;
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    subs(f, &n);
    assert_int_equal(0, n);
    assert_int_equal(RC_OK, reader_feed(f->reader, a.res.id, &f->arena, &feed, NULL));
    assert_int_equal(FEED_GONE, feed->state);
    assert_int_equal(0, feed->n_subscriptions);
    assert_false(feed->raw_html);
    assert_int_equal(1, feed->level);
}

/* HUB-18 */
static void test_hub__an_outcome_can_end_it(void **state)
{
    struct fixture *f = *state;
    struct push_outcome o = {.sub_id = subscribed(f, NULL, false),
                             .next_try_at = TIME_UNKNOWN,
                             .failed = true,
                             .error = STR("410"),
                             .ended = true};
    struct answer a;
    size_t n;

    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    subs(f, &n);
    assert_int_equal(0, n);
    intents(f, &n);
    assert_int_equal(0, n);
}

/* CLOUD-04 CLOUD-06: a registration makes a subscription for each URL, beside a WebSub one of
 * the same callback and topic. It ends with its lease. */
static void test_hub__a_registration_at_the_cloud(void **state)
{
    struct fixture *f = *state;
    int64_t first = add_feed(f, "http://a.example/f", NULL);
    int64_t second = add_feed(f, "http://a.example/g", NULL);
    struct sub_feed feeds[] = {{.feed_id = first, .url = STR("http://me/feeds?url=f,g")},
                               {.feed_id = second, .url = STR("http://me/feeds?url=f,g")},
                               {.feed_id = first, .url = STR("http://a.example/f")}};
    struct hub_intent in = {.mode = HUB_SUBSCRIBE,
                            .protocol = CLOUD_XML_RPC,
                            .procedure = STR("tell"),
                            .topic = STR("http://me/feed?url=x"),
                            .callback = STR("http://sink.example/cb"),
                            .reason = STR(""),
                            .lease_s = 90000,
                            .feeds = feeds,
                            .n_feeds = 3};
    struct subscription *found;
    struct answer a;
    size_t n;

    subscribed(f, NULL, false);
    for (int i = 0; i < 2; i++) { /* the second time renews it */
        WRITE(a, store_hub_request(f->store, &in, on_answer, &a));
        assert_int_equal(RC_OK, a.rc);
        assert_true(str_eqz(intents(f, &n)[0].procedure, "tell"));
        assert_int_equal(RC_OK, settle(f, a.res.id, true));
    }
    found = subs(f, &n);
    assert_int_equal(3, n);
    assert_true(str_eqz(found[1].sink, CLOUD_SINK));
    assert_int_equal(2, found[1].n_feeds);
    assert_int_equal(1, found[2].n_feeds);
    assert_int_equal(CLOUD_XML_RPC, lease_of(f, found[1].id).protocol);
    assert_true(str_eqz(lease_of(f, found[2].id).procedure, "tell"));
    assert_true(str_eqz(lease_of(f, found[2].id).topic, "http://a.example/f"));
    assert_int_equal(90000, lease_of(f, found[2].id).lease_s);
}

/* ---- operations of one transaction ----------------------------------------------------------- */

static void push_settle(struct fixture *f, int64_t intent, struct answer *a)
{
    *a = answer_init(1);
    assert_int_equal(
        RC_OK,
        store_hub_settle(f->store, ((struct hub_settled){.intent_id = intent, .confirmed = true}),
                         on_answer, a));
}

/* HUB-13: two confirmations of one callback and topic make one subscription; when it ends, the
 * next one makes another. One that is not there in between leaves no trace. */
static void test_hub__settled_in_one_transaction(void **state)
{
    struct fixture *f = *state;
    struct answer gate_feed, a[6];
    int64_t ids[4], commits;
    struct subscription *sub;
    size_t n;

    store_listen(f->store, wait_at_gate, NULL);
    ids[0] = ask(f, HUB_SUBSCRIBE, "one", false);
    ids[1] = ask(f, HUB_SUBSCRIBE, "two", false);
    ids[2] = ask(f, HUB_UNSUBSCRIBE, NULL, false);
    ids[3] = ask(f, HUB_SUBSCRIBE, "three", false);
    close_gate(f, &gate_feed);
    commits = stats_get(STAT_store_commits_total);
    push_settle(f, ids[0], &a[0]);
    push_settle(f, 999, &a[1]);
    push_settle(f, ids[1], &a[2]);
    push_settle(f, ids[2], &a[3]);
    push_settle(f, ids[3], &a[4]);
    push_settle(f, ids[3], &a[5]);
    open_gate(&gate_feed);
    for (size_t i = 0; i < 6; i++) {
        answer_wait(&a[i]);
        assert_int_equal(i == 1 || i == 5 ? RC_NOT_FOUND : RC_OK, a[i].rc);
    }
    assert_int_equal(1, stats_get(STAT_store_commits_total) - commits);
    sub = subs(f, &n);
    assert_int_equal(1, n);
    assert_int_equal(2, sub->id);
    assert_true(str_eqz(lease_of(f, sub->id).secret, "three"));
    assert_int_equal(1, sub->n_feeds);
    intents(f, &n);
    assert_int_equal(0, n);
}

/* HUB-18: the feed ends in the transaction in which a subscription of it was confirmed. */
static void test_hub__confirmed_when_the_feed_is_gone(void **state)
{
    struct fixture *f = *state;
    int64_t feed = add_feed(f, "http://a.example/f", NULL), id;
    struct poll_outcome o = outcome(feed, NULL, 0);
    struct answer gate_feed, settled, polled;
    struct hub_intent *in;
    struct feed_brief b;
    size_t n;

    store_listen(f->store, wait_at_gate, NULL);
    o.has_document = o.check.ok = false;
    o.check.state = FEED_GONE;
    id = ask(f, HUB_SUBSCRIBE, NULL, false);
    close_gate(f, &gate_feed);
    push_settle(f, id, &settled);
    polled = answer_init(1);
    assert_int_equal(RC_OK, store_poll_outcome(f->store, &o, 0, on_answer, &polled));
    open_gate(&gate_feed);
    answer_wait(&settled);
    answer_wait(&polled);
    assert_int_equal(RC_OK, polled.rc);
    subs(f, &n);
    assert_int_equal(0, n);
    in = intents(f, &n);
    assert_int_equal(1, n);
    assert_int_equal(HUB_DENIED, in->mode);
    assert_true(str_eqz(in->topic, "http://me/feed?url=x"));
    assert_true(store_brief(f->store, feed, &b));
    assert_int_equal(0, b.n_subscriptions);
    assert_int_equal(FEED_GONE, b.state);
    id = in->id;
    assert_int_not_equal(id, ask(f, HUB_SUBSCRIBE, NULL, false)); /* no id is used again */
}

/* HUB-16: a lease that is renewed just before the sweep does not end. */
static void test_hub__renewed_before_the_sweep(void **state)
{
    struct fixture *f = *state;
    struct answer gate_feed, settled, swept;
    int64_t sub, id;
    size_t n;

    store_listen(f->store, wait_at_gate, NULL);
    at(0);
    sub = subscribed(f, NULL, false);
    at(101);
    id = ask(f, HUB_SUBSCRIBE, NULL, false);
    close_gate(f, &gate_feed);
    push_settle(f, id, &settled);
    swept = answer_init(1);
    assert_int_equal(RC_OK, store_hub_sweep(f->store, on_answer, &swept));
    open_gate(&gate_feed);
    answer_wait(&settled);
    answer_wait(&swept);
    assert_int_equal(START_S + 201, swept.res.id);
    assert_int_equal(sub, subs(f, &n)->id);
    assert_int_equal(1, n);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_hub__##name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(a_registration_at_the_cloud),
        T(requests_are_there_after_a_restart),
        T(confirmed_is_a_subscription),
        T(refused_is_none),
        T(subscribing_again_replaces_the_lease_alone),
        T(unsubscribing),
        T(leases_end),
        T(leases_are_renewed),
        T(renewals_that_nobody_answers_are_tried_again),
        T(later_requests_have_higher_ids),
        T(whoever_is_dropped_is_to_be_told),
        T(wishes_end_with_the_feed),
        T(an_outcome_can_end_it),
        T(settled_in_one_transaction),
        T(confirmed_when_the_feed_is_gone),
        T(renewed_before_the_sweep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
