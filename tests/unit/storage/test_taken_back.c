/* tests/unit/storage/test_taken_back.c - errors that were ours are taken back (store_take_back()).
 * ETIQ-04. */
#include "fixture.h"
#include "tests/unit/cmocka_all.h"

#define SINCE 1000000 /* the failures began, Unix seconds */

static const struct feed *feed_of(struct fixture *f, int64_t id)
{
    struct feed *feed;

    assert_int_equal(RC_OK, reader_feed(f->reader, id, &f->arena, &feed, NULL));
    return feed;
}

/* A feed whose document is known, and which then failed so many times, last at `at`. `status`: 0: it was not
 * reached. */
static int64_t failing(struct fixture *f, const char *url, int n_errors, int64_t at, int status)
{
    int64_t id = add_feed(f, url, NULL);
    struct poll_outcome o = outcome(id, NULL, 0);
    struct answer a;

    o.check.checked_at = SINCE - 1000;
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    o = outcome(id, NULL, 0);
    o.has_document = o.check.ok = false;
    o.check.checked_at = at;
    o.check.status = status;
    o.check.error = STR("cannot be reached");
    o.check.state = FEED_FAILING;
    o.check.n_errors = n_errors;
    o.check.next_fetch_at = clock_now_s() + 86400;
    o.check.next_reason = REASON_BACKOFF;
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    return id;
}

/* It has no answer; the next write comes after it. */
static void take_back(struct fixture *f, int64_t id, int n_before)
{
    struct feed_errors was = {id, n_before};

    assert_int_equal(RC_OK, store_take_back(f->store, &was, 1, SINCE));
    add_feed(f, "http://fence.example/", NULL);
}

static void test_taken_back__a_feed_is_as_before_and_due(void **state)
{
    struct fixture *f = *state;
    int64_t id = failing(f, "http://a.example/", 1, SINCE + 1, 0);
    const struct feed *feed;

    take_back(f, id, 0);
    feed = feed_of(f, id);
    assert_int_equal(0, feed->n_errors);
    assert_int_equal(FEED_OK, feed->state);
    assert_true(str_is_null(feed->last_error));
    assert_int_equal(REASON_PERIOD, feed->next_reason);
    assert_true(feed->next_fetch_at <= clock_now_s());
}

/* Its own errors stay, and so does its pause. */
static void test_taken_back__errors_of_before_stay(void **state)
{
    struct fixture *f = *state;
    int64_t id = failing(f, "http://a.example/", 3, SINCE + 1, 0);
    const struct feed *feed;

    take_back(f, id, 2);
    feed = feed_of(f, id);
    assert_int_equal(2, feed->n_errors);
    assert_int_equal(FEED_FAILING, feed->state);
    assert_false(str_is_null(feed->last_error));
    assert_int_equal(REASON_BACKOFF, feed->next_reason);
}

static void test_taken_back__a_second_time_changes_nothing(void **state)
{
    struct fixture *f = *state;
    int64_t id = failing(f, "http://a.example/", 1, SINCE + 1, 0), next;

    take_back(f, id, 0);
    next = feed_of(f, id)->next_fetch_at;
    take_back(f, id, 0);
    assert_int_equal(0, feed_of(f, id)->n_errors);
    assert_int_equal(next, feed_of(f, id)->next_fetch_at);
}

static void test_taken_back__what_was_reached_since_stays(void **state)
{
    struct fixture *f = *state;
    int64_t id = failing(f, "http://a.example/", 1, SINCE + 1, 500);

    take_back(f, id, 0);
    assert_int_equal(1, feed_of(f, id)->n_errors);
}

static void test_taken_back__what_failed_earlier_stays(void **state)
{
    struct fixture *f = *state;
    int64_t id = failing(f, "http://a.example/", 1, SINCE - 1, 0);

    take_back(f, id, 0);
    assert_int_equal(1, feed_of(f, id)->n_errors);
}

/* It was fetched well since, or was removed: nothing is there to be taken back. */
static void test_taken_back__what_has_fewer_errors_stays(void **state)
{
    struct fixture *f = *state;
    int64_t id = failing(f, "http://a.example/", 1, SINCE + 1, 0);

    take_back(f, id, 4);
    assert_int_equal(1, feed_of(f, id)->n_errors);
    take_back(f, id + 1000, 0);
    assert_int_equal(1, feed_of(f, id)->n_errors);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_taken_back__##name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(a_feed_is_as_before_and_due),
        T(errors_of_before_stay),
        T(a_second_time_changes_nothing),
        T(what_was_reached_since_stays),
        T(what_failed_earlier_stays),
        T(what_has_fewer_errors_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
