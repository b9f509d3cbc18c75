/* base/pulse.c - a list of the threads that have a pulse; a beat is one store to an atomic. */
#include "base/pulse.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/queue.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"

struct pulse {
    LIST_ENTRY(pulse) link;
    const char *name;
    atomic_int_least64_t beat_ms; /* clock_steady_ms(): no test makes it jump */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static LIST_HEAD(, pulse) pulses = LIST_HEAD_INITIALIZER(pulses);
static atomic_int_least64_t period_ms;
static _Thread_local struct pulse *own;

void pulse_set_period_ms(int64_t ms)
{
    atomic_store(&period_ms, ms);
}

int64_t pulse_period_ms(void)
{
    return atomic_load_explicit(&period_ms, memory_order_relaxed);
}

int64_t pulse_wait_ms(int64_t ms)
{
    int64_t period = own != NULL ? pulse_period_ms() : 0;

    return period > 0 && (ms < 0 || ms > period) ? period : ms;
}

void pulse_join(const char *name)
{
    struct pulse *p = NEW(struct pulse);

    ASSERT(own == NULL);
    p->name = name;
    own = p;
    pulse_beat();
    pthread_mutex_lock(&lock);
    LIST_INSERT_HEAD(&pulses, p, link);
    pthread_mutex_unlock(&lock);
}

void pulse_beat(void)
{
    if (own != NULL)
        atomic_store_explicit(&own->beat_ms, clock_steady_ms(), memory_order_relaxed);
}

void pulse_leave(void)
{
    if (own == NULL)
        return;
    pthread_mutex_lock(&lock);
    LIST_REMOVE(own, link);
    pthread_mutex_unlock(&lock);
    mem_free(own);
    own = NULL;
}

int64_t pulse_oldest_ms(char name[16])
{
    int64_t now_ms = clock_steady_ms(), oldest_ms = 0;
    struct pulse *p;

    name[0] = '\0';
    pthread_mutex_lock(&lock);
    LIST_FOREACH (p, &pulses, link) {
        int64_t ms = now_ms - atomic_load_explicit(&p->beat_ms, memory_order_relaxed);

        if (ms < oldest_ms)
            continue;
        oldest_ms = ms;
        snprintf(name, 16, "%s", p->name);
    }
    pthread_mutex_unlock(&lock);
    return oldest_ms;
}
