/* fetcher/schedule.h - decides when a feed is fetched next, and why. Pure.
 *
 * The rules are tried in order, and each has a reason that the API shows. Unused feeds are not
 * scheduled. A feed that answers 410 is asked at its period, at least every six hours, until that has
 * been so for a day; then once a week. One of level 1 that may have lost entries is asked twice as
 * often. When a publisher asks for a pause, the feed is fetched after it; if it asks again, not before the feed's
 * period, too. After errors, the pauses grow, but it is asked once when it is to be told as broken (DELIV-03). An exact period is kept exactly. That of level 1 may follow from how the feed posts
 * (fetcher/adapt.h); the rules are the same for it. The period of a level becomes longer when the
 * publisher asks for it (max-age, ttl, sy:*, skipHours, skipDays), but not longer than a day. It
 * doubles with each poll that shows that a hub has told of all updates.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/feed.h"
#include "model/levels.h"

struct schedule_rules {
    struct levels levels;
    int64_t backoff_max_s;
    int64_t hub_backup_s; /* longest period of polls while a hub tells of updates */
    bool adapts;             /* periods of level 1 follow from how feeds post */
    int64_t adaptive_budget; /* fetches a day of all these feeds; 0: there is no bound */
    double price; /* of a fetch, now, with a budget (fetcher/price.h); 0: no feed is counted yet */
    int64_t unused_s; /* a feed without subscriptions is swept for this time after a reader asked
                         for it */
};

enum schedule_event {
    SCHEDULE_OK, /* a document, or the same one again */
    SCHEDULE_ERROR,
    SCHEDULE_LIMITED, /* 429, or 503 with Retry-After */
    SCHEDULE_GONE,    /* 410, but not for long enough to believe it */
    SCHEDULE_ASLEEP,  /* 410 for a day, and not there since */
    SCHEDULE_OUTAGE,  /* our own connection failed: the feed gets no error */
};

struct schedule_facts {
    enum schedule_event event;
    int64_t now;           /* Unix seconds, like the next */
    int64_t started_at;    /* start of this fetch; periods are counted from it */
    int64_t feed_id;       /* used to spread feeds that would be due at the same time */
    int level;             /* the level from now on */
    int64_t period_s;      /* for LEVEL_EXACT; of level 1 what follows from how it posts, or 0 */
    int n_errors;          /* in a row, this one counted */
    int64_t broken_at;     /* when it becomes a broken one if it goes on failing; 0: it is not to be known then */
    int64_t retry_after_s; /* SCHEDULE_LIMITED */
    struct doc_hint_row hints;
    int n_subscriptions;
    bool has_gap;       /* entries may have been missed lately */
    int64_t wanted_at;  /* when a reader last asked for the feed; or TIME_UNKNOWN */
    int upstream_trust; /* polls in a row before which a working hub had told of all updates; -1:
                           the feed has no such hub */
};

struct schedule_decision {
    int64_t next_at; /* TIME_UNKNOWN: not scheduled */
    enum fetch_reason reason;
};

struct schedule_decision schedule_next(const struct schedule_rules *rules,
                                       const struct schedule_facts *facts);

/* Is a feed that answered 410 so often, for so many seconds from the first to the last, gone (ETIQ-06)? */
bool schedule_is_gone(int n_gone, int64_t for_s);

/* For so long after a gap the period is shorter (ETIQ-10). */
#define SCHEDULE_GAP_S (INT64_C(7) * 86400)

/* The level after a fetch (SCHED-04, -05, -06): a ping takes level 1 to 0; an update that nobody
 * announced takes 0 to 1; level 2 and exact periods stay. */
int schedule_level(int level, bool pinged, bool updated);
