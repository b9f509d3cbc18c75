/* tests/unit/storage/test_upstreams.c - our subscriptions at publishers' hubs, their trust,
 * deliveries.
 */
#include "gate.h"
#include "base/stats.h"
#include "tests/unit/cmocka_all.h"

static struct upstream upstream(int64_t feed_id, const char *token, enum upstream_state state)
{
    return (struct upstream){.token = str_from(token),
                             .base_url = STR("http://me"),
                             .secret = STR("s"),
                             .hub = STR("http://hub/"),
                             .topic = STR("http://t/"),
                             .feed_id = feed_id,
                             .is_current = true,
                             .for_subs = true,
                             .state = state,
                             .lease_end_at = clock_now_s() + 100,
                             .next_at = TIME_UNKNOWN,
                             .ended_at = 5,
                             .n_errors = 2,
                             .error = STR("why")};
}

static void put(struct fixture *f, const struct upstream *u)
{
    struct answer a;

    WRITE(a, store_upstream_put(f->store, u, UPSTREAM_ANY, on_answer, &a));
    if (a.rc != RC_OK)
        fail_msg("put: %s", a.text);
}

static const struct upstream *of(struct fixture *f, int64_t feed_id)
{
    struct feed *feed;
    size_t n;

    assert_int_equal(RC_OK, reader_feeds(f->reader, &feed_id, 1, &f->arena, &feed, &n, NULL));
    assert_int_equal(1, n);
    return &feed->upstream;
}

static struct answer send_outcome(struct fixture *f, const struct poll_outcome *o)
{
    struct answer a;

    WRITE(a, store_poll_outcome(f->store, o, 0, on_answer, &a));
    if (a.rc != RC_OK)
        fail_msg("outcome: %s", a.text);
    return a;
}

static enum rc put_known(struct fixture *f, const struct upstream *u, uint64_t known)
{
    struct answer a;

    WRITE(a, store_upstream_put(f->store, u, known, on_answer, &a));
    return a.rc;
}

static enum rc drop_known(struct fixture *f, const struct upstream *u, uint64_t known)
{
    struct answer a;

    WRITE(a, store_upstream_drop(f->store, u->feed_id, u->token, known, on_answer, &a));
    return a.rc;
}

/* NODE-06: a node that does not know what another one has stored meanwhile neither overwrites nor
 * deletes it. What is stored already may be stored again, as after a lost connection. */
static void test_upstreams__a_stale_node_changes_nothing(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct upstream first = upstream(id, "t1", UPSTREAM_ASKING), theirs = first, ours = first;
    uint64_t known = store_upstream_mark(&first);

    put(f, &first);
    theirs.state = UPSTREAM_ACTIVE; /* the hub has called another node */
    assert_int_equal(RC_OK, put_known(f, &theirs, known));
    ours.state = UPSTREAM_FAILED;
    assert_int_equal(RC_CONFLICT, put_known(f, &ours, known));
    assert_int_equal(RC_CONFLICT, drop_known(f, &ours, known));
    assert_int_equal(UPSTREAM_ACTIVE, of(f, id)->state);
    assert_int_equal(RC_OK, put_known(f, &theirs, known));
    known = store_upstream_mark(&theirs);
    ours.n_errors++;
    assert_int_equal(RC_OK, put_known(f, &ours, known));
    assert_int_equal(RC_OK, drop_known(f, &ours, store_upstream_mark(&ours)));
    assert_int_equal(RC_OK, drop_known(f, &ours, known)); /* it is gone */
    assert_int_equal(RC_CONFLICT, put_known(f, &ours, store_upstream_mark(&ours)));
    assert_int_equal(0, of(f, id)->hub.len);
}

/* NODE-06: a row that lost its feed to another one does not come back by a node that did not see
 * it. A row that was never current may still become it. */
static void test_upstreams__a_stale_node_displaces_nothing(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct upstream old = upstream(id, "t1", UPSTREAM_ACTIVE), new = upstream(id, "t2", 1);
    uint64_t known = store_upstream_mark(&old);

    put(f, &old);
    new.hub = STR("http://other/");
    put(f, &new);
    assert_int_equal(RC_CONFLICT, put_known(f, &old, known));
    assert_true(str_eq(STR("http://other/"), of(f, id)->hub));
    old.is_current = false;
    old.state = UPSTREAM_ENDING;
    assert_int_equal(RC_OK, put_known(f, &old, known)); /* who knows it ends it */
    known = store_upstream_mark(&old);
    old.is_current = true;
    assert_int_equal(RC_OK, put_known(f, &old, known));
    assert_true(str_eq(STR("http://hub/"), of(f, id)->hub));
}

