/* notifier/attempt.h - the states of one subscription, as a table: state x event -> state.
 *
 * Pure; any thread. What follows from a change of state (queues, timers, calls) is done by turns.c.
 *
 *   IDLE --news--> DUE --turn--> READING --found--> CALLING --settled--> ACKING --drained--> IDLE
 *                   ^              |                                       |
 *                   |              +--nothing--> IDLE                      +--delivered--> DUE
 *                   |                                                      +--failed--> WAITING
 *                   +--pause over-- WAITING                                +--gave up--> SUSPENDED
 */
#pragma once

enum attempt_state {
    ATTEMPT_IDLE,      /* everything known was delivered */
    ATTEMPT_DUE,       /* there may be something: it waits for its endpoint's turn */
    ATTEMPT_READING,   /* a reader prepares the next call */
    ATTEMPT_REREADING, /* the same, and news came meanwhile that it may have missed */
    ATTEMPT_CALLING,   /* the call is in flight */
    ATTEMPT_ACKING,    /* the outcome is being written */
    ATTEMPT_WAITING,   /* pause before the next try */
    ATTEMPT_SUSPENDED, /* given up until somebody resumes it; the position is kept */
    ATTEMPT_STATES_
};

enum attempt_event {
    ATTEMPT_NEWS,       /* one of its feeds, or the subscription itself, has changed */
    ATTEMPT_TURN,       /* the endpoint is free, and so is a call */
    ATTEMPT_NOTHING,    /* read: nothing to push */
    ATTEMPT_FOUND,      /* read: a call is ready */
    ATTEMPT_SETTLED,    /* there is an outcome to be written, of a call or of a read alone */
    ATTEMPT_POSTPONED,  /* no outcome: refused for lack of room, or cancelled */
    ATTEMPT_DELIVERED,  /* written: the position moved */
    ATTEMPT_DRAINED,    /* the same, and it is known that nothing is left */
    ATTEMPT_FAILED,     /* written: to be tried again */
    ATTEMPT_GAVE_UP,    /* written or found: the subscription is suspended */
    ATTEMPT_PAUSE_OVER, /* the pause is over */
    ATTEMPT_RESUMED,    /* it is to be tried now */
    ATTEMPT_EVENTS_
};

/* The state after `event`. An event that cannot happen in a state leaves it as it is: a late
 * message must not end the daemon. */
enum attempt_state attempt_next(enum attempt_state state, enum attempt_event event);

/* For logs: "idle", "calling" ...; "news", "turn" ... */
const char *attempt_state_name(enum attempt_state state);
const char *attempt_event_name(enum attempt_event event);
