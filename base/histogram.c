/* base/histogram.c - see histogram.h.
 *
 * Each series has several shards, and each thread adds to one of them, so threads that add at the
 * same time rarely write to the same cache line. A reader adds the shards up. It may see an
 * addition to a bucket before that to the sum; the count is made of the buckets, so it fits them.
 */
#include "base/histogram.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#define SHARDS 4

struct shard {
    _Alignas(64) _Atomic int64_t sum_us;
    _Atomic int64_t n[HISTOGRAM_BOUNDS + 1]; /* of each bucket alone; after the bounds, the rest */
};

struct histogram_series {
    struct histogram_series *next;
    enum histogram_id id;
    char *value, *value2; /* NULL: no such label */
    struct shard shards[SHARDS];
};

enum buckets_id {
#define BUCKETS(name, ...) BUCKETS_##name,
#include "base/histograms.def"
};

static const int64_t bounds[][HISTOGRAM_BOUNDS + 1] = {
/* they end with 0 */
#define BUCKETS(name, ...) [BUCKETS_##name] = {__VA_ARGS__},
#include "base/histograms.def"
};

static const struct {
    const char *name, *labels[2], *meaning;
    enum buckets_id buckets;
} rows[] = {
#define HISTOGRAM(name, buckets, label, label2, meaning)                                           \
    {#name, {label, label2}, meaning, BUCKETS_##buckets},
#include "base/histograms.def"
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for new series */
static _Atomic(struct histogram_series *) first;         /* newest first */

static bool same(const char *x, const char *y)
{
    return x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
}

static struct histogram_series *find(enum histogram_id id, const char *value, const char *value2)
{
    struct histogram_series *s = atomic_load(&first);

    while (s != NULL && (s->id != id || !same(s->value, value) || !same(s->value2, value2)))
        s = s->next;
    return s;
}

/* Has the histogram this label if it has a value, and only then? */
static bool fits(enum histogram_id id, int n, const char *value)
{
    return (value != NULL) == (rows[id].labels[n][0] != '\0') &&
           (value == NULL || strpbrk(value, "\"\\\n") == NULL);
}

struct histogram_series *histogram_series(enum histogram_id id, const char *value,
                                          const char *value2)
{
    struct histogram_series *s;

    ASSERT((size_t)id < ARRAY_LEN(rows) && fits(id, 0, value) && fits(id, 1, value2));
    pthread_mutex_lock(&lock);
    s = find(id, value, value2);
    if (s == NULL) {
        s = mem_zalloc_aligned(_Alignof(struct histogram_series), sizeof *s);
        s->id = id;
        s->value = value == NULL ? NULL : mem_strdup(value);
        s->value2 = value2 == NULL ? NULL : mem_strdup(value2);
        s->next = atomic_load(&first);
        atomic_store(&first, s);
    }
    pthread_mutex_unlock(&lock);
    return s;
}

/* Threads get shards in turn. */
static unsigned own_shard(void)
{
    static _Atomic unsigned n_threads;
    static _Thread_local unsigned own; /* + 1; 0: none yet */

    if (own == 0)
        own = 1 + atomic_fetch_add_explicit(&n_threads, 1, memory_order_relaxed) % SHARDS;
    return own - 1;
}

void histogram_add(struct histogram_series *s, int64_t us)
{
    const int64_t *bound = bounds[rows[s->id].buckets];
    struct shard *shard = &s->shards[own_shard()];
    size_t i = 0;

    if (us < 0)
        us = 0;
    while (bound[i] != 0 && us > bound[i])
        i++;
    atomic_fetch_add_explicit(&shard->n[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&shard->sum_us, us, memory_order_relaxed);
}

static int64_t in_bucket(const struct histogram_series *s, size_t i)
{
    int64_t n = 0;

    for (size_t k = 0; k < SHARDS; k++)
        n += atomic_load_explicit(&s->shards[k].n[i], memory_order_relaxed);
    return n;
}

int64_t histogram_count(const struct histogram_series *s)
{
    int64_t n = 0;

    for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++)
        n += in_bucket(s, i);
    return n;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Microseconds as seconds, without zeros at the end. */
static void put_seconds(struct buf *out, int64_t us)
{
    char fraction[8];
    int n;

    buf_printf(out, "%" PRId64, us / 1000000);
    if (us % 1000000 == 0)
        return;
    n = snprintf(fraction, sizeof fraction, ".%06d", (int)(us % 1000000));
    while (n > 0 && fraction[n - 1] == '0')
        n--;
    buf_append(out, fraction, (size_t)n);
}

/* "{a="x",b="y"}", with `le` at the end unless it is 0; -1 stands for infinity. */
static void put_labels(struct buf *out, const struct histogram_series *s, int64_t le)
{
    const char *const *labels = rows[s->id].labels;
    char sep = '{';

    if (s->value != NULL) {
        buf_printf(out, "%c%s=\"%s\"", sep, labels[0], s->value);
        sep = ',';
    }
    if (s->value2 != NULL)
        buf_printf(out, "%c%s=\"%s\"", sep, labels[1], s->value2);
    if (le != 0) {
        buf_printf(out, "%cle=\"", sep);
        if (le < 0)
            buf_puts(out, "+Inf");
        else
            put_seconds(out, le);
        buf_putc(out, '"');
    }
    if (s->value != NULL || le != 0)
        buf_putc(out, '}');
}

static void put_line(struct buf *out, const char *prefix, const struct histogram_series *s,
                     const char *suffix, int64_t le)
{
    buf_printf(out, "%s%s%s", prefix, rows[s->id].name, suffix);
    put_labels(out, s, le);
    buf_putc(out, ' ');
}

static void put_series(struct buf *out, const char *prefix, const struct histogram_series *s)
{
    const int64_t *bound = bounds[rows[s->id].buckets];
    int64_t n = 0, sum_us = 0;

    for (size_t i = 0; i == 0 || bound[i - 1] != 0; i++) {
        n += in_bucket(s, i);
        put_line(out, prefix, s, "_bucket", bound[i] == 0 ? -1 : bound[i]);
        buf_printf(out, "%" PRId64 "\n", n);
    }
    for (size_t k = 0; k < SHARDS; k++)
        sum_us += atomic_load_explicit(&s->shards[k].sum_us, memory_order_relaxed);
    put_line(out, prefix, s, "_sum", 0);
    put_seconds(out, sum_us);
    buf_putc(out, '\n');
    put_line(out, prefix, s, "_count", 0);
    buf_printf(out, "%" PRId64 "\n", n);
}

void histogram_write(struct buf *out, const char *prefix, enum histogram_id id)
{
    if (rows[id].labels[0][0] == '\0') /* without labels there is one series, from the start */
        (void)histogram_series(id, NULL, NULL);
    for (const struct histogram_series *s = atomic_load(&first); s != NULL; s = s->next)
        if (s->id == id)
            put_series(out, prefix, s);
}

const char *histogram_name(enum histogram_id id)
{
    ASSERT((size_t)id < ARRAY_LEN(rows));
    return rows[id].name;
}

const char *histogram_label(enum histogram_id id, int n)
{
    ASSERT((size_t)id < ARRAY_LEN(rows));
    return rows[id].labels[n];
}

const char *histogram_meaning(enum histogram_id id)
{
    ASSERT((size_t)id < ARRAY_LEN(rows));
    return rows[id].meaning;
}
