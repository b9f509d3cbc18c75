/* The clock of calls under way (notifier/watch.h). */
#include "notifier/lanes.h"
#include "notifier/watch.h"
#include "tests/unit/cmocka_all.h"

static void goes_on_with_each_look(void **state)
{
    struct watch w = {0};

    (void)state;
    watch_start(&w, 5000);
    assert_int_equal(5000, watch_now(&w, 5000));
    assert_int_equal(5025, watch_look(&w, 5025));
    assert_int_equal(5120, watch_now(&w, 5120));
    assert_int_equal(5125, watch_look(&w, 5125)); /* late, but no stall */
}

static void stands_while_nobody_looks(void **state)
{
    struct watch w = {0};

    (void)state;
    watch_start(&w, 5000);
    assert_int_equal(5025, watch_now(&w, 8000)); /* an answer is read before the look */
    assert_int_equal(5025, watch_look(&w, 8000));
    assert_int_equal(5050, watch_look(&w, 8025));
    watch_start(&w, 20000); /* after a time without calls */
    assert_int_equal(20000 - (8000 - 5025), watch_now(&w, 20000));
}

/* DELIV-07: a stall makes nobody late, however many wait; a call that really lasts is cut. */
static void a_stall_cuts_no_call(void **state)
{
    static const char *const urls[] = {"http://a.example/", "http://b.example/",
                                       "http://c.example/", "http://d.example/"};
    struct lane lanes[4], *cut = NULL;
    struct lanes l;
    struct watch w = {0};
    int64_t mono_ms = 1000;

    (void)state;
    lanes_init(&l, 4); /* three for fresh endpoints, one of them slow */
    for (int i = 0; i < 4; i++) {
        lanes_join(&l, &lanes[i], str_from(urls[i]), false);
        lanes_wait(&l, &lanes[i], true);
    }
    watch_start(&w, mono_ms);
    for (int i = 0; i < 3; i++)
        lanes_called(lanes_next(&l), watch_now(&w, mono_ms));
    assert_null(lanes_next(&l));
    mono_ms += 60000;
    assert_null(lanes_look(&l, watch_look(&w, mono_ms)));
    for (int i = 0; i < LANES_LATE_MS / WATCH_LOOK_MS && cut == NULL; i++) {
        mono_ms += WATCH_LOOK_MS;
        cut = lanes_look(&l, watch_look(&w, mono_ms));
    }
    assert_non_null(cut);
    for (int i = 0; i < 3; i++)
        lanes_done(&l, &lanes[i], LANES_CUT, watch_now(&w, mono_ms));
    lanes_wait(&l, &lanes[3], false);
    lanes_release(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_on_with_each_look),
        cmocka_unit_test(stands_while_nobody_looks),
        cmocka_unit_test(a_stall_cuts_no_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
