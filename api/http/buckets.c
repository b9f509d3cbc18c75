/* api/http/buckets.c - see buckets.h. A map from source to bucket. Full buckets are forgotten when
 * room is needed. */
#include "api/http/buckets.h"

#include <netinet/in.h>
#include <pthread.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

#define SWEEP_MS 1000 /* a sweep checks all sources, so it is not made for every new source */

#define UNITS 60000 /* of a token: as many as milliseconds of a minute */

struct bucket {
    int64_t units;
    int64_t at_ms;             /* the time for which this is right */
    int64_t per_minute, burst; /* as the last caller said */
};

struct buckets {
    pthread_mutex_t lock;
    struct map sources;
    size_t max_sources;
    struct bucket others; /* shared by the sources that found no room */
    int64_t swept_ms;     /* when full buckets were last forgotten; -1: never */
};

struct buckets *buckets_new(size_t max_sources)
{
    struct buckets *b = NEW(struct buckets);

    b->max_sources = max_sources;
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

static int64_t full_of(const struct bucket *k)
{
    return k->burst * UNITS;
}

static void refill(struct bucket *k, int64_t now)
{
    int64_t full = full_of(k), passed = now - k->at_ms;

    if (passed > 0) {
        if (passed >= full / k->per_minute + 1)
            k->units = full;
        else
            k->units += passed * k->per_minute;
        k->at_ms = now;
    }
    if (k->units > full)
        k->units = full;
}

static void forget_full_locked(struct buckets *b, int64_t now)
{
    struct str key;
    void *it = NULL, *value;

    while (map_next(&b->sources, &it, &key, &value)) {
        struct bucket *k = value;

        refill(k, now);
        if (k->units == full_of(k)) {
            map_del(&b->sources, key);
            mem_free(k);
        }
    }
}

static struct bucket *bucket_locked(struct buckets *b, struct str key, int64_t burst, int64_t now)
{
    struct bucket *k = map_get(&b->sources, key);

    if (k != NULL)
        return k;
    if (map_count(&b->sources) >= b->max_sources &&
        (b->swept_ms < 0 || now - b->swept_ms >= SWEEP_MS)) {
        forget_full_locked(b, now);
        b->swept_ms = now;
    }
    if (map_count(&b->sources) >= b->max_sources)
        return &b->others;
    k = NEW(struct bucket);
    k->units = burst * UNITS;
    k->at_ms = now;
    map_put(&b->sources, key, k);
    return k;
}

/* Seconds until the bucket has so many units. */
static int64_t until(const struct bucket *k, int64_t units)
{
    int64_t missing = units - k->units;

    return missing <= 0 ? 0 : (missing + k->per_minute * 1000 - 1) / (k->per_minute * 1000);
}

bool buckets_spend(struct buckets *b, struct str source, int64_t per_minute, int64_t burst,
                   int64_t mono_ms, struct bucket_left *left)
{
    struct bucket *k;
    bool ok;

    pthread_mutex_lock(&b->lock);
    k = bucket_locked(b, source, burst, mono_ms);
    k->per_minute = per_minute;
    k->burst = burst;
    refill(k, mono_ms);
    ok = k->units >= UNITS;
    if (ok)
        k->units -= UNITS;
    if (left != NULL)
        *left = (struct bucket_left){
            .n = k->units / UNITS, .full_s = until(k, full_of(k)), .next_s = until(k, UNITS)};
    pthread_mutex_unlock(&b->lock);
    return ok;
}

void buckets_give_back(struct buckets *b, struct str source)
{
    struct bucket *k;

    pthread_mutex_lock(&b->lock);
    k = map_get(&b->sources, source);
    if (k != NULL)
        k->units += UNITS;
    pthread_mutex_unlock(&b->lock);
}

bool buckets_take(struct buckets *b, const struct sockaddr *source, int rate, int burst,
                  int64_t mono_ms)
{
    if (rate <= 0)
        return true;
    return buckets_spend(b, buckets_source(source), (int64_t)rate * 60, burst < 1 ? 1 : burst,
                         mono_ms, NULL);
}
