/* tests/unit/notifier/test_sink_websub.c - what the answers of callbacks mean. */
#include "base/digest.h"
#include "model/hub.h"
#include "notifier/sink.h"
#include "tests/unit/cmocka_all.h"

static struct arena arena = ARENA_INIT;

static enum sink_verdict judged(enum rc rc, int status, struct str *why)
{
    struct carrier_answer answer = {.rc = rc, .status = status};

    *why = STR_NULL;
    if (rc != RC_OK)
        answer.err = "what the client said";
    return sink_websub.judge(&arena, &answer, why);
}

/* Any status 2xx, also when the answer breaks off, never ends or is too long. */
static void test_sink_websub__delivered(void **state UNUSED)
{
    enum rc rcs[] = {RC_OK, RC_PEER, RC_TIMEOUT, RC_LIMIT};
    struct str why;

    for (size_t i = 0; i < ARRAY_LEN(rcs); i++)
        for (int status = 200; status < 300; status++) {
            assert_int_equal(judged(rcs[i], status, &why), SINK_DELIVERED);
            assert_int_equal(why.len, 0);
        }
}

static void test_sink_websub__failed(void **state UNUSED)
{
    int statuses[] = {199, 300, 302, 400, 404, 429, 500, 503};
    struct str why;

    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        assert_int_equal(judged(RC_OK, statuses[i], &why), SINK_FAILED);
        assert_true(str_find(why, str_printf(&arena, "%d", statuses[i])) >= 0);
    }
    assert_int_equal(judged(RC_TIMEOUT, 0, &why), SINK_FAILED);
    assert_true(str_eqz(why, "what the client said"));
}

/* HUB-18: 410 ends the subscription, unless the answer broke off. */
static void test_sink_websub__gone(void **state UNUSED)
{
    struct str why;

    assert_int_equal(judged(RC_OK, 410, &why), SINK_GONE);
    assert_true(why.len > 0);
    assert_int_equal(judged(RC_PEER, 410, &why), SINK_FAILED);
}

/* The name in the database is the one that storage uses for subscriptions of our hub. */
static void test_sink_websub__found_by_name(void **state UNUSED)
{
    assert_ptr_equal(sink_find(STR(HUB_SINK)), &sink_websub);
    assert_true(sink_websub.is_leased);
}

static int teardown(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sink_websub__delivered),
        cmocka_unit_test(test_sink_websub__failed),
        cmocka_unit_test(test_sink_websub__gone),
        cmocka_unit_test(test_sink_websub__found_by_name),
    };

    digest_init();
    return cmocka_run_group_tests(tests, NULL, teardown);
}
