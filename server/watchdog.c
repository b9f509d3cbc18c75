/* server/watchdog.c - see watchdog.h. */
#include "server/watchdog.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pulse.h"
#include "base/str.h"
#include "server/handover.h"

#define BEATS 8         /* in an interval */
#define SHORTEST_MS 100 /* no manager demands more */

struct watchdog {
    int64_t interval_ms; /* of the manager */
    int stop_fd;
    char stalled[16]; /* the thread that stalls, as the log says already; own thread */
    pthread_t thread;
};

/* Say that the daemon lives, unless a thread does not. Returns after how many milliseconds to look
 * again. */
static int64_t look(struct watchdog *w)
{
    char name[sizeof w->stalled];
    int64_t age_ms = pulse_oldest_ms(name);

    if (age_ms < w->interval_ms / 2) {
        w->stalled[0] = '\0';
        handover_tell("WATCHDOG=1");
        return w->interval_ms / 2;
    }
    if (strcmp(name, w->stalled) != 0)
        log_error("server", "stalled", "thread=%s ms=%" PRId64 " effect=no_sign_of_life", name,
                  age_ms);
    memcpy(w->stalled, name, sizeof name);
    return w->interval_ms / BEATS;
}

static void *watchdog_main(void *arg)
{
    struct watchdog *w = arg;
    struct pollfd stop = {.fd = w->stop_fd, .events = POLLIN};
    int64_t ms;

    thread_set_name("watchdog");
    do
        ms = look(w);
    while (poll(&stop, 1, ms > INT_MAX ? INT_MAX : (int)ms) <= 0);
    return NULL;
}

/* The interval that the environment demands of this process, in milliseconds. 0: none. */
static int64_t demanded_ms(void)
{
    const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    int64_t n;

    if (us == NULL || !str_to_i64(str_from(us), &n) || n <= 0)
        return 0;
    if (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()) /* it is meant for another one */
        return 0;
    return n / 1000 < SHORTEST_MS ? SHORTEST_MS : n / 1000;
}

struct watchdog *watchdog_start(void)
{
    int64_t ms = demanded_ms();
    struct watchdog *w;

    if (ms == 0)
        return NULL;
    pulse_set_period_ms(ms / BEATS);
    w = NEW(struct watchdog);
    w->interval_ms = ms;
    w->stop_fd = eventfd(0, EFD_CLOEXEC);
    ASSERT(w->stop_fd >= 0);
    ASSERT(pthread_create(&w->thread, NULL, watchdog_main, w) == 0);
    return w;
}

void watchdog_stop(struct watchdog **wp)
{
    struct watchdog *w = *wp;

    *wp = NULL;
    if (w == NULL)
        return;
    ASSERT(eventfd_write(w->stop_fd, 1) == 0);
    pthread_join(w->thread, NULL);
    close(w->stop_fd);
    mem_free(w);
}
