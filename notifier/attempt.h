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
    ATTEMPT_DUE,       /* there may be something to deliver; it waits for its endpoint's turn */
    ATTEMPT_READING,   /* a reader prepares the next call */
    ATTEMPT_REREADING, /* the same, but news came in the meantime, which the read may have missed */
    ATTEMPT_CALLING,   /* the call is in flight */
    ATTEMPT_ACKING,    /* the outcome is being written */
    ATTEMPT_WAITING,   /* pause before the next try */
    ATTEMPT_SUSPENDED, /* given up, until somebody resumes it; it keeps its position */
    ATTEMPT_STATES_
};

enum attempt_event {
    ATTEMPT_NEWS,       /* one of its feeds, or the subscription itself, has changed */
    ATTEMPT_TURN,       /* the endpoint is free, and one more call is allowed */
    ATTEMPT_NOTHING,    /* the read found nothing to deliver */
    ATTEMPT_FOUND,      /* the read found something, and the call is ready */
    ATTEMPT_SETTLED,    /* there is an outcome to write, of a call or of a read without a call */
    ATTEMPT_POSTPONED,  /* there is no outcome: there was no room, or it was cancelled; or the
                           daemon was started again in the pause before the next try */
    ATTEMPT_DELIVERED,  /* the outcome is written; the position moved */
    ATTEMPT_DRAINED,    /* the same, and nothing is left to deliver */
    ATTEMPT_FAILED,     /* the outcome is written; it must be tried again */
    ATTEMPT_GAVE_UP,    /* the outcome is written, or was found: the subscription is suspended */
    ATTEMPT_PAUSE_OVER, /* the pause is over */
    ATTEMPT_RESUMED,    /* somebody resumed it: try now */
    ATTEMPT_EVENTS_
};

/* Returns the state after `event`. An event that cannot happen in a state does not change it,
 * because a late message must not end the daemon. */
enum attempt_state attempt_next(enum attempt_state state, enum attempt_event event);

/* Names for logs: states are "idle", "calling" ...; events are "news", "turn" ... */
const char *attempt_state_name(enum attempt_state state);
const char *attempt_event_name(enum attempt_event event);
