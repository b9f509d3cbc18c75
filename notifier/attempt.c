/* notifier/attempt.c - the table of attempt.h. A row is a state, a column is an event; 0: the state
 * stays the same. */
#include "notifier/attempt.h"

#include "base/assert.h"

#define TO(state) (ATTEMPT_##state + 1)

static const unsigned char next_states[ATTEMPT_STATES_][ATTEMPT_EVENTS_] = {
    [ATTEMPT_IDLE] =
        {
            [ATTEMPT_NEWS] = TO(DUE),
            [ATTEMPT_RESUMED] = TO(DUE),
            /* it was made again for another endpoint, and the outcome is of the one before */
            [ATTEMPT_SETTLED] = TO(ACKING),
            [ATTEMPT_POSTPONED] = TO(WAITING),
            [ATTEMPT_GAVE_UP] = TO(SUSPENDED),
        },
    [ATTEMPT_DUE] =
        {
            [ATTEMPT_TURN] = TO(READING),
            [ATTEMPT_GAVE_UP] = TO(SUSPENDED),
        },
    [ATTEMPT_READING] =
        {
            [ATTEMPT_NEWS] = TO(REREADING),
            [ATTEMPT_RESUMED] = TO(REREADING),
            [ATTEMPT_NOTHING] = TO(IDLE),
            [ATTEMPT_FOUND] = TO(CALLING),
            [ATTEMPT_SETTLED] = TO(ACKING),
            [ATTEMPT_POSTPONED] = TO(WAITING),
            [ATTEMPT_GAVE_UP] = TO(SUSPENDED),
        },
    /* the read may be older than the news, so after "nothing" and "suspended" it is read again */
    [ATTEMPT_REREADING] =
        {
            [ATTEMPT_NOTHING] = TO(DUE),
            [ATTEMPT_FOUND] = TO(CALLING),
            [ATTEMPT_SETTLED] = TO(ACKING),
            [ATTEMPT_POSTPONED] = TO(WAITING),
            [ATTEMPT_GAVE_UP] = TO(DUE),
        },
    [ATTEMPT_CALLING] =
        {
            [ATTEMPT_SETTLED] = TO(ACKING),
            [ATTEMPT_POSTPONED] = TO(WAITING),
        },
    [ATTEMPT_ACKING] =
        {
            [ATTEMPT_DELIVERED] = TO(DUE),
            [ATTEMPT_DRAINED] = TO(IDLE),
            [ATTEMPT_FAILED] = TO(WAITING),
            [ATTEMPT_GAVE_UP] = TO(SUSPENDED),
            [ATTEMPT_POSTPONED] = TO(WAITING),
        },
    [ATTEMPT_WAITING] =
        {
            [ATTEMPT_PAUSE_OVER] = TO(DUE),
            [ATTEMPT_RESUMED] = TO(DUE),
            [ATTEMPT_GAVE_UP] = TO(SUSPENDED),
        },
    [ATTEMPT_SUSPENDED] =
        {
            [ATTEMPT_RESUMED] = TO(DUE),
        },
};

enum attempt_state attempt_next(enum attempt_state state, enum attempt_event event)
{
    unsigned to;

    ASSERT((unsigned)state < ATTEMPT_STATES_ && (unsigned)event < ATTEMPT_EVENTS_);
    to = next_states[state][event];
    return to == 0 ? state : (enum attempt_state)(to - 1);
}

const char *attempt_state_name(enum attempt_state state)
{
    static const char *const names[ATTEMPT_STATES_] = {"idle",    "due",    "reading", "rereading",
                                                       "calling", "acking", "waiting", "suspended"};

    ASSERT((unsigned)state < ATTEMPT_STATES_);
    return names[state];
}

const char *attempt_event_name(enum attempt_event event)
{
    static const char *const names[ATTEMPT_EVENTS_] = {
        "news",      "turn",    "nothing", "found",   "settled",    "postponed",
        "delivered", "drained", "failed",  "gave_up", "pause_over", "resumed"};

    ASSERT((unsigned)event < ATTEMPT_EVENTS_);
    return names[event];
}