/* SUBR-306: everything is there after the database was closed and opened again */
static void test_upstreams__survive_a_restart(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct upstream u = upstream(id, "t1", UPSTREAM_ACTIVE), *all;
    size_t n;

    assert_true(str_is_null(of(f, id)->hub));
    put(f, &u);
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(RC_OK, reader_upstreams(f->reader, &f->arena, &all, &n, NULL));
    assert_int_equal(1, n);
    assert_true(str_eqz(all->token, "t1") && str_eqz(all->base_url, "http://me"));
    assert_true(str_eqz(all->secret, "s") && str_eqz(all->topic, "http://t/"));
    assert_true(str_eqz(all->error, "why") && all->is_current && all->for_subs);
    assert_int_equal(UPSTREAM_ACTIVE, all->state);
    assert_int_equal(u.lease_end_at, all->lease_end_at);
    assert_true(all->next_at == TIME_UNKNOWN && all->ended_at == 5 && all->n_errors == 2);
    assert_true(str_eqz(of(f, id)->hub, "http://hub/"));
}

/* A feed has one hub: a row that becomes current takes the place of the one before. */
static void test_upstreams__one_is_current(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct upstream a = upstream(id, "t1", UPSTREAM_ACTIVE),
                    b = upstream(id, "t2", UPSTREAM_ASKING);
    struct upstream *all;
    struct feed *feeds;
    size_t n;

    put(f, &a);
    put(f, &b);
    assert_int_equal(UPSTREAM_ASKING, of(f, id)->state);
    assert_int_equal(RC_OK, reader_feeds(f->reader, NULL, 0, &f->arena, &feeds, &n, NULL));
    assert_int_equal(1, n);
    assert_int_equal(RC_OK, store_upstream_drop(f->store, id, STR("t2"), UPSTREAM_ANY, NULL, NULL));
    put(f, &a);
    assert_int_equal(RC_OK, reader_upstreams(f->reader, &f->arena, &all, &n, NULL));
    assert_int_equal(1, n);
}

/* In one transaction: each operation sees the ones before it, and one that fails leaves nothing. */
static void test_upstreams__in_one_transaction(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL), commits;
    struct upstream first = upstream(id, "t1", UPSTREAM_ACTIVE),
                    second = upstream(id, "t2", UPSTREAM_ACTIVE),
                    left = upstream(id + 100, "t3", UPSTREAM_ASKING), *all;
    struct poll_outcome bad = outcome(id + 100, NULL, 0);
    struct delivery_outcome delivery = {.feed_id = id, .received_at = 77};
    struct answer at, good = answer_init(4), failed = answer_init(1);
    size_t n;

    store_listen(f->store, wait_at_gate, NULL);
    put(f, &first);
    close_gate(f, &at);
    commits = stats_get(STAT_store_commits_total);
    assert_int_equal(RC_OK, store_upstream_put(f->store, &second, UPSTREAM_ANY, on_answer, &good));
    assert_int_equal(RC_OK, store_upstream_put(f->store, &left, UPSTREAM_ANY, on_answer, &good));
    assert_int_equal(RC_OK, store_poll_outcome(f->store, &bad, 0, on_answer, &failed));
    assert_int_equal(RC_OK, store_delivery_outcome(f->store, &delivery, 0, on_answer, &good));
    second.n_errors = 7;
    assert_int_equal(RC_OK, store_upstream_put(f->store, &second, UPSTREAM_ANY, on_answer, &good));
    open_gate(&at);
    answer_wait(&good);
    answer_wait(&failed);
    assert_int_equal(1, stats_get(STAT_store_commits_total) - commits);
    assert_int_equal(RC_OK, good.rc);
    assert_int_equal(RC_NOT_FOUND, failed.rc);
    assert_int_equal(RC_OK, reader_upstreams(f->reader, &f->arena, &all, &n, NULL));
    assert_int_equal(3, n); /* one of a feed that is gone stays until it is ended */
    assert_true(str_eqz(all[0].token, "t1") && all[0].delivered_at == TIME_UNKNOWN);
    assert_true(str_eqz(all[1].token, "t2") && all[1].delivered_at == 77);
    assert_int_equal(TRUST_FULL, all[1].trust);
    assert_int_equal(7, of(f, id)->n_errors);
}

