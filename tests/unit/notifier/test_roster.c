/* tests/unit/notifier/test_roster.c - who waits for which feed, and whose turn it is. */
#include <stdio.h>

#include "base/compiler.h"
#include "base/digest.h"
#include "notifier/roster.h"
#include "tests/unit/cmocka_all.h"

static struct member *member(struct roster *r, int64_t id, const char *endpoint)
{
    return roster_add(r, id, str_from(endpoint), false);
}

static void due(struct roster *r, struct member *m)
{
    m->state = ATTEMPT_DUE;
    roster_due(r, m);
}

static struct member *next(struct roster *r)
{
    struct member *m = roster_next(r);

    if (m != NULL)
        m->state = ATTEMPT_READING;
    return m;
}

static size_t of_feed(const struct roster *r, int64_t feed)
{
    size_t n;

    roster_of_feed(r, feed, &n);
    return n;
}

static void test_roster__finds_by_id_and_by_feed(void **state UNUSED)
{
    struct roster r;
    struct member *a, *b;
    size_t n;

    roster_init(&r, 8);
    a = member(&r, 1, "http://a/");
    b = member(&r, 2, "http://b/");
    assert_true(roster_set_feeds(&r, a, (int64_t[]){30, 10, 20, 10}, 4));
    assert_true(roster_set_feeds(&r, b, (int64_t[]){20}, 1));
    assert_ptr_equal(roster_find(&r, 2), b);
    assert_null(roster_find(&r, 3));
    assert_int_equal(a->n_feeds, 3);
    assert_ptr_equal(roster_of_feed(&r, 20, &n)[0], a);
    assert_ptr_equal(roster_of_feed(&r, 20, &n)[1], b);
    assert_int_equal(n, 2);
    assert_int_equal(of_feed(&r, 40), 0);
    roster_release(&r);
}

static void test_roster__feeds_can_change(void **state UNUSED)
{
    struct roster r;
    struct member *a;

    roster_init(&r, 8);
    a = member(&r, 1, "http://a/");
    roster_set_feeds(&r, a, (int64_t[]){1, 2, 5}, 3);
    assert_false(roster_set_feeds(&r, a, (int64_t[]){5, 1, 2}, 3));
    assert_true(roster_set_feeds(&r, a, (int64_t[]){2, 3, 9}, 3));
    for (int64_t feed = 0; feed < 12; feed++)
        assert_int_equal(of_feed(&r, feed), feed == 2 || feed == 3 || feed == 9);
    assert_true(roster_set_feeds(&r, a, NULL, 0));
    assert_int_equal(map_count(&r.feeds), 0);
    roster_release(&r);
}

static void test_roster__a_removed_member_leaves_nothing(void **state UNUSED)
{
    struct roster r;
    struct member *a;

    roster_init(&r, 8);
    a = member(&r, 1, "http://a/");
    roster_set_feeds(&r, a, (int64_t[]){1, 2}, 2);
    due(&r, a);
    roster_del(&r, a);
    assert_null(next(&r));
    assert_int_equal(map_count(&r.members), 0);
    assert_int_equal(map_count(&r.feeds), 0);
    assert_int_equal(map_count(&r.endpoints), 0);
    roster_release(&r);
}

/* PUSH-13: one at a time for an endpoint, in the order in which they became due. */
static void test_roster__members_of_an_endpoint_take_turns(void **state UNUSED)
{
    struct roster r;
    struct member *a, *b, *c;

    roster_init(&r, 8);
    a = member(&r, 1, "http://a/");
    b = member(&r, 2, "http://a/");
    c = member(&r, 3, "http://a/");
    due(&r, b);
    due(&r, c);
    due(&r, a);
    assert_ptr_equal(next(&r), b);
    assert_null(next(&r));
    roster_done(&r, b->endpoint, LANES_UNCALLED, 0);
    due(&r, b); /* again: after the others */
    assert_ptr_equal(next(&r), c);
    roster_done(&r, c->endpoint, LANES_UNCALLED, 0);
    assert_ptr_equal(next(&r), a);
    roster_done(&r, a->endpoint, LANES_UNCALLED, 0);
    assert_ptr_equal(next(&r), b);
    roster_done(&r, b->endpoint, LANES_UNCALLED, 0);
    assert_null(next(&r));
    roster_release(&r);
}

