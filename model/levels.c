/* model/levels.c - the period of a level. */
#include "model/levels.h"

#include "model/feed.h"

#define FLOOR_S 300

int64_t levels_period_s(const struct levels *levels, int level, int64_t own_s)
{
    bool is_own = level == LEVEL_EXACT || (level == 1 && own_s > 0);
    int64_t s = is_own ? own_s : levels->period_s[level < 0 || level > 2 ? 1 : level];

    return s < 1 ? 1 : s;
}

int64_t levels_gap_period_s(int64_t period_s)
{
    int64_t half = period_s / 2 > FLOOR_S ? period_s / 2 : FLOOR_S;

    return half < period_s ? half : period_s;
}
