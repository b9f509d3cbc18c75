/* bench/rounds.c - see rounds.h. */
#include "rounds.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Read the first line of a file of a thread. "": the thread has ended. */
static void read_line(const char *thread, const char *file, char *out, int size)
{
    char path[300];
    FILE *f;

    snprintf(path, sizeof path, "/proc/self/task/%s/%s", thread, file);
    f = fopen(path, "r");
    if (f == NULL || fgets(out, size, f) == NULL)
        out[0] = '\0';
    if (f != NULL)
        fclose(f);
    out[strcspn(out, "\n")] = '\0';
}

double rounds_cpu_of(const char *thread)
{
    DIR *all = opendir("/proc/self/task");
    struct dirent *one;
    char line[80];
    double ns = 0;

    ASSERT(all != NULL);
    while ((one = readdir(all)) != NULL) {
        read_line(one->d_name, "comm", line, sizeof line);
        if (strcmp(line, thread) != 0)
            continue;
        read_line(one->d_name, "schedstat", line, sizeof line);
        ns += strtod(line, NULL);
    }
    closedir(all);
    return ns / 1e9;
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
