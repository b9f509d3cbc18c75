/* notifier/bodies.c - a ring of bodies. Only a few bodies have many receivers at the same time, so
 * the ring is short and is searched from its start. */
#include "notifier/bodies.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"

#define KEPT 32
#define KEPT_BYTES ((size_t)64 * 1024 * 1024)

struct kept_body {
    enum { FREE, MAKING, MADE } state;
    pthread_t maker; /* when MAKING */
    unsigned char key[BODIES_KEY_LEN];
    struct body body; /* when MADE; its strings are in `texts` */
    char *texts;
};

struct bodies {
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t made;  /* some body is not MAKING any more */
    size_t next;          /* index of the oldest in the ring */
    size_t n_bytes;
    struct kept_body ring[KEPT];
};

struct bodies *bodies_new(void)
{
    struct bodies *b = NEW(struct bodies);

    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->made, NULL);
    return b;
}

static void drop_locked(struct bodies *b, struct kept_body *k)
{
    b->n_bytes -= blob_bytes(k->body.bytes).len;
    blob_unref(&k->body.bytes);
    mem_free(k->texts);
    *k = (struct kept_body){.state = FREE};
}

void bodies_free(struct bodies **bp)
{
    struct bodies *b = *bp;

    *bp = NULL;
    if (b == NULL)
        return;
    for (size_t i = 0; i < KEPT; i++)
        drop_locked(b, &b->ring[i]);
    pthread_cond_destroy(&b->made);
    pthread_mutex_destroy(&b->lock);
    mem_free(b);
}

static struct kept_body *find_locked(struct bodies *b, const unsigned char *key)
{
    for (size_t i = 0; i < KEPT; i++)
        if (b->ring[i].state != FREE && memcmp(b->ring[i].key, key, BODIES_KEY_LEN) == 0)
            return &b->ring[i];
    return NULL;
}

/* The body that this thread is making; NULL: bodies_clear() has ended that. */
static struct kept_body *find_mine_locked(struct bodies *b, const unsigned char *key)
{
    struct kept_body *k = find_locked(b, key);

    return k != NULL && k->state == MAKING && pthread_equal(k->maker, pthread_self()) ? k : NULL;
}

/* Free the oldest body that no thread is making, so that its room can be used. NULL: there is
 * none. */
static struct kept_body *take_oldest_locked(struct bodies *b)
{
    for (size_t i = 0; i < KEPT; i++) {
        struct kept_body *k = &b->ring[b->next++ % KEPT];

        if (k->state == MAKING)
            continue;
        drop_locked(b, k);
        return k;
    }
    return NULL;
}

bool bodies_get(struct bodies *b, const unsigned char key[BODIES_KEY_LEN], struct arena *a,
                struct body *out)
{
    struct kept_body *k;
    bool found;

    pthread_mutex_lock(&b->lock);
    while ((k = find_locked(b, key)) != NULL && k->state == MAKING)
        pthread_cond_wait(&b->made, &b->lock);
    found = k != NULL;
    if (found) {
        *out = k->body;
        blob_ref(out->bytes);
        out->doc.self = str_dup(a, out->doc.self);
        out->doc.hub = str_dup(a, out->doc.hub);
        out->print = str_dup(a, out->print);
    } else if ((k = take_oldest_locked(b)) != NULL) {
        k->state = MAKING;
        k->maker = pthread_self();
        memcpy(k->key, key, BODIES_KEY_LEN);
    }
    pthread_mutex_unlock(&b->lock);
    return found;
}

/* Copy the strings of the body. */
static void keep_texts(struct kept_body *k)
{
    struct str *texts[] = {&k->body.doc.self, &k->body.doc.hub, &k->body.print};
    size_t len = 0, at = 0;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        len += texts[i]->len;
    k->texts = mem_alloc(len + 1);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (texts[i]->len > 0)
            memcpy(k->texts + at, texts[i]->ptr, texts[i]->len);
        *texts[i] = str_of(k->texts + at, texts[i]->len);
        at += texts[i]->len;
    }
}

void bodies_put(struct bodies *b, const unsigned char key[BODIES_KEY_LEN], const struct body *made)
{
    size_t n = blob_bytes(made->bytes).len;
    struct kept_body *k;

    pthread_mutex_lock(&b->lock);
    k = find_mine_locked(b, key);
    if (k != NULL) {
        k->state = FREE; /* so that it is not chosen when room is needed */
        for (size_t i = 0; i < KEPT && b->n_bytes + n > KEPT_BYTES; i++)
            if (b->ring[(b->next + i) % KEPT].state == MADE)
                drop_locked(b, &b->ring[(b->next + i) % KEPT]);
        k->state = MADE;
        k->body = *made;
        blob_ref(k->body.bytes);
        b->n_bytes += n;
        keep_texts(k);
    }
    pthread_mutex_unlock(&b->lock);
    pthread_cond_broadcast(&b->made);
}

void bodies_give_up(struct bodies *b, const unsigned char key[BODIES_KEY_LEN])
{
    struct kept_body *k;

    pthread_mutex_lock(&b->lock);
    k = find_mine_locked(b, key);
    if (k != NULL)
        k->state = FREE;
    pthread_mutex_unlock(&b->lock);
    pthread_cond_broadcast(&b->made);
}

void bodies_clear(struct bodies *b)
{
    pthread_mutex_lock(&b->lock);
    for (size_t i = 0; i < KEPT; i++)
        drop_locked(b, &b->ring[i]);
    pthread_mutex_unlock(&b->lock);
    pthread_cond_broadcast(&b->made);
}
