/* notifier/lag.h - measures the largest lag of all subscriptions, for the metrics.
 *
 * Every LAG_EVERY_MS it asks for the lag of those subscriptions that are not idle, a few at a time.
 * So idle ones cost nothing but a look at their state, and other reads do not have to wait.
 * Everything belongs to the notify loop's thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LAG_EVERY_MS 10000 /* between the end of a measurement and the next one */

struct loop_timer;
struct lag_read;
struct store;
struct turns;

struct lag_watch {
    struct turns *turns;
    struct store *store;
    struct loop_timer *timer; /* NULL: a measurement is under way, or it has stopped */
    struct lag_read *read;    /* NULL: nothing is read */
};

/* Both are borrowed. */
void lag_init(struct lag_watch *l, struct turns *turns, struct store *store);

/* Begin to measure; end it. A read that comes back later is only freed. */
void lag_start(struct lag_watch *l);
void lag_stop(struct lag_watch *l);
