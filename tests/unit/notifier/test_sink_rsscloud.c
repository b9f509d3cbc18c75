/* tests/unit/notifier/test_sink_rsscloud.c - what the answers of rssCloud handlers mean. */
#include "model/hub.h"
#include "notifier/sink.h"
#include "tests/unit/cmocka_all.h"

static struct arena a;

static int teardown(void **state UNUSED)
{
    arena_release(&a);
    return 0;
}

static enum sink_verdict judged(enum rc rc, int status)
{
    struct carrier_answer answer = {
        .rc = rc, .status = status, .err = rc == RC_OK ? NULL : "what the client said"};
    const struct sink *sink = sink_find(STR(CLOUD_SINK));
    struct str why = STR_NULL;
    enum sink_verdict verdict = sink->judge(&a, &answer, &why);

    assert_int_equal(verdict == SINK_DELIVERED, why.len == 0);
    if (verdict != SINK_DELIVERED && rc != RC_OK)
        assert_true(str_ends(why, STR("what the client said")));
    return verdict;
}

/* CLOUD-06: five failures end a registration, so a handler that has heard has not failed, also when
 * it answers with a page that is too long, breaks off or never ends. */
static void test_sink_rsscloud__delivered(void **state UNUSED)
{
    static const enum rc rcs[] = {RC_OK, RC_LIMIT, RC_PEER, RC_TIMEOUT};

    for (size_t i = 0; i < ARRAY_LEN(rcs); i++) {
        assert_int_equal(SINK_DELIVERED, judged(rcs[i], 200));
        assert_int_equal(SINK_DELIVERED, judged(rcs[i], 204));
    }
}

/* CLOUD-06 */
static void test_sink_rsscloud__failed(void **state UNUSED)
{
    assert_int_equal(SINK_FAILED, judged(RC_TIMEOUT, 0));
    assert_int_equal(SINK_FAILED, judged(RC_OK, 302));
    assert_int_equal(SINK_FAILED, judged(RC_OK, 500));
    assert_int_equal(SINK_FAILED, judged(RC_PEER, 410));
    assert_int_equal(SINK_GONE, judged(RC_OK, 410));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_sink_rsscloud__delivered, teardown),
        cmocka_unit_test_teardown(test_sink_rsscloud__failed, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
