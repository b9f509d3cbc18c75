/* model/levels.h - how often the feeds of a level are polled. Plain data, pure; any thread.
 *
 * The storage, the fetcher and the API each have a copy, because each computes a time from it.
 * After a reload all three get the same new copy.
 */
#pragma once

#include <stdint.h>

struct levels {
    int64_t period_s[3]; /* of levels 0, 1, 2 */
};

/* Seconds between two polls of a feed: `own_s` for LEVEL_EXACT (model/feed.h), and for level 1 if it
 * is not 0, because it follows from how the feed posts; else the period of its level. An unknown
 * level counts as level 1. At least 1. */
int64_t levels_period_s(const struct levels *levels, int level, int64_t own_s);

/* The period of a feed of level 1 that may have missed entries (ETIQ-10), from its period without that: half of it, but
 * nothing shorter than five minutes becomes of it. */
int64_t levels_gap_period_s(int64_t period_s);
