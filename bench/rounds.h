/* bench/rounds.h - two things measured in turns, so that both see the same machine.
 *
 * A round runs ours and the limit one after the other, in alternating order; the ratio is the
 * median of the rounds' ratios, the figures are medians too. Results are one line each on standard
 * output, for bench/run: row TAB unit TAB ours TAB limit TAB ratio.
 */
#pragma once

#include <stddef.h>

/* Do it for about `seconds` (or once, when it is one piece), and return the figure per second. */
typedef double rounds_fn(void *ctx, double seconds);

struct rounds {
    const char *row, *unit;
    rounds_fn *ours, *limit;
    void *ctx;
    size_t n;       /* rounds, odd */
    double seconds; /* of one side of a round */
};

void rounds_run(const struct rounds *r);

/* Seconds of the monotonic clock; processor seconds of this process. */
double rounds_now(void);
double rounds_cpu(void);
