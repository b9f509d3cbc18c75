/* tests/unit/api/test_feed_why.c - why a feed is fetched when it is, in words. */
#include "tests/unit/cmocka_all.h"

#include "api/views/feed_why.h"

static bool says(const struct feed *feed, const char *part)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct levels levels = {{86400, 1800, 900}};
    struct host_rests none = {.n = 0};

    return str_find(feed_why_next(&a, feed, &levels, &none).why, str_from(part)) >= 0;
}

/* ETIQ-06: a feed that is gone, and one that nobody wants, each have their own sentence. */
static void test_feed_why__one_reason_at_a_time(void **state UNUSED)
{
    struct feed gone = {.state = FEED_GONE, .next_reason = REASON_GONE};
    struct feed soon = {.state = FEED_FAILING, .next_reason = REASON_PERIOD, .n_gone = 1, .level = 0};
    struct feed unwanted = {.state = FEED_OK, .next_reason = REASON_GONE};

    assert_true(says(&gone, "410"));
    assert_true(says(&soon, "every 6 hours"));
    assert_false(says(&gone, "obody wants"));
    assert_true(says(&unwanted, "obody wants"));
    assert_false(says(&unwanted, "410"));
}

/* ETIQ-03: a feed is told to come when its host lets it come. */
static void test_feed_why__a_host_that_rests(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    static const struct {
        const char *url;
        int64_t due, now, at;
        enum fetch_reason reason;
        const char *part;
    } rows[] = {
        {"http://a/f", 900, 1000, 2000, REASON_RETRY_AFTER, "until 1970-01-01T00:33:20Z"},    /* it cools */
        {"http://a/f", 1500, 1000, 2000, REASON_RETRY_AFTER, "until 1970-01-01T00:33:20Z"},
        {"http://u:p@a:80/g", 1500, 1000, 2000, REASON_RETRY_AFTER, "asked for a pause"},
        {"http://a/f", 2001, 1000, 2001, REASON_PERIOD, "It is fetched every"},               /* later anyway */
        {"http://a/f", 1500, 2100, 2000, REASON_RETRY_AFTER, "waits for its turn"},           /* it was due meanwhile */
        {"http://a/f", 2050, 2100, 2050, REASON_PERIOD, "waits for its turn"},
        {"http://a/f", 2101, 2100, 2101, REASON_PERIOD, "It is fetched every"},
        {"http://a/f", 3000, 3000, 3000, REASON_PERIOD, "It is fetched every"},               /* all is over */
        {"http://a:81/f", 900, 1000, 900, REASON_PERIOD, "It is fetched every"},              /* other hosts */
        {"https://a/f", 900, 1000, 900, REASON_PERIOD, "It is fetched every"},
        {"http://a/f", TIME_UNKNOWN, 1000, TIME_UNKNOWN, REASON_PERIOD, "It is fetched every"}, /* none is planned */
    };
    struct levels levels = {{86400, 1800, 900}};
    struct host_until list[] = {{STR("a:80"), 2000, 2600}, {STR("b:80"), 9000, 9600}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct host_rests rests = {list, ARRAY_LEN(list), rows[i].now};
        struct feed feed = {.url = str_from(rows[i].url), .level = 2, .next_fetch_at = rows[i].due,
                            .next_reason = REASON_PERIOD};
        struct feed_next next = feed_why_next(&a, &feed, &levels, &rests);

        if (i == 0) { /* readers pass; pings wait; by hand it waits, and stays what it is */
            struct feed pinged = feed, wanted = feed;

            pinged.next_reason = REASON_PING;
            assert_true(says(&pinged, "ping"));
            assert_int_equal(2000, feed_why_next(&a, &pinged, &levels, &rests).at);
            pinged.next_reason = REASON_READER;
            assert_int_equal(900, feed_why_next(&a, &pinged, &levels, &rests).at);
            pinged.next_reason = REASON_BACKOFF; /* ETIQ-04: an outage of ours does not count as an error */
            assert_true(str_find(feed_why_next(&a, &pinged, &levels, &(struct host_rests){.n = 0}).why, STR("was down at the last fetch")) >= 0);
            wanted.next_reason = REASON_HAND;
            assert_int_equal(REASON_HAND, feed_why_next(&a, &wanted, &levels, &rests).reason);
            assert_int_equal(2000, feed_why_next(&a, &wanted, &levels, &rests).at);
            assert_true(str_find(feed_why_next(&a, &wanted, &levels, &rests).why, STR("by hand. Its host")) >= 0);
        }
        assert_int_equal(rows[i].at, next.at);
        assert_int_equal(rows[i].reason, next.reason);
        assert_true(str_find(next.why, str_from(rows[i].part)) >= 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_feed_why__one_reason_at_a_time),
        cmocka_unit_test(test_feed_why__a_host_that_rests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