/* A row of the feed that was read before is read again when its upstream subscription is gone. */
static void test_upstreams__a_drop_is_an_edit(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    int64_t other_id = add_feed(f, "http://b.example/", NULL);
    struct upstream u = upstream(id, "t1", UPSTREAM_IDLE),
                    other = upstream(other_id, "t2", UPSTREAM_IDLE);
    struct feed_brief before, after;

    put(f, &u);
    assert_true(store_brief(f->store, id, &before));
    assert_int_equal(RC_OK, store_upstream_drop(f->store, id, STR("t1"), UPSTREAM_ANY, NULL, NULL));
    put(f, &other); /* it is written after the drop */
    assert_true(str_is_null(of(f, id)->hub));
    assert_true(store_brief(f->store, id, &after));
    assert_true(after.edition > before.edition);
}

/* SUBR-300, SUBR-308: a delivery adds entries, and touches nothing that polls go by */
static void test_upstreams__delivery(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct upstream u = upstream(id, "t1", UPSTREAM_ACTIVE);
    struct entry_change old = change(f, "old", "old", 10), fresh = change(f, "new", "new", 20);
    struct poll_outcome o = outcome(id, &old, 1);
    struct delivery_outcome d = {
        .feed_id = id, .received_at = clock_now_s(), .entries = {.changes = &fresh, .n = 1}};
    struct view v = view_of(VIEW_NEWEST, &id, 1);
    struct feed *before, *after;
    struct answer a;
    size_t n;

    o.check.etag = STR("\"e\"");
    o.check.next_fetch_at = 4000000000;
    send_outcome(f, &o);
    put(f, &u);
    assert_int_equal(RC_OK, reader_feeds(f->reader, &id, 1, &f->arena, &before, &n, NULL));
    WRITE(a, store_delivery_outcome(f->store, &d, 0, on_answer, &a));
    assert_int_equal(1, a.res.n_new);
    assert_string_equal("new old", view_titles(f, &v));
    assert_int_equal(RC_OK, reader_feeds(f->reader, &id, 1, &f->arena, &after, &n, NULL));
    assert_true(str_eqz(after->etag, "\"e\"") && str_eqz(after->title, "T"));
    assert_int_equal(4000000000, after->next_fetch_at);
    assert_int_equal(before->last_check_at, after->last_check_at);
    assert_true(after->version > before->version);
    assert_int_equal(TRUST_FULL, after->upstream.trust);
    assert_true(after->upstream.delivered_at != TIME_UNKNOWN);
    WRITE(a, store_delivery_outcome(f->store, &d, 0, on_answer, &a)); /* no entry, no version */
    assert_int_equal(after->version,
                     reader_feeds(f->reader, &id, 1, &f->arena, &before, &n, NULL) == RC_OK
                         ? before->version
                         : 0);
}

/* SUBR-306: a poll changes the trust it began with, not one that a delivery has renewed meanwhile;
 * and keeping a row leaves it alone */
static void test_upstreams__trust(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct upstream u = upstream(id, "t1", UPSTREAM_ACTIVE);
    struct poll_outcome o = outcome(id, NULL, 0);

    put(f, &u);
    assert_int_equal(0, of(f, id)->trust);
    o.check.trust = 1;
    send_outcome(f, &o);
    put(f, &u);
    assert_int_equal(1, of(f, id)->trust);
    o.check.trust_was = 0;
    o.check.trust = -1;
    send_outcome(f, &o);
    assert_int_equal(1, of(f, id)->trust);
    o.check.trust_was = 1;
    send_outcome(f, &o);
    assert_int_equal(-1, of(f, id)->trust);
}

/* CLOUD-07: a notification is a ping, and its time is kept; it earns no trust by itself. A row
 * keeps what it needs to register again. */
