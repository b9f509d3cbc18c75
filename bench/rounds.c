/* bench/rounds.c - see rounds.h. */
#include "rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/assert.h"

#define ROUNDS_MAX 99

static double read_clock(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double rounds_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double rounds_cpu(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

static int compare(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare);
    return values[n / 2];
}

void rounds_run(const struct rounds *r)
{
    double ours[ROUNDS_MAX], limit[ROUNDS_MAX], ratio[ROUNDS_MAX];

    ASSERT(r->n >= 1 && r->n <= ROUNDS_MAX);
    for (size_t i = 0; i < r->n; i++) {
        if (i % 2 == 0)
            ours[i] = r->ours(r->ctx, r->seconds);
        limit[i] = r->limit(r->ctx, r->seconds);
        if (i % 2 == 1)
            ours[i] = r->ours(r->ctx, r->seconds);
        ratio[i] = r->is_time ? limit[i] / ours[i] : ours[i] / limit[i];
    }
    printf("%s\t%s\t%.1f\t%.1f\t%.3f\n", r->row, r->unit, median(ours, r->n), median(limit, r->n),
           median(ratio, r->n));
    fflush(stdout);
}
