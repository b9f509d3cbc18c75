/* notifier/backoff.h - when a failed call is made again, and when it is given up. Pure, any thread.
 *
 * The pauses double from the first one to the longest: 2, 4, 8, 16, 32 s and so on to an hour,
 * which makes nine tries in the first ten minutes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BACKOFF_FIRST_MAX_MS 5000 /* upper limit of the first pause, whatever the setting */

struct backoff {
    int64_t first_ms; /* first pause */
    int64_t max_ms;   /* no pause is longer, not even the first */
};

/* Returns how many milliseconds to wait after the `n_failures`-th failure in a row (>= 1), without
 * the random part. */
int64_t backoff_nominal_ms(const struct backoff *b, int n_failures);

/* The same with up to 10 % more or less, by the number `random`. At least 1, and at most max_ms;
 * the first pause is at most BACKOFF_FIRST_MAX_MS. */
int64_t backoff_pause_ms(const struct backoff *b, int n_failures, uint32_t random);

/* Returns true when the subscription must be suspended. There were `n_failures` failures in a row,
 * and the first was `failing_s` seconds ago. The limit is `limit_s`. The time alone is not enough:
 * the pauses must add up to the limit, or to an hour. So an endpoint is not given up because this
 * daemon was off for days, or its clock was set. */
bool backoff_is_over(const struct backoff *b, int n_failures, int64_t failing_s, int64_t limit_s);