static void test_upstreams__notification(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct upstream u = upstream(id, "t1", UPSTREAM_ACTIVE), *all;
    struct poll_outcome o = outcome(id, NULL, 0);
    struct feed_brief brief;
    struct answer a;
    size_t n;

    u.protocol = CLOUD_XML_RPC;
    u.procedure = STR("a.b");
    o.check.next_fetch_at = 4000000000;
    send_outcome(f, &o);
    put(f, &u);
    assert_int_equal(TIME_UNKNOWN, of(f, id)->delivered_at);
    WRITE(a, store_announced(f->store, id, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    assert_true(store_brief(f->store, id, &brief));
    assert_true(brief.next_fetch_at <= clock_now_s());
    assert_int_equal(CLOUD_XML_RPC, of(f, id)->protocol);
    assert_int_equal(0, of(f, id)->trust);
    assert_true(of(f, id)->delivered_at != TIME_UNKNOWN);
    assert_int_equal(RC_OK, reader_upstreams(f->reader, &f->arena, &all, &n, NULL));
    assert_int_equal(1, n);
    assert_int_equal(CLOUD_XML_RPC, all->protocol);
    assert_true(str_eqz(all->procedure, "a.b"));
}

/* SUBR-306: what was polled less for the hub's sake gets its pace back when the hub fails */
static void test_upstreams__failure_gives_the_pace_back(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct upstream u = upstream(id, "t1", UPSTREAM_ACTIVE);
    struct poll_outcome o = outcome(id, NULL, 0);
    struct feed_brief brief;

    o.check.next_fetch_at = o.check.checked_at + 80000;
    o.check.next_reason = REASON_HUB;
    send_outcome(f, &o);
    put(f, &u);
    assert_true(store_brief(f->store, id, &brief));
    assert_int_equal(o.check.checked_at + 80000, brief.next_fetch_at);
    u.state = UPSTREAM_FAILED;
    put(f, &u);
    assert_true(store_brief(f->store, id, &brief));
    assert_int_equal(o.check.checked_at + 1800, brief.next_fetch_at);
}

/* SUBR-306: the same when the feed names that hub no longer, unless another one tells of updates */
static void test_upstreams__a_hub_that_is_left_gives_the_pace_back(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct upstream old = upstream(id, "t1", UPSTREAM_ACTIVE),
                    other = upstream(id, "t2", UPSTREAM_ACTIVE);
    struct poll_outcome o = outcome(id, NULL, 0);
    struct feed_brief brief;

    o.check.next_fetch_at = o.check.checked_at + 80000;
    o.check.next_reason = REASON_HUB;
    send_outcome(f, &o);
    put(f, &old);
    put(f, &other);
    old.is_current = false;
    old.state = UPSTREAM_ENDING;
    put(f, &old);
    assert_true(store_brief(f->store, id, &brief));
    assert_int_equal(o.check.checked_at + 80000, brief.next_fetch_at);
    other.is_current = false;
    other.state = UPSTREAM_ENDING;
    put(f, &other);
    assert_true(store_brief(f->store, id, &brief));
    assert_int_equal(o.check.checked_at + 1800, brief.next_fetch_at);
}

/* NODE-02: a call of a hub is looked up by its token, however many rows there are. */
static void test_upstreams__by_token(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    const struct str tokens[] = {STR("none"), STR("t2"), STR(""), STR("t1")};
    struct upstream first = upstream(id, "t1", UPSTREAM_ENDING), *rows;
    struct upstream second = upstream(id, "t2", UPSTREAM_ACTIVE);
    size_t n;

    first.is_current = false;
    put(f, &first);
    put(f, &second);
    assert_int_equal(RC_OK, reader_upstreams_of(f->reader, tokens, 3, &f->arena, &rows, &n, NULL));
    assert_int_equal(1, n);
    assert_true(str_eqz(rows->token, "t2") && rows->is_current && rows->feed_id == id);
    assert_true(str_eqz(rows->secret, "s") && rows->lease_end_at == second.lease_end_at);
    assert_int_equal(RC_OK, reader_upstreams_of(f->reader, tokens, 4, &f->arena, &rows, &n, NULL));
    assert_int_equal(2, n);
    assert_int_equal(RC_OK, reader_upstreams_of(f->reader, tokens, 1, &f->arena, &rows, &n, NULL));
    assert_int_equal(0, n);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_upstreams__##name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {T(survive_a_restart),
                                       T(a_stale_node_changes_nothing),
                                       T(a_stale_node_displaces_nothing),
                                       T(one_is_current),
                                       T(by_token),
                                       T(in_one_transaction),
                                       T(a_drop_is_an_edit),
                                       T(delivery),
                                       T(trust),
                                       T(notification),
                                       T(failure_gives_the_pace_back),
                                       T(a_hub_that_is_left_gives_the_pace_back)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
