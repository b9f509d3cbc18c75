/* tests/unit/fetcher/test_upstream_table.c - rows of upstream hubs, and which node acts on them. */
#include "tests/unit/cmocka_all.h"

#include "fetcher/upstream_subs.h"
#include "fetcher/upstream_save.h"

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

/* NODE-02: what the hub told another node holds for the one that asked, and is not asked again. */
static void test_table__a_denial_or_an_end_that_another_node_was_told(void **state UNUSED)
{
    static const struct {
        enum upstream_state ours, stored;
        int64_t stored_next, next; /* we wait until 2000; 1000 is what we have stored */
        enum upstream_state then;
    } rows[] = {
        {UPSTREAM_ASKING, UPSTREAM_FAILED, 4000000000, 4000000000, UPSTREAM_FAILED},
        {UPSTREAM_FAILED, UPSTREAM_FAILED, 1000, 2000, UPSTREAM_FAILED}, /* our own, of before */
        {UPSTREAM_ENDING, UPSTREAM_IDLE, TIME_UNKNOWN, TIME_UNKNOWN, UPSTREAM_IDLE},
        {UPSTREAM_ENDING, UPSTREAM_ENDING, 1000, 2000, UPSTREAM_ENDING},
        {UPSTREAM_ACTIVE, UPSTREAM_ACTIVE, 3000, 3000, UPSTREAM_ACTIVE}, /* it was renewed */
    };

    is_ours = true;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct upstream_table t = {.owns = owns, .turns = {.max = 1, .max_host = 1}};
        struct upstream r = row(OURS, "a");
        struct upstream_sub *sub;

        r.state = rows[i].ours;
        upstream_table_take(&t, &r, 1);
        sub = upstream_table_of_feed(&t, OURS);
        upstream_sub_set_next(&t, sub, 2000);
        sub->is_waiting = true;
        r.state = rows[i].stored;
        r.next_at = rows[i].stored_next;
        t.n_readings++;
        upstream_table_take(&t, &r, 1);
        assert_int_equal(rows[i].then, sub->row.state);
        assert_int_equal(rows[i].next, sub->row.next_at);
        assert_int_equal(rows[i].next == 2000, sub->is_waiting);
        upstream_table_release(&t);
    }
}

/* NODE-02: what is on its way to the database, or was stored while the rows were read, is newer
 * than what was read. What was refused gives way to what another node has stored. */
static void test_table__what_was_read_is_older_or_newer(void **state UNUSED)
{
    struct upstream_table t = {.owns = owns, .turns = {.max = 1, .max_host = 1}, .n_readings = 1};
    struct upstream r = row(OURS, "a");
    struct upstream_save save = {.table = &t, .token = STR("a"), .known = 5};
    struct upstream_sub *sub;

    is_ours = true;
    upstream_table_take(&t, &r, 1);
    sub = upstream_table_of_feed(&t, OURS);
    sub->row.state = UPSTREAM_ENDING; /* is stored, twice */
    sub->stored = store_upstream_mark(&sub->row);
    sub->n_saving = 2;
    t.n_readings++;
    upstream_table_take(&t, &r, 1);
    assert_int_equal(UPSTREAM_ENDING, sub->row.state);
    upstream_table_saved(&t, &save, RC_OK);
    upstream_table_saved(&t, &save, RC_OK);
    upstream_table_take(&t, &r, 1);
    assert_int_equal(UPSTREAM_ENDING, sub->row.state);
    sub->n_saving = 1;
    upstream_table_saved(&t, &save, RC_CONFLICT);
    assert_true(sub->is_stale);
    upstream_table_take(&t, &r, 1);
    assert_int_equal(UPSTREAM_ACTIVE, sub->row.state);
    assert_false(sub->is_stale);
    sub->n_saving = 1;
    upstream_table_saved(&t, &save, RC_IO); /* it was not stored: what was there before is there */
    assert_int_equal(5, sub->stored);
    upstream_table_saved(&t, &(struct upstream_save){.token = STR("gone")}, RC_OK);
    upstream_table_release(&t);
}

