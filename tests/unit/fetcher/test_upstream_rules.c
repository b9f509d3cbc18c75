/* tests/unit/fetcher/test_upstream_rules.c - states and times of our subscriptions at upstream
 * hubs. */
#include "tests/unit/cmocka_all.h"

#include "fetcher/upstream_cloud.h"
#include "fetcher/upstream_rules.h"

/* All states and events. I, A, V (active), F, E; a dot: it stays. */
static void test_upstream__every_state_and_event(void **state UNUSED)
{
    static const char letters[] = "IAVFE";
    static const struct {
        enum upstream_event event;
        bool has_lease;
        const char *after; /* of IDLE, ASKING, ACTIVE, FAILED, ENDING */
    } rows[] = {
        {UPSTREAM_WANTED, false, "A...A"},  {UPSTREAM_UNWANTED, true, "EEEE."},
        {UPSTREAM_VERIFIED, true, ".VVV."}, {UPSTREAM_REFUSED, true, "FF.F."},
        {UPSTREAM_REFUSED, false, "FFFF."}, {UPSTREAM_EXPIRED, false, "..F.."},
        {UPSTREAM_OVER, false, "IIIII"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (int s = UPSTREAM_IDLE; s <= UPSTREAM_ENDING; s++) {
            char want = rows[i].after[s] == '.' ? letters[s] : rows[i].after[s];
            enum upstream_state next =
                upstream_next((enum upstream_state)s, rows[i].event, rows[i].has_lease);

            if (letters[next] != want)
                fail_msg("row %zu, state %c: %c", i, letters[s], letters[next]);
        }
}

/* What nobody asked for is neither verified nor delivered. */
static void test_upstream__asked(void **state UNUSED)
{
    assert_false(upstream_is_asked(UPSTREAM_IDLE));
    assert_true(upstream_is_asked(UPSTREAM_ASKING));
    assert_true(upstream_is_asked(UPSTREAM_ACTIVE));
    assert_true(upstream_is_asked(UPSTREAM_FAILED));
    assert_false(upstream_is_asked(UPSTREAM_ENDING));
}

static void test_upstream__retries_double_up_to_a_day(void **state UNUSED)
{
    assert_int_equal(upstream_retry_s(1), 30);
    assert_int_equal(upstream_retry_s(2), 60);
    assert_int_equal(upstream_retry_s(5), 480);
    assert_int_equal(upstream_retry_s(13), 86400);
    assert_int_equal(upstream_retry_s(2000000000), 86400);
}

/* SUBR-306: renewed before the end, with time to try again. */
static void test_upstream__leases(void **state UNUSED)
{
    static const struct {
        const char *text;
        int64_t lease_s, renew_s;
    } rows[] = {
        {"864000", 864000, 864000 - 86400},
        {" 3600 ", 3600, 2400},
        {"3", 3, 2},
        {"2", 2, 1},
        {"1", 1, 1},
        {"0", 864000, 864000 - 86400},
        {"-5", 864000, 864000 - 86400},
        {"soon", 864000, 864000 - 86400},
        {NULL, 864000, 864000 - 86400},
        {"99999999999", 31536000, 31536000 - 86400},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(upstream_lease_s(str_from(rows[i].text)), rows[i].lease_s);
        assert_int_equal(upstream_renew_s(rows[i].lease_s), rows[i].renew_s);
    }
}

static void test_upstream__hubs_in_turn(void **state UNUSED)
{
    static const struct upstream_hub hubs[] = {{{"a", 1}, HUB_WEBSUB, {NULL, 0}},
                                               {{"b", 1}, HUB_WEBSUB, {NULL, 0}},
                                               {{"b", 1}, CLOUD_HTTP_POST, {NULL, 0}},
                                               {{"b", 1}, CLOUD_XML_RPC, {"p", 1}}},
                                     gone = {{"b", 1}, CLOUD_XML_RPC, {"q", 1}};

    assert_ptr_equal(upstream_choose_hub(hubs, 4, NULL), &hubs[0]);
    for (size_t i = 0; i < 4; i++)
        assert_ptr_equal(upstream_choose_hub(hubs, 4, &hubs[i]), &hubs[(i + 1) % 4]);
    assert_ptr_equal(upstream_choose_hub(hubs, 4, &gone), &hubs[0]);
    assert_ptr_equal(upstream_choose_hub(hubs, 1, &hubs[0]), &hubs[0]);
}

/* CLOUD-07: a registration is renewed within 25 hours, with time to try again. */
static void test_upstream__registrations_are_renewed(void **state UNUSED)
{
    assert_int_equal(UPSTREAM_CLOUD_LEASE_S, 25 * 3600);
    assert_int_equal(upstream_renew_s(UPSTREAM_CLOUD_LEASE_S), 60000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_upstream__every_state_and_event),
        cmocka_unit_test(test_upstream__asked),
        cmocka_unit_test(test_upstream__retries_double_up_to_a_day),
        cmocka_unit_test(test_upstream__leases),
        cmocka_unit_test(test_upstream__hubs_in_turn),
        cmocka_unit_test(test_upstream__registrations_are_renewed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
