/* api/http/buckets.c - see buckets.h. A map from address to bucket. Full buckets are forgotten when
 * room is needed. */
#include "api/http/buckets.h"

#include <netinet/in.h>
#include <pthread.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

#define SOURCES_MAX 4096
#define SWEEP_MS 1000 /* a sweep checks all sources, so it is not made for every new source */

struct bucket {
    int64_t milli; /* thousandths of a token */
    int64_t at_ms; /* the time for which this is right */
};

struct buckets {
    pthread_mutex_t lock;
    struct map sources;
    struct bucket others; /* shared by the sources that found no room */
    int64_t swept_ms;     /* when full buckets were last forgotten; -1: never */
};

struct buckets *buckets_new(void)
{
    struct buckets *b = NEW(struct buckets);

    pthread_mutex_init(&b->lock, NULL);
    b->swept_ms = -1;
    return b;
}

void buckets_free(struct buckets **bp)
{
    if (*bp == NULL)
        return;
    map_release(&(*bp)->sources, mem_free);
    pthread_mutex_destroy(&(*bp)->lock);
    mem_free(*bp);
    *bp = NULL;
}

struct str buckets_source(const struct sockaddr *sa)
{
    if (sa != NULL && sa->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)sa;

        return str_of((const char *)&in->sin_addr, 4);
    }
    if (sa != NULL && sa->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const void *)sa;
        const char *bytes = (const char *)&in6->sin6_addr;

        return IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) ? str_of(bytes + 12, 4) : str_of(bytes, 8);
    }
    return STR("local");
}

static void refill(struct bucket *k, int rate, int burst, int64_t now)
{
    int64_t full = (int64_t)burst * 1000, passed = now - k->at_ms;

    if (passed > 0) {
        if (passed >= full / rate + 1)
            k->milli = full;
        else
            k->milli += passed * rate;
        k->at_ms = now;
    }
    if (k->milli > full)
        k->milli = full;
}

static void forget_full_locked(struct buckets *b, int rate, int burst, int64_t now)
{
    struct str key;
    void *it = NULL, *value;

    while (map_next(&b->sources, &it, &key, &value)) {
        struct bucket *k = value;

        refill(k, rate, burst, now);
        if (k->milli == (int64_t)burst * 1000) {
            map_del(&b->sources, key);
            mem_free(k);
        }
    }
}

static struct bucket *bucket_locked(struct buckets *b, struct str key, int rate, int burst,
                                    int64_t now)
{
    struct bucket *k = map_get(&b->sources, key);

    if (k != NULL)
        return k;
    if (map_count(&b->sources) >= SOURCES_MAX &&
        (b->swept_ms < 0 || now - b->swept_ms >= SWEEP_MS)) {
        forget_full_locked(b, rate, burst, now);
        b->swept_ms = now;
    }
    if (map_count(&b->sources) >= SOURCES_MAX)
        return &b->others;
    k = NEW(struct bucket);
    k->milli = (int64_t)burst * 1000;
    k->at_ms = now;
    map_put(&b->sources, key, k);
    return k;
}

bool buckets_take(struct buckets *b, const struct sockaddr *source, int rate, int burst,
                  int64_t mono_ms)
{
    struct bucket *k;
    bool ok;

    if (rate <= 0)
        return true;
    if (burst < 1)
        burst = 1;
    pthread_mutex_lock(&b->lock);
    k = bucket_locked(b, buckets_source(source), rate, burst, mono_ms);
    refill(k, rate, burst, mono_ms);
    ok = k->milli >= 1000;
    if (ok)
        k->milli -= 1000;
    pthread_mutex_unlock(&b->lock);
    return ok;
}