/* NODE-06: the node of the feed that stays moves the row; here nobody acts on it any more. */
static void test_table__a_merge_into_the_feed_of_another_node(void **state UNUSED)
{
    struct upstream_table t = {.owns = owns, .turns = {.max = 1, .max_host = 1}};
    struct upstream rows[] = {row(OURS, "a"), row(9, "b")};

    is_ours = true;
    upstream_table_take(&t, rows, 2);
    upstream_sub_merged(&t, upstream_table_of_feed(&t, OURS), 8);
    upstream_sub_merged(&t, upstream_table_of_feed(&t, 9), 8); /* not even one that was foreign */
    assert_int_equal(0, map_count(&t.by_token));
    assert_false(is_planned(&t));
    upstream_table_take(&t, rows, 1);
    upstream_table_of_feed(&t, OURS)->is_calling = true;
    upstream_sub_merged(&t, upstream_table_of_feed(&t, OURS), 8);
    assert_null(upstream_table_of_feed(&t, OURS));
    upstream_table_release(&t);
}

/* NODE-04: a fetch that ended in the feed of another node takes up no hub for it. There is no store
 * here that could keep a row. */
static void test_table__a_hub_that_another_node_takes_up(void **state UNUSED)
{
    struct upstream_subs_cfg cfg = {.base_url = STR("http://me"), .unused_s = 1, .timeout_ms = 1};
    struct upstream_subs *s = upstream_subs_new(NULL, NULL, &cfg);
    struct upstream_hub hub = {STR("http://hub/"), HUB_WEBSUB, STR_NULL};
    struct upstream_links links = {.read = true, .n = 1, .topic = STR("http://t/")};

    links.hubs[0] = hub;
    upstream_subs_share(s, owns, NULL);
    upstream_subs_found(s, 8, &links);
    upstream_subs_free(&s);
}

/* NODE-02: one row is read for the call of a hub; what is known of the others stays. */
static void test_table__one_row_is_read(void **state UNUSED)
{
    struct upstream_table t = {.owns = owns, .turns = {.max = 1, .max_host = 1}};
    struct upstream rows[] = {row(OURS, "a"), row(8, "b"), row(9, "c")}, later = row(8, "d");
    const struct str tokens[] = {STR("b"), STR("d"), STR("none")};

    is_ours = true;
    upstream_table_take(&t, rows, 3);
    rows[1].state = UPSTREAM_ENDING; /* another node has asked anew */
    rows[1].is_current = false;
    upstream_table_take_some(&t, &tokens[1], 1, &later, 1);
    assert_ptr_equal(upstream_table_of_feed(&t, 8), map_get(&t.by_token, STR("d")));
    assert_non_null(map_get(&t.by_token, STR("a")));
    assert_non_null(map_get(&t.by_token, STR("c")));
    upstream_table_take_some(&t, tokens, 3, &rows[1], 1); /* and "d" is gone */
    assert_int_equal(UPSTREAM_ENDING,
                     ((struct upstream_sub *)map_get(&t.by_token, STR("b")))->row.state);
    assert_null(map_get(&t.by_token, STR("d")));
    assert_null(upstream_table_of_feed(&t, 8));
    assert_int_equal(1000, time_heap_first(&t.heap)->at); /* ours is planned as before */
    upstream_table_take_some(&t, tokens, 3, NULL, 0);
    assert_int_equal(2, map_count(&t.by_token));
    upstream_table_release(&t);
}

/* Nobody is asked about what cannot be a token of ours. */
static void test_table__tokens(void **state UNUSED)
{
    assert_true(upstream_token_is_possible(STR("0123456789abcdef0123456789abcdef01234567")));
    assert_false(upstream_token_is_possible(STR("0123456789abcdef0123456789abcdef0123456")));
    assert_false(upstream_token_is_possible(STR("0123456789abcdef0123456789abcdef0123456g")));
    assert_false(upstream_token_is_possible(STR("0123456789abcdef0123456789abcdef0123456A")));
    assert_false(
        upstream_token_is_possible(str_of("0123456789abcdef0123456789abcdef0123456\0", 40)));
    assert_false(upstream_token_is_possible(STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table__what_was_put_aside_is_planned_again),
        cmocka_unit_test(test_table__what_was_lost_is_forgotten),
        cmocka_unit_test(test_table__one_row_is_read),
        cmocka_unit_test(test_table__tokens),
        cmocka_unit_test(test_table__a_denial_or_an_end_that_another_node_was_told),
        cmocka_unit_test(test_table__what_was_read_is_older_or_newer),
        cmocka_unit_test(test_table__a_merge_into_the_feed_of_another_node),
        cmocka_unit_test(test_table__a_hub_that_another_node_takes_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
