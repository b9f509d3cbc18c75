/* bench/rounds.h - measures two things in turns, so that both see the same state of the machine.
 *
 * A round runs ours and the limit one after the other, in alternating order. The ratio is the
 * median of the rounds' ratios; the figures are medians, too. Each result is one line on standard
 * output, for bench/run: row TAB unit TAB ours TAB limit TAB ratio. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Work for about `seconds` (or once, if it is one piece), and return the figure per second. */
typedef double rounds_fn(void *ctx, double seconds);

struct rounds {
    const char *row, *unit;
    rounds_fn *ours, *limit;
    void *ctx;
    size_t n;       /* number of rounds; odd */
    double seconds; /* time of one side of a round */
    bool is_time;   /* less is better: the ratio is the limit's figure divided by ours */
};

void rounds_run(const struct rounds *r);

/* Returns seconds: of the monotonic clock; of processor time of this process. */
double rounds_now(void);
double rounds_cpu(void);

/* Returns the processor time that the threads of this name have had, in seconds. */
double rounds_cpu_of(const char *thread);
