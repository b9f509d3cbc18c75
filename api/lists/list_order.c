/* api/lists/list_order.c - see list_order.h. */
#include "api/lists/list_order.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/mem.h"
#include "feed/words/words.h"

#define KEPT_MAX 8
#define KEPT_BYTES ((size_t)32 * 1024 * 1024) /* of all together: a million feeds take 24 MB */
#define KEPT_MS 10000

struct list_orders {
    pthread_mutex_t lock;
    struct list_order *kept[KEPT_MAX]; /* the oldest first */
    size_t n;
};

struct list_order *list_order_new(struct str key, int64_t edition)
{
    struct list_order *o = NEW(struct list_order);

    o->key = str_dup(&o->arena, key);
    o->edition = edition;
    o->until_ms = clock_mono_ms() + KEPT_MS;
    atomic_init(&o->n_refs, 1);
    return o;
}

void list_order_unref(struct list_order **op)
{
    struct list_order *o = *op;

    *op = NULL;
    if (o == NULL || atomic_fetch_sub(&o->n_refs, 1) > 1)
        return;
    arena_release(&o->arena);
    mem_free(o);
}

struct list_orders *list_orders_new(void)
{
    struct list_orders *o = NEW(struct list_orders);

    pthread_mutex_init(&o->lock, NULL);
    return o;
}

static void drop_locked(struct list_orders *o, size_t at)
{
    list_order_unref(&o->kept[at]);
    o->n--;
    for (; at < o->n; at++)
        o->kept[at] = o->kept[at + 1];
}

void list_orders_free(struct list_orders **op)
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
static void drop_old_locked(struct list_orders *o)
{
    int64_t now = clock_mono_ms();

    while (o->n > 0 && o->kept[0]->until_ms <= now)
        drop_locked(o, 0);
}

struct list_order *list_orders_get(struct list_orders *o, struct str key, int64_t edition)
{
    struct list_order *found = NULL;

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

static size_t bytes_locked(const struct list_orders *o)
{
    size_t sum = 0;

    for (size_t i = 0; i < o->n; i++)
        sum += arena_size(&o->kept[i]->arena);
    return sum;
}

void list_orders_keep(struct list_orders *o, struct list_order *order)
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

/* Most texts are ASCII, which is quicker. */
struct str list_folded(struct arena *a, struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] >= 0x80)
            return words_fold_value(a, s);
    return str_lower(a, s);
}

bool list_has_words(struct str text, struct str words)
{
    while (!str_is_null(words)) {
        struct str word = str_split(&words, ' ');

        if (str_find(text, word) < 0)
            return false;
    }
    return true;
}
