/* notifier/backoff.h - when a failed call is made again, and when it is given up. Pure.
 *
 * The pauses are 1, 2, 4, 10, 30 and 60 times the first one, and double from there up to the
 * longest. With a first pause of 2 s that is 2, 4, 8, 20, 60, 120, 240 s ...: eight tries in the
 * first ten minutes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BACKOFF_FIRST_MAX_MS 5000 /* the first retry comes within this time, whatever is set */

struct backoff {
    int64_t first_ms; /* first pause */
    int64_t max_ms;   /* no pause is longer, not even the first */
};

/* Milliseconds to wait after the `n_failures`-th failure in a row (>= 1), without jitter. */
int64_t backoff_nominal_ms(const struct backoff *b, int n_failures);

/* The same with up to 10 % more or less, as `random` decides; never over max_ms, nor for the first
 * pause over BACKOFF_FIRST_MAX_MS; at least 1. */
int64_t backoff_pause_ms(const struct backoff *b, int n_failures, uint32_t random);

/* Is it time to suspend, after `n_failures` in a row of which the first was `failing_s` seconds
 * ago? At most `limit_s` are granted. That time alone is not enough: the pauses must add up to it,
 * or to an hour. So no endpoint is given up because this daemon was off for days, or its clock was
 * set. */
bool backoff_is_over(const struct backoff *b, int n_failures, int64_t failing_s, int64_t limit_s);
