/* base/process.c - see process.h, and proc(5). */
#include "base/process.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"

static const struct {
    const char *name, *meaning;
    enum stat_kind kind;
} rows[] = {
#define PROCESS(name, kind, meaning) {#name, meaning, STAT_KIND_##kind},
#include "base/process.def"
#undef PROCESS
};

static bool read_own_stat(char *out, size_t size)
{
    FILE *f = fopen("/proc/self/stat", "re");
    size_t n;

    if (f == NULL)
        return false;
    n = fread(out, 1, size - 1, f);
    out[n] = '\0';
    fclose(f);
    return n > 0;
}

static double booted_at; /* Unix time, as it was first computed: it must not move with the clock */

static void find_boot(void)
{
    struct timespec now, up;

    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &up);
    booted_at = (double)(now.tv_sec - up.tv_sec) + (double)(now.tv_nsec - up.tv_nsec) / 1e9;
}

static void read_stat(double out[PROCESS_COUNT_])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    double tick = (double)sysconf(_SC_CLK_TCK);
    unsigned long long user, system, start, size;
    long long rss, threads;
    char text[1024], *name_end;

    pthread_once(&once, find_boot);
    if (!read_own_stat(text, sizeof text) ||
        (name_end = strrchr(text, ')')) == NULL) /* the name may have spaces */
        return;
    if (sscanf(name_end + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %lld %*d "
               "%llu %llu %lld",
               &user, &system, &threads, &start, &size, &rss) != 6)
        return;
    out[PROCESS_process_cpu_seconds_total] = (double)(user + system) / tick;
    out[PROCESS_process_threads] = (double)threads;
    out[PROCESS_process_virtual_memory_bytes] = (double)size;
    out[PROCESS_process_resident_memory_bytes] = (double)rss * (double)sysconf(_SC_PAGESIZE);
    out[PROCESS_process_start_time_seconds] = booted_at + (double)start / tick;
}

void process_read(double out[PROCESS_COUNT_])
{
    struct rlimit rl;

    memset(out, 0, PROCESS_COUNT_ * sizeof *out);
    read_stat(out);
    if (getrlimit(RLIMIT_NOFILE, &rl) == 0)
        out[PROCESS_process_max_fds] = (double)rl.rlim_cur;
}

const char *process_name(enum process_id id)
{
    ASSERT((size_t)id < ARRAY_LEN(rows));
    return rows[id].name;
}

const char *process_meaning(enum process_id id)
{
    ASSERT((size_t)id < ARRAY_LEN(rows));
    return rows[id].meaning;
}

enum stat_kind process_kind(enum process_id id)
{
    ASSERT((size_t)id < ARRAY_LEN(rows));
    return rows[id].kind;
}