/* Returns a member that stands for a test. The roster only looks whether there is one. */
static struct member *test_of(struct roster *r, int64_t id, const char *endpoint)
{
    static char some;
    struct member *m = member(r, id, endpoint);

    m->test = (struct push_test *)&some;
    return m;
}

/* The member that is next has its turn, which ends at once. */
static struct member *turn(struct roster *r)
{
    struct member *m = next(r);

    assert_non_null(m);
    roster_done(r, m->endpoint, LANES_UNCALLED, 0);
    return m;
}

/* DELIV-06: a test goes before the others, and a loop of tests leaves them every second turn. */
static void test_roster__tests_take_turns_with_the_others(void **state UNUSED)
{
    struct roster r;
    struct member *a, *b, *t, *u;

    roster_init(&r, 8);
    a = member(&r, 1, "http://a/");
    b = member(&r, 2, "http://a/");
    t = test_of(&r, -1, "http://a/");
    u = test_of(&r, -2, "http://a/");
    due(&r, a);
    due(&r, b);
    due(&r, t);
    due(&r, u);
    assert_ptr_equal(turn(&r), t);
    due(&r, t); /* after the other test, and before the subscriptions */
    assert_ptr_equal(turn(&r), a);
    assert_ptr_equal(turn(&r), u);
    assert_ptr_equal(turn(&r), b);
    assert_ptr_equal(turn(&r), t);
    due(&r, u); /* nobody else is due */
    assert_ptr_equal(turn(&r), u);
    assert_null(next(&r));
    roster_release(&r);
}

/* DELIV-09: an endpoint that wants no call gets tests only, also two in a row. */
static void test_roster__a_hold_is_for_all_but_tests(void **state UNUSED)
{
    struct roster r;
    struct member *a, *t, *u;
    static char some;

    roster_init(&r, 8);
    a = member(&r, 1, "http://a/");
    t = test_of(&r, -1, "http://a/");
    u = test_of(&r, -2, "http://a/");
    roster_hold(&r, a->endpoint, (struct hold *)&some);
    due(&r, a);
    due(&r, t);
    due(&r, u);
    assert_ptr_equal(turn(&r), t);
    assert_ptr_equal(turn(&r), u);
    assert_null(next(&r));
    roster_hold(&r, a->endpoint, NULL);
    assert_ptr_equal(turn(&r), a);
    roster_release(&r);
}

static void test_roster__endpoints_do_not_wait_for_each_other(void **state UNUSED)
{
    struct roster r;
    struct member *a, *b;

    roster_init(&r, 8);
    a = member(&r, 1, "http://a/");
    b = member(&r, 2, "http://b/");
    due(&r, a);
    due(&r, b);
    assert_ptr_equal(next(&r), a);
    assert_ptr_equal(next(&r), b);
    roster_release(&r);
}

/* PUSH-12: an endpoint whose last call failed before a restart shares the room of the slow ones. */
static void test_roster__an_endpoint_that_failed_before_is_suspect(void **state UNUSED)
{
    struct roster r;

    roster_init(&r, 8);
    due(&r, roster_add(&r, 1, STR("http://failed0/"), true));
    due(&r, roster_add(&r, 2, STR("http://failed1/"), true));
    due(&r, roster_add(&r, 3, STR("http://failed2/"), true));
    due(&r, member(&r, 4, "http://good/"));
    assert_int_equal(next(&r)->id, 1);
    assert_int_equal(next(&r)->id, 2);
    assert_int_equal(next(&r)->id, 4);
    assert_null(next(&r));
    roster_release(&r);
}

/* A call that takes too long while others wait: the roster names its endpoint. */
static void test_roster__looks_at_calls_under_way(void **state UNUSED)
{
    struct roster r;
    struct member *a;

    roster_init(&r, 1);
    a = member(&r, 1, "http://a/");
    due(&r, a);
    assert_ptr_equal(next(&r), a);
    lanes_called(&a->endpoint->lane, 1000);
    due(&r, member(&r, 2, "http://b/"));
    assert_null(next(&r));
    assert_null(roster_look(&r, 1000 + LANES_LATE_MS)); /* there is room for one slow call */
    due(&r, member(&r, 3, "http://c/"));
    assert_null(next(&r));
    roster_done(&r, a->endpoint, LANES_ANSWERED, 1000 + LANES_LATE_MS);
    assert_int_equal(a->endpoint->lane.standing, STANDING_SUSPECT);
    assert_int_equal(next(&r)->id, 2);
    roster_release(&r);
}

