/* server/test_clock.c - see test_clock.h. */
#include "server/test_clock.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define LOOK_MS 1000
#define AHEAD_MAX_S 1e10 /* some 300 years */

struct test_clock {
    char *path;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the next two */
    pthread_cond_t end;   /* stopping was set; CLOCK_MONOTONIC */
    bool stopping;
};

/* Read how many seconds the file contains. False: none, so far. */
static bool read_seconds(const char *path, double *out)
{
    FILE *f = fopen(path, "re");
    char text[64], *end;
    size_t n;

    if (f == NULL)
        return false;
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    *out = strtod(text, &end);
    return end != text && fabs(*out) <= AHEAD_MAX_S;
}

static void look(const struct test_clock *t)
{
    double seconds;

    if (read_seconds(t->path, &seconds))
        clock_set_ahead_us((int64_t)(seconds * 1e6));
}

static void *test_clock_main(void *ctx)
{
    struct test_clock *t = ctx;

    thread_set_name("clock");
    pthread_mutex_lock(&t->lock);
    while (!t->stopping) {
        struct timespec until = clock_mono_after_ms(LOOK_MS);

        look(t);
        while (!t->stopping && pthread_cond_timedwait(&t->end, &t->lock, &until) != ETIMEDOUT)
            ;
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

struct test_clock *test_clock_start(const char *path)
{
    struct test_clock *t = NEW(struct test_clock);
    pthread_condattr_t attr;

    t->path = mem_strdup(path);
    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->end, &attr);
    pthread_condattr_destroy(&attr);
    clock_set_ahead_us(0); /* so that loops know that it may jump */
    look(t);
    log_warn("server", "test_clock", "file=%s ahead_s=%lld this is for tests, never for use",
             log_quote(str_from(path)), (long long)(clock_ahead_us() / 1000000));
    ASSERT(pthread_create(&t->thread, NULL, test_clock_main, t) == 0);
    return t;
}

void test_clock_stop(struct test_clock **tp)
{
    struct test_clock *t = *tp;

    *tp = NULL;
    if (t == NULL)
        return;
    pthread_mutex_lock(&t->lock);
    t->stopping = true;
    pthread_cond_signal(&t->end);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->end);
    mem_free(t->path);
    mem_free(t);
}
