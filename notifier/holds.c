/* notifier/holds.c - see holds.h. */
#include "notifier/holds.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"

struct holds {
    pthread_mutex_t lock; /* guards the rest */
    struct map times;     /* URL -> int64_t */
};

struct holds *holds_new(void)
{
    struct holds *h = NEW(struct holds);

    *h = (struct holds){.times = MAP_INIT};
    pthread_mutex_init(&h->lock, NULL);
    return h;
}

static void time_free(void *value)
{
    mem_free(value);
}

void holds_free(struct holds **hp)
{
    struct holds *h = *hp;

    *hp = NULL;
    if (h == NULL)
        return;
    map_release(&h->times, time_free);
    pthread_mutex_destroy(&h->lock);
    mem_free(h);
}

void holds_set(struct holds *h, struct str url, int64_t until)
{
    int64_t *time = NULL, *old;

    if (until != TIME_UNKNOWN) {
        time = NEW(int64_t);
        *time = until;
    }
    pthread_mutex_lock(&h->lock);
    old = time == NULL ? map_del(&h->times, url) : map_put(&h->times, url, time);
    pthread_mutex_unlock(&h->lock);
    mem_free(old);
}

int64_t holds_get(struct holds *h, struct str url)
{
    const int64_t *time;
    int64_t until;

    pthread_mutex_lock(&h->lock);
    time = map_get(&h->times, url);
    until = time == NULL ? TIME_UNKNOWN : *time;
    pthread_mutex_unlock(&h->lock);
    return until;
}