/* A subscription that ends while its call is in flight: the endpoint stays until the call ends. */
static void test_roster__a_busy_endpoint_outlives_its_members(void **state UNUSED)
{
    struct roster r;
    struct member *a;
    struct endpoint *e;

    roster_init(&r, 8);
    a = member(&r, 1, "http://a/");
    e = a->endpoint;
    due(&r, a);
    assert_ptr_equal(next(&r), a);
    roster_del(&r, a);
    due(&r, member(&r, 2, "http://a/"));
    assert_null(next(&r)); /* still one at a time */
    roster_done(&r, e, LANES_UNCALLED, 0);
    assert_int_equal(next(&r)->id, 2);
    roster_del(&r, roster_find(&r, 2));
    roster_done(&r, e, LANES_UNCALLED, 0);
    assert_int_equal(map_count(&r.endpoints), 0);
    roster_release(&r);
}

/* A hold keeps an endpoint that nobody subscribes any more, but not very many of them. */
static void test_roster__holds_without_members_are_counted(void **state UNUSED)
{
    struct hold *hold = (struct hold *)&hold; /* only its address counts */
    struct roster r;
    struct endpoint *e;

    roster_init(&r, 8);
    for (int64_t i = 1; i <= ROSTER_ONLY_HELD_MAX; i++) {
        char url[32];

        assert_false(roster_is_full(&r));
        snprintf(url, sizeof url, "http://a/%d", (int)i);
        roster_hold(&r, member(&r, i, url)->endpoint, hold);
        roster_del(&r, roster_find(&r, i));
    }
    assert_true(roster_is_full(&r));
    assert_int_equal(map_count(&r.endpoints), ROSTER_ONLY_HELD_MAX);
    e = member(&r, 5000, "http://a/7")->endpoint; /* it is subscribed again */
    assert_ptr_equal(e->hold, hold);
    assert_false(roster_is_full(&r));
    roster_del(&r, roster_find(&r, 5000));
    assert_true(roster_is_full(&r));
    roster_hold(&r, e, NULL); /* it is over */
    assert_false(roster_is_full(&r));
    assert_int_equal(map_count(&r.endpoints), ROSTER_ONLY_HELD_MAX - 1);
    roster_release(&r);
}

static void test_roster__out_of_the_queue(void **state UNUSED)
{
    struct roster r;
    struct member *a, *b;

    roster_init(&r, 8);
    a = member(&r, 1, "http://a/");
    b = member(&r, 2, "http://a/");
    due(&r, a);
    due(&r, b);
    roster_undue(&r, a);
    a->state = ATTEMPT_SUSPENDED;
    assert_ptr_equal(next(&r), b);
    roster_done(&r, b->endpoint, LANES_UNCALLED, 0);
    assert_null(next(&r));
    roster_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roster__finds_by_id_and_by_feed),
        cmocka_unit_test(test_roster__feeds_can_change),
        cmocka_unit_test(test_roster__a_removed_member_leaves_nothing),
        cmocka_unit_test(test_roster__members_of_an_endpoint_take_turns),
        cmocka_unit_test(test_roster__tests_take_turns_with_the_others),
        cmocka_unit_test(test_roster__a_hold_is_for_all_but_tests),
        cmocka_unit_test(test_roster__endpoints_do_not_wait_for_each_other),
        cmocka_unit_test(test_roster__an_endpoint_that_failed_before_is_suspect),
        cmocka_unit_test(test_roster__looks_at_calls_under_way),
        cmocka_unit_test(test_roster__a_busy_endpoint_outlives_its_members),
        cmocka_unit_test(test_roster__holds_without_members_are_counted),
        cmocka_unit_test(test_roster__out_of_the_queue),
    };

    digest_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
