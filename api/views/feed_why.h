/* api/views/feed_why.h - says in a sentence why a feed is fetched when it is. Pure; any thread. */
#pragma once

#include "api/views/host_rests.h"
#include "base/arena.h"
#include "model/feed.h"
#include "model/levels.h"

/* The next fetch of a feed. Its host may have asked for a pause, which the feed's own row does not know. */
struct feed_next {
    int64_t at; /* TIME_UNKNOWN: none is planned */
    enum fetch_reason reason;
    struct str why; /* a literal, or in the arena */
};
struct feed_next feed_why_next(struct arena *a, const struct feed *feed, const struct levels *levels,
                               const struct host_rests *rests);

/* The same without the words: why it is at that time. */
enum fetch_reason feed_why_reason(const struct host_until *until, int64_t at, enum fetch_reason reason);

/* Seconds between two fetches, as it is now: level and own_s as levels_period_s() has them. */
int64_t feed_why_period_s(const struct levels *levels, int level, int64_t own_s, enum fetch_reason next);

/* Why a fetch was made. */
const char *feed_why_then(enum fetch_reason reason);
