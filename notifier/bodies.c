/* notifier/bodies.c - a ring of rendered calls. Few at a time have many receivers, so a handful is
 * searched in order. */
#include "notifier/bodies.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"

#define KEPT 16
#define REST_MAX ((size_t)256 * 1024)

struct bodies {
    pthread_mutex_t lock; /* guards the rest */
    size_t next;
    struct kept {
        unsigned char key[BODIES_KEY_LEN];
        struct blob *rest; /* NULL: free */
    } ring[KEPT];
};

struct bodies *bodies_new(void)
{
    struct bodies *b = NEW(struct bodies);

    pthread_mutex_init(&b->lock, NULL);
    return b;
}

void bodies_free(struct bodies **bp)
{
    struct bodies *b = *bp;

    *bp = NULL;
    if (b == NULL)
        return;
    for (size_t i = 0; i < KEPT; i++)
        blob_unref(&b->ring[i].rest);
    pthread_mutex_destroy(&b->lock);
    mem_free(b);
}

static struct kept *find_locked(struct bodies *b, const unsigned char *key)
{
    for (size_t i = 0; i < KEPT; i++)
        if (b->ring[i].rest != NULL && memcmp(b->ring[i].key, key, BODIES_KEY_LEN) == 0)
            return &b->ring[i];
    return NULL;
}

struct blob *bodies_get(struct bodies *b, const unsigned char key[BODIES_KEY_LEN])
{
    struct blob *rest = NULL;
    struct kept *k;

    pthread_mutex_lock(&b->lock);
    k = find_locked(b, key);
    if (k != NULL)
        rest = blob_ref(k->rest);
    pthread_mutex_unlock(&b->lock);
    return rest;
}

void bodies_put(struct bodies *b, const unsigned char key[BODIES_KEY_LEN], struct str rest)
{
    struct blob *copy, *old;
    struct kept *k;

    if (rest.len > REST_MAX)
        return;
    copy = blob_copy(rest);
    pthread_mutex_lock(&b->lock);
    if (find_locked(b, key) == NULL) { /* else another reader was quicker */
        k = &b->ring[b->next++ % KEPT];
        memcpy(k->key, key, BODIES_KEY_LEN);
        old = k->rest;
        k->rest = copy;
        copy = old;
    }
    pthread_mutex_unlock(&b->lock);
    blob_unref(&copy);
}
