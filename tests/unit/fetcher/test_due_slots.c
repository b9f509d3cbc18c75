/* tests/unit/fetcher/test_due_slots.c - one read of what is due at a time. */
#include "tests/unit/cmocka_all.h"

#include "fetcher/due_slots.h"

static struct slot_set only(unsigned slot)
{
    struct slot_set s = {{0}};

    slot_set_add(&s, slot);
    return s;
}

/* NODE-04: slots come in parts; what comes during a read is read once, after it. */
static void test_due_slots__one_read_at_a_time(void **state UNUSED)
{
    struct due_slots d = {.is_reading = false};
    struct slot_set one = only(1), two = only(2), three = only(3);

    assert_false(due_slots_begin(&d));
    due_slots_add(&d, &one);
    assert_true(due_slots_begin(&d));
    due_slots_add(&d, &two);
    assert_false(due_slots_begin(&d));
    due_slots_add(&d, &three);
    assert_false(due_slots_begin(&d));
    assert_int_equal(1, slot_set_count(&d.reading));
    due_slots_end(&d, true);
    assert_true(due_slots_begin(&d));
    assert_int_equal(2, slot_set_count(&d.reading));
    due_slots_end(&d, true);
    assert_false(due_slots_begin(&d));
}

/* NODE-04: a read that has failed is done again, with what has come meanwhile. */
static void test_due_slots__a_failure_is_read_again(void **state UNUSED)
{
    struct due_slots d = {.is_reading = false};
    struct slot_set one = only(1), two = only(2), none = {{0}};

    due_slots_add(&d, &one);
    assert_true(due_slots_begin(&d));
    due_slots_add(&d, &two);
    due_slots_end(&d, false);
    assert_true(due_slots_begin(&d));
    assert_true(slot_set_has(&d.reading, 1) && slot_set_has(&d.reading, 2));
    due_slots_end(&d, true);
    due_slots_add(&d, &none); /* some were lost */
    assert_true(due_slots_begin(&d));
    assert_int_equal(0, slot_set_count(&d.reading));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_due_slots__one_read_at_a_time),
        cmocka_unit_test(test_due_slots__a_failure_is_read_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
