/* notifier/backoff.h - when a failed call is tried again, and when it is given up. Pure.
 *
 * Pauses grow 1, 2, 4, 10, 30, 60 times the first one, then double up to the longest. With a first
 * pause of 2 s that is 2, 4, 8, 20, 60, 120, 240 s ...: eight tries in the first ten minutes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BACKOFF_FIRST_MAX_MS 5000 /* the first retry comes within this time, whatever is asked */

struct backoff {
    int64_t first_ms; /* first pause */
    int64_t max_ms;   /* no pause is longer, not even the first */
};

/* Milliseconds to wait after the `n_failures`-th failure in a row (>= 1), without jitter. */
int64_t backoff_nominal_ms(const struct backoff *b, int n_failures);

/* The same with up to 10 % more or less, as `random` decides; never over max_ms, nor for the first
 * pause over BACKOFF_FIRST_MAX_MS; at least 1. */
int64_t backoff_pause_ms(const struct backoff *b, int n_failures, uint32_t random);

/* Is it time to suspend? After `n_failures` in a row that began `failing_s` seconds ago, when at
 * most `limit_s` are granted. The time alone does not do: the pauses since must add up to it, or to
 * an hour, so that an endpoint is not given up after our own days of silence, or because the clock
 * was set. */
bool backoff_is_over(const struct backoff *b, int n_failures, int64_t failing_s, int64_t limit_s);
