/* notifier/attempt.h - the states of a subscription's delivery, as a pure table: state x event ->
 * state. Effects (queues, timers, calls) are the notifier's. Any thread.
 */
#pragma once

enum attempt_state {
    ATTEMPT_IDLE,      /* everything known was delivered */
    ATTEMPT_DUE,       /* there may be something; waits for its endpoint's turn */
    ATTEMPT_READING,   /* a reader prepares the next call */
    ATTEMPT_REREADING, /* the same, and news came meanwhile that it may have missed */
    ATTEMPT_CALLING,   /* the call is in flight */
    ATTEMPT_ACKING,    /* what it came to is being written */
    ATTEMPT_WAITING,   /* pause before the next try */
    ATTEMPT_SUSPENDED, /* given up until somebody resumes it; the position is kept */
    ATTEMPT_STATES_
};

enum attempt_event {
    ATTEMPT_NEWS,       /* a subscribed feed or the subscription itself changed */
    ATTEMPT_TURN,       /* the endpoint is free, and so is a call */
    ATTEMPT_NOTHING,    /* read: nothing to push */
    ATTEMPT_FOUND,      /* read: a call is ready */
    ATTEMPT_SETTLED,    /* an outcome has to be written, of a call or of a read alone */
    ATTEMPT_POSTPONED,  /* no outcome: refused for lack of room, or cancelled */
    ATTEMPT_DELIVERED,  /* written: the position moved */
    ATTEMPT_DRAINED,    /* the same, and it is known that nothing is left */
    ATTEMPT_FAILED,     /* written: to be tried again */
    ATTEMPT_GAVE_UP,    /* written or found: the subscription is suspended */
    ATTEMPT_PAUSE_OVER, /* the pause is over */
    ATTEMPT_RESUMED,    /* somebody wants it tried now */
    ATTEMPT_EVENTS_
};

/* The state after `event`. What cannot happen in a state leaves it as it is: a late message must
 * not end the daemon. */
enum attempt_state attempt_next(enum attempt_state state, enum attempt_event event);

/* For logs: "idle", "calling", ... */
const char *attempt_state_name(enum attempt_state state);
