/* base/stats.h - the counters of base/stats.def. Any thread, without a lock. */
#pragma once

#include <stdint.h>

#include "base/compiler.h"

enum stat_id {
#define STAT(name, kind, meaning) STAT_##name,
#include "base/stats.def"
#undef STAT
    STAT_COUNT_
};

enum stat_kind { STAT_KIND_COUNTER, STAT_KIND_GAUGE };

/* Add `n` to a counter or gauge; set a gauge to `n`; read the present value. */
void stats_add(enum stat_id stat, int64_t n);
void stats_set(enum stat_id stat, int64_t n);
int64_t stats_get(enum stat_id stat);

#define stats_inc(stat) stats_add((stat), 1)

/* The columns of base/stats.def, for /metrics and the documentation. */
const char *stats_name(enum stat_id stat);
const char *stats_meaning(enum stat_id stat);
enum stat_kind stats_kind(enum stat_id stat);
