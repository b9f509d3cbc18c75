/* tests/unit/api/test_feed_why.c - why a feed is fetched when it is, in words. */
#include "tests/unit/cmocka_all.h"

#include "api/views/feed_why.h"

static bool says(const struct feed *feed, const char *part)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct levels levels = {{86400, 1800, 900}};

    return str_find(feed_why_next(&a, feed, &levels), str_from(part)) >= 0;
}

/* ETIQ-06: a feed that is gone, and one that nobody wants, each have their own sentence. */
static void test_feed_why__one_reason_at_a_time(void **state UNUSED)
{
    struct feed gone = {.state = FEED_GONE, .next_reason = REASON_GONE};
    struct feed unwanted = {.state = FEED_OK, .next_reason = REASON_GONE};

    assert_true(says(&gone, "410"));
    assert_false(says(&gone, "obody wants"));
    assert_true(says(&unwanted, "obody wants"));
    assert_false(says(&unwanted, "410"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_feed_why__one_reason_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
