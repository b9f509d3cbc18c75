/* tests/unit/fetcher/test_upstream_table.c - rows of upstream hubs, and which node acts on them. */
#include "tests/unit/cmocka_all.h"

#include "fetcher/upstream_table.h"

#define OURS 7

static bool is_ours; /* the feed OURS; all others are somebody else's */

static bool owns(void *ctx UNUSED, int64_t feed_id)
{
    return is_ours && feed_id == OURS;
}

static struct upstream row(int64_t feed_id, const char *token)
{
    return (struct upstream){.token = str_from(token),
                             .base_url = STR("http://me"),
                             .secret = STR("s"),
                             .hub = STR("http://hub/"),
                             .topic = STR("http://t/"),
                             .feed_id = feed_id,
                             .is_current = true,
                             .state = UPSTREAM_ACTIVE,
                             .lease_end_at = 4000000000,
                             .next_at = 1000,
                             .ended_at = TIME_UNKNOWN};
}

static bool is_planned(const struct upstream_table *t)
{
    return time_heap_first(&t->heap) != NULL;
}

/* NODE-06: a renewal that fell due while the slot was not ours takes place once it is again. */
static void test_table__what_was_put_aside_is_planned_again(void **state UNUSED)
{
    struct upstream_table t = {.owns = owns, .turns = {.max = 1, .max_host = 1}};
    struct upstream r = row(OURS, "a");

    is_ours = true;
    upstream_table_take(&t, &r, 1);
    assert_true(is_planned(&t));
    time_heap_remove(&t.heap, &upstream_table_of_feed(&t, OURS)->node);
    upstream_table_take(&t, &r, 1);
    assert_true(is_planned(&t));
    upstream_table_release(&t);
}

/* NODE-06: what was lost is not acted on, nor known from before when it comes back. */
static void test_table__what_was_lost_is_forgotten(void **state UNUSED)
{
    struct upstream_table t = {.owns = owns, .turns = {.max = 1, .max_host = 1}};
    struct upstream r = row(OURS, "a");

    is_ours = true;
    upstream_table_take(&t, &r, 1);
    is_ours = false;
    upstream_table_forget_others(&t);
    assert_null(upstream_table_of_feed(&t, OURS));
    assert_false(is_planned(&t));
    is_ours = true;
    r.next_at = 2000;
    upstream_table_take(&t, &r, 1);
    assert_int_equal(2000, time_heap_first(&t.heap)->at);
    upstream_table_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table__what_was_put_aside_is_planned_again),
        cmocka_unit_test(test_table__what_was_lost_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
