/* How many turns may begin at one moment (notifier/rush.h). */
#include "notifier/rush.h"
#include "tests/unit/cmocka_all.h"

static void begin(struct rush *r, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)rush_begin(r);
}

static void a_turn_that_ends_makes_room(void **state)
{
    struct rush r = {0};
    uint64_t moment;

    (void)state;
    assert_int_equal(RUSH_MAX, rush_room(&r, 1000));
    moment = rush_begin(&r);
    begin(&r, RUSH_MAX - 1);
    assert_int_equal(0, rush_room(&r, 1000));
    assert_int_equal(0, rush_room(&r, 1000 + RUSH_MS - 1));
    rush_end(&r, moment);
    assert_int_equal(1, rush_room(&r, 1000 + RUSH_MS - 1));
}

/* DELIV-07: endpoints that do not answer hold up the others for a moment only. */
static void so_does_time(void **state)
{
    struct rush r = {0};
    uint64_t old;

    (void)state;
    (void)rush_room(&r, 1000);
    old = rush_begin(&r);
    begin(&r, RUSH_MAX - 1);
    assert_int_equal(RUSH_MAX, rush_room(&r, 1000 + RUSH_MS));
    begin(&r, 2);
    rush_end(&r, old); /* it has been forgotten already */
    assert_int_equal(RUSH_MAX - 2, rush_room(&r, 1000 + RUSH_MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_that_ends_makes_room),
        cmocka_unit_test(so_does_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
