/* api/lists/feed_order.c - see feed_order.h. */
#include "api/lists/feed_order.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/mem.h"

#define KEPT_MAX 8
#define KEPT_BYTES ((size_t)32 * 1024 * 1024) /* of all together: a million feeds take 24 MB */
#define KEPT_MS 10000

struct feed_orders {
    pthread_mutex_t lock;
    struct feed_order *kept[KEPT_MAX]; /* the oldest first */
    size_t n;
};

struct feed_order *feed_order_new(struct str key, int64_t edition)
{
    struct feed_order *o = NEW(struct feed_order);

    o->key = str_dup(&o->arena, key);
    o->edition = edition;
    o->until_ms = clock_mono_ms() + KEPT_MS;
    atomic_init(&o->n_refs, 1);
    return o;
}

void feed_order_unref(struct feed_order **op)
{
    struct feed_order *o = *op;

    *op = NULL;
    if (o == NULL || atomic_fetch_sub(&o->n_refs, 1) > 1)
        return;
    arena_release(&o->arena);
    mem_free(o);
}

struct feed_orders *feed_orders_new(void)
{
    struct feed_orders *o = NEW(struct feed_orders);

    pthread_mutex_init(&o->lock, NULL);
    return o;
}

static void drop_locked(struct feed_orders *o, size_t at)
{
    feed_order_unref(&o->kept[at]);
    o->n--;
    for (; at < o->n; at++)
        o->kept[at] = o->kept[at + 1];
}

void feed_orders_free(struct feed_orders **op)
{
    if (*op == NULL)
        return;
    while ((*op)->n > 0)
        drop_locked(*op, 0);
    pthread_mutex_destroy(&(*op)->lock);
    mem_free(*op);
    *op = NULL;
}

/* The oldest ones are over first, because all are kept for the same time. */
static void drop_old_locked(struct feed_orders *o)
{
    int64_t now = clock_mono_ms();

    while (o->n > 0 && o->kept[0]->until_ms <= now)
        drop_locked(o, 0);
}

struct feed_order *feed_orders_get(struct feed_orders *o, struct str key, int64_t edition)
{
    struct feed_order *found = NULL;

    pthread_mutex_lock(&o->lock);
    drop_old_locked(o);
    for (size_t i = 0; i < o->n && found == NULL; i++)
        if (o->kept[i]->edition == edition && str_eq(o->kept[i]->key, key))
            found = o->kept[i];
    if (found != NULL)
        atomic_fetch_add(&found->n_refs, 1);
    pthread_mutex_unlock(&o->lock);
    return found;
}

static size_t bytes_locked(const struct feed_orders *o)
{
    size_t sum = 0;

    for (size_t i = 0; i < o->n; i++)
        sum += arena_size(&o->kept[i]->arena);
    return sum;
}

void feed_orders_keep(struct feed_orders *o, struct feed_order *order)
{
    size_t bytes = arena_size(&order->arena);

    if (bytes > KEPT_BYTES)
        return;
    pthread_mutex_lock(&o->lock);
    drop_old_locked(o);
    for (size_t i = 0; i < o->n; i++)
        if (str_eq(o->kept[i]->key, order->key)) {
            drop_locked(o, i);
            break;
        }
    while (o->n == KEPT_MAX || bytes_locked(o) + bytes > KEPT_BYTES)
        drop_locked(o, 0);
    atomic_fetch_add(&order->n_refs, 1);
    o->kept[o->n++] = order;
    pthread_mutex_unlock(&o->lock);
}
