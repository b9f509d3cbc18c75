/* tests/unit/notifier/test_attempt.c - the table of states, each cell. */
#include "base/compiler.h"
#include "notifier/attempt.h"
#include "tests/unit/cmocka_all.h"

#define S(name) ATTEMPT_##name

/* Rows in the order of the states, columns in that of the events: NEWS TURN NOTHING FOUND SETTLED
 * POSTPONED DELIVERED DRAINED FAILED GAVE_UP PAUSE_OVER RESUMED. */
static const enum attempt_state expected[ATTEMPT_STATES_][ATTEMPT_EVENTS_] = {
    {S(DUE), S(IDLE), S(IDLE), S(IDLE), S(ACKING), S(WAITING), S(IDLE), S(IDLE), S(IDLE),
     S(SUSPENDED), S(IDLE), S(DUE)},
    {S(DUE), S(READING), S(DUE), S(DUE), S(DUE), S(DUE), S(DUE), S(DUE), S(DUE), S(SUSPENDED),
     S(DUE), S(DUE)},
    {S(REREADING), S(READING), S(IDLE), S(CALLING), S(ACKING), S(WAITING), S(READING), S(READING),
     S(READING), S(SUSPENDED), S(READING), S(REREADING)},
    {S(REREADING), S(REREADING), S(DUE), S(CALLING), S(ACKING), S(WAITING), S(REREADING),
     S(REREADING), S(REREADING), S(DUE), S(REREADING), S(REREADING)},
    {S(CALLING), S(CALLING), S(CALLING), S(CALLING), S(ACKING), S(WAITING), S(CALLING), S(CALLING),
     S(CALLING), S(CALLING), S(CALLING), S(CALLING)},
    {S(ACKING), S(ACKING), S(ACKING), S(ACKING), S(ACKING), S(WAITING), S(DUE), S(IDLE), S(WAITING),
     S(SUSPENDED), S(ACKING), S(ACKING)},
    {S(WAITING), S(WAITING), S(WAITING), S(WAITING), S(WAITING), S(WAITING), S(WAITING), S(WAITING),
     S(WAITING), S(SUSPENDED), S(DUE), S(DUE)},
    {S(SUSPENDED), S(SUSPENDED), S(SUSPENDED), S(SUSPENDED), S(SUSPENDED), S(SUSPENDED),
     S(SUSPENDED), S(SUSPENDED), S(SUSPENDED), S(SUSPENDED), S(SUSPENDED), S(DUE)},
};

static void test_attempt__every_cell(void **state UNUSED)
{
    for (int s = 0; s < ATTEMPT_STATES_; s++)
        for (int e = 0; e < ATTEMPT_EVENTS_; e++)
            assert_int_equal(attempt_next((enum attempt_state)s, (enum attempt_event)e),
                             expected[s][e]);
}

/* A call is only ever made after a turn and a read: no other way leads to CALLING. */
static void test_attempt__only_a_read_leads_to_a_call(void **state UNUSED)
{
    for (int s = 0; s < ATTEMPT_STATES_; s++)
        for (int e = 0; e < ATTEMPT_EVENTS_; e++)
            if (s != S(CALLING) &&
                attempt_next((enum attempt_state)s, (enum attempt_event)e) == S(CALLING)) {
                assert_true(s == S(READING) || s == S(REREADING));
                assert_int_equal(e, ATTEMPT_FOUND);
            }
}

/* PUSH-09: a suspended subscription leaves that state only when somebody resumes it. */
static void test_attempt__suspended_until_resumed(void **state UNUSED)
{
    for (int e = 0; e < ATTEMPT_EVENTS_; e++)
        assert_int_equal(attempt_next(S(SUSPENDED), (enum attempt_event)e),
                         e == ATTEMPT_RESUMED ? S(DUE) : S(SUSPENDED));
}

/* After news that came during a read there is another read, however this one ends. */
static void test_attempt__news_during_a_read_are_not_lost(void **state UNUSED)
{
    enum attempt_state s = attempt_next(S(READING), ATTEMPT_NEWS);

    assert_int_equal(attempt_next(s, ATTEMPT_NOTHING), S(DUE));
    s = attempt_next(s, ATTEMPT_FOUND);
    s = attempt_next(s, ATTEMPT_SETTLED);
    assert_int_equal(attempt_next(s, ATTEMPT_DELIVERED), S(DUE));
}

/* The whole life of a delivery: found, called, written; failed, waited, called again. */
static void test_attempt__a_delivery_that_fails_once(void **state UNUSED)
{
    static const struct {
        enum attempt_event event;
        enum attempt_state to;
    } steps[] = {{S(NEWS), S(DUE)},      {S(TURN), S(READING)},   {S(FOUND), S(CALLING)},
                 {S(NEWS), S(CALLING)},  {S(SETTLED), S(ACKING)}, {S(FAILED), S(WAITING)},
                 {S(NEWS), S(WAITING)},  {S(PAUSE_OVER), S(DUE)}, {S(TURN), S(READING)},
                 {S(FOUND), S(CALLING)}, {S(SETTLED), S(ACKING)}, {S(DELIVERED), S(DUE)},
                 {S(TURN), S(READING)},  {S(NOTHING), S(IDLE)}};
    enum attempt_state at = S(IDLE);

    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        at = attempt_next(at, steps[i].event);
        assert_int_equal(at, steps[i].to);
    }
}

static void test_attempt__events_have_distinct_names(void **state UNUSED)
{
    for (int e = 0; e < ATTEMPT_EVENTS_; e++)
        for (int f = 0; f < e; f++)
            assert_string_not_equal(attempt_event_name((enum attempt_event)e),
                                    attempt_event_name((enum attempt_event)f));
}

static void test_attempt__states_have_distinct_names(void **state UNUSED)
{
    for (int s = 0; s < ATTEMPT_STATES_; s++)
        for (int t = 0; t < s; t++)
            assert_string_not_equal(attempt_state_name((enum attempt_state)s),
                                    attempt_state_name((enum attempt_state)t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attempt__every_cell),
        cmocka_unit_test(test_attempt__only_a_read_leads_to_a_call),
        cmocka_unit_test(test_attempt__suspended_until_resumed),
        cmocka_unit_test(test_attempt__news_during_a_read_are_not_lost),
        cmocka_unit_test(test_attempt__a_delivery_that_fails_once),
        cmocka_unit_test(test_attempt__events_have_distinct_names),
        cmocka_unit_test(test_attempt__states_have_distinct_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
