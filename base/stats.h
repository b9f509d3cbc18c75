/* base/stats.h - the counters and gauges of base/stats.def. Any thread, without a lock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

enum stat_id {
#define STAT(name, kind, meaning) STAT_##name,
#include "base/stats.def"
#undef STAT
    STAT_COUNT_
};

enum stat_kind {
    STAT_KIND_COUNTER,
    STAT_KIND_GAUGE,
    STAT_KIND_SECONDS, /* a gauge that is kept in milliseconds */
    STAT_KIND_AGE, /* a gauge that is kept as the time since when (clock_mono_ms()); 0: not now */
};

/* Add `n` to a counter or gauge; set a gauge to `n`; read the present value. */
void stats_add(enum stat_id stat, int64_t n);
void stats_set(enum stat_id stat, int64_t n);
int64_t stats_get(enum stat_id stat);

#define stats_inc(stat) stats_add((stat), 1)

/* What an AGE tells of goes on now, since this call if it did not go on before; or it is over. One
 * thread at a time may call this for a stat. */
void stats_lasts(enum stat_id stat, bool goes_on);
/* Milliseconds since the time that an AGE has; 0: it has none. */
int64_t stats_age_ms(enum stat_id stat);

/* The columns of base/stats.def, for /metrics and the documentation. */
const char *stats_name(enum stat_id stat);
const char *stats_meaning(enum stat_id stat);
enum stat_kind stats_kind(enum stat_id stat);
