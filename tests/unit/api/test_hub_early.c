/* tests/unit/api/test_hub_early.c - intents that were settled before their request knew of them. */
#include "base/compiler.h"
#include "tests/unit/cmocka_all.h"

#include "api/hub/hub_early.h"

/* NODE-07: a request that comes too late for a notice finds what that said, once. */
static void test_hub_early__is_found_once(void **state UNUSED)
{
    static struct hub_early e;
    struct hub_settled in = {.intent_id = 7, .confirmed = true, .status = 204}, out = {0};

    assert_false(hub_early_take(&e, 7, &out));
    hub_early_note(&e, &in);
    assert_false(hub_early_take(&e, 8, &out));
    assert_true(hub_early_take(&e, 7, &out));
    assert_true(out.confirmed && out.status == 204 && out.intent_id == 7);
    assert_false(hub_early_take(&e, 7, &out));
}

static void test_hub_early__has_a_bound(void **state UNUSED)
{
    static struct hub_early e;
    struct hub_settled out;

    for (int64_t id = 1; id <= HUB_EARLY_MAX + 1; id++)
        hub_early_note(&e, &(struct hub_settled){.intent_id = id});
    assert_false(hub_early_take(&e, 1, &out));
    assert_true(hub_early_take(&e, 2, &out));
    assert_true(hub_early_take(&e, HUB_EARLY_MAX + 1, &out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hub_early__is_found_once),
        cmocka_unit_test(test_hub_early__has_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
