/* base/stats.c - relaxed atomics, each in a cache line of its own, so that threads do not slow each
 * other down. */
#include "base/stats.h"

#include <stdatomic.h>

#include "base/assert.h"
#include "base/clock.h"

static struct {
    _Alignas(64) _Atomic int64_t n;
} cells[STAT_COUNT_];

static const struct {
    const char *name, *meaning;
    enum stat_kind kind;
} rows[] = {
#define STAT(name, kind, meaning) {#name, meaning, STAT_KIND_##kind},
#include "base/stats.def"
#undef STAT
};

void stats_add(enum stat_id stat, int64_t n)
{
    atomic_fetch_add_explicit(&cells[stat].n, n, memory_order_relaxed);
}

void stats_set(enum stat_id stat, int64_t n)
{
    atomic_store_explicit(&cells[stat].n, n, memory_order_relaxed);
}

int64_t stats_get(enum stat_id stat)
{
    return atomic_load_explicit(&cells[stat].n, memory_order_relaxed);
}

void stats_lasts(enum stat_id stat, bool goes_on)
{
    if (!goes_on)
        stats_set(stat, 0);
    else if (stats_get(stat) == 0)
        stats_set(stat, clock_mono_ms());
}

int64_t stats_age_ms(enum stat_id stat)
{
    int64_t since_ms = stats_get(stat), now_ms = clock_mono_ms();

    return since_ms == 0 || since_ms > now_ms ? 0 : now_ms - since_ms;
}

const char *stats_name(enum stat_id stat)
{
    ASSERT((size_t)stat < ARRAY_LEN(rows));
    return rows[stat].name;
}

const char *stats_meaning(enum stat_id stat)
{
    ASSERT((size_t)stat < ARRAY_LEN(rows));
    return rows[stat].meaning;
}

enum stat_kind stats_kind(enum stat_id stat)
{
    ASSERT((size_t)stat < ARRAY_LEN(rows));
    return rows[stat].kind;
}
