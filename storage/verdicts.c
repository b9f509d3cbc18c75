/* storage/verdicts.c - see verdicts.h. */
#include "storage/verdicts.h"

#include <pthread.h>
#include <string.h>

#include "base/digest.h"
#include "base/mem.h"

#define SLOTS 16384 /* a power of two */

struct verdict {
    unsigned char filter[16]; /* digest of its text */
    int64_t seq;              /* 0: the slot is free */
    int kind;
};

struct verdicts {
    pthread_mutex_t lock; /* guards the rest */
    struct verdict slots[SLOTS];
};

struct verdicts *verdicts_new(void)
{
    struct verdicts *v = NEW(struct verdicts);

    pthread_mutex_init(&v->lock, NULL);
    return v;
}

void verdicts_free(struct verdicts **vp)
{
    struct verdicts *v = *vp;

    *vp = NULL;
    if (v == NULL)
        return;
    pthread_mutex_destroy(&v->lock);
    mem_free(v);
}

/* Revisions that follow one another have slots that do, so they do not drive one another out. */
static struct verdict *slot_of(struct verdicts *v, const unsigned char *filter, int64_t seq)
{
    uint64_t start;

    memcpy(&start, filter, sizeof start);
    return &v->slots[(start + (uint64_t)seq) % SLOTS];
}

void verdicts_get(struct verdicts *v, struct str filter, const int64_t *seqs, size_t n, int *kinds)
{
    unsigned char key[16];

    digest_content(filter, key);
    pthread_mutex_lock(&v->lock);
    for (size_t i = 0; i < n; i++) {
        const struct verdict *known = slot_of(v, key, seqs[i]);
        bool is_it = known->seq == seqs[i] && memcmp(known->filter, key, sizeof key) == 0;

        kinds[i] = is_it ? known->kind : VERDICT_UNKNOWN;
    }
    pthread_mutex_unlock(&v->lock);
}

void verdicts_put(struct verdicts *v, struct str filter, const int64_t *seqs, size_t n,
                  const int *kinds)
{
    struct verdict fresh;

    digest_content(filter, fresh.filter);
    pthread_mutex_lock(&v->lock);
    for (size_t i = 0; i < n; i++) {
        fresh.seq = seqs[i];
        fresh.kind = kinds[i];
        *slot_of(v, fresh.filter, seqs[i]) = fresh;
    }
    pthread_mutex_unlock(&v->lock);
}
