/* fetcher/schedule.h - when is a feed fetched next, and why? Pure.
 *
 * One ladder, each rung with a reason that the API shows: gone or unused feeds are not scheduled; a
 * publisher who asks for time gets it; errors back off; an exact period is kept exactly; a level's
 * period is stretched by what the publisher says (max-age, ttl, sy:*, skipHours, skipDays), but
 * not beyond a day; and doubled for each poll by which a hub has proved that it tells of updates.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/feed.h"

struct schedule_rules {
    int64_t level_period_s[3];
    int64_t backoff_max_s;
    int64_t hub_backup_s; /* longest period of polls while a hub tells of updates */
    int64_t unused_s;     /* unsubscribed feeds are swept so long after a reader asked */
};

enum schedule_event {
    SCHEDULE_OK, /* a document, or the same one again */
    SCHEDULE_ERROR,
    SCHEDULE_LIMITED, /* 429 or 503 with Retry-After */
    SCHEDULE_GONE,    /* 410 */
    SCHEDULE_OUTAGE,  /* the failure is ours: nobody is charged */
};

struct schedule_facts {
    enum schedule_event event;
    int64_t now;           /* Unix seconds, like the next */
    int64_t started_at;    /* of this fetch: periods count from it */
    int64_t feed_id;       /* spreads feeds that would meet */
    int level;             /* as it is from now on */
    int64_t period_s;      /* for LEVEL_EXACT */
    int n_errors;          /* in a row, this one counted */
    int64_t retry_after_s; /* SCHEDULE_LIMITED */
    struct doc_hint_row hints;
    int n_subscriptions;
    int64_t wanted_at; /* last reader; TIME_UNKNOWN */
    int hub_trust; /* polls in a row that a working hub had told of all; -1: no hub to rely on */
};

struct schedule_decision {
    int64_t next_at; /* TIME_UNKNOWN: not scheduled */
    enum fetch_reason reason;
};

struct schedule_decision schedule_next(const struct schedule_rules *rules,
                                       const struct schedule_facts *facts);

/* Seconds between two fetches of a feed that says nothing. */
int64_t schedule_period_s(const struct schedule_rules *rules, int level, int64_t period_s);

/* The level after a fetch (SCHED-04, -05, -06): a ping takes level 1 to 0; an update that nobody
 * announced takes 0 to 1; level 2 and exact periods stay. */
int schedule_level(int level, bool pinged, bool updated);
