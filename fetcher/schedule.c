/* fetcher/schedule.c - the rules of schedule.h in their order, one function each. */
#include "fetcher/schedule.h"

#include "base/digest.h"

#define DAY_S 86400
#define OUTAGE_RETRY_S 30
#define GONE_TIMES 3         /* answers 410, ... */
#define GONE_S DAY_S         /* ... from the first to the last, before a feed is put to sleep */
#define GONE_ASK_S (6 * 3600) /* longest pause until then */
#define PROBE_S (7 * DAY_S)  /* pause of a feed that is asleep */

static int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns a number in [0, n). It is the same for the same feed and time, and differs between feeds.
 */
static int64_t spread(const struct schedule_facts *facts, int64_t n)
{
    int64_t key[2] = {facts->feed_id, facts->started_at};
    unsigned char hash[16];
    uint64_t x = 0;

    if (n <= 1)
        return 0;
    digest_content(str_of((const char *)key, sizeof key), hash);
    for (size_t i = 0; i < sizeof x; i++)
        x = x << 8 | hash[i];
    return (int64_t)(x % (uint64_t)n);
}

bool schedule_is_gone(int n_gone, int64_t for_s)
{
    return n_gone >= GONE_TIMES && for_s >= GONE_S;
}

int schedule_level(int level, bool pinged, bool updated)
{
    if (level == 1 && pinged)
        return 0;
    if (level == 0 && updated && !pinged)
        return 1;
    return level;
}

/* Errors double the period, give or take 10 %, up to the limit. A feed that is swept only once a
 * day, or as seldom as it posts, is first tried again with the period of level 1: the ping that
 * started this fetch may be the last one. */
static struct schedule_decision after_error(const struct schedule_rules *rules,
                                            const struct schedule_facts *facts)
{
    int64_t period = levels_period_s(&rules->levels, facts->level, facts->period_s);
    int64_t ceiling = max_i64(rules->backoff_max_s, 1);
    int64_t wait, tenth;
    int doublings = facts->n_errors > 1 ? facts->n_errors - 1 : 0;

    if (facts->level == 0 || facts->level == 1)
        period = min_i64(period, levels_period_s(&rules->levels, 1, 0));
    wait = min_i64(period, ceiling);
    while (doublings-- > 0 && wait < ceiling)
        wait = min_i64(wait * 2, ceiling);
    tenth = wait / 10;
    if (facts->n_errors > 1) /* the first retry comes after the normal period */
        wait = min_i64(wait - tenth + spread(facts, 2 * tenth + 1), ceiling);
    if (facts->broken_at > facts->now && facts->level != LEVEL_EXACT)
        wait = min_i64(wait, facts->broken_at - facts->now);
    return (struct schedule_decision){facts->now + wait, REASON_BACKOFF};
}

static struct schedule_decision after_limit(const struct schedule_rules *rules,
                                            const struct schedule_facts *facts)
{
    int64_t period = levels_period_s(&rules->levels, facts->level, facts->period_s);
    int64_t wait = min_i64(max_i64(facts->retry_after_s, 0), DAY_S);

    /* after the first refusal it comes back with the other feeds of its host */
    if (facts->n_errors > 1)
        wait = max_i64(wait, min_i64(period, DAY_S));

    /* feeds of one host must not come back at the same time, nor earlier than the host asked */
    wait += spread(facts, min_i64(wait / 10, 600) + 1);
    return (struct schedule_decision){facts->now + wait, REASON_RETRY_AFTER};
}

static struct schedule_decision after_gone(const struct schedule_rules *rules,
                                           const struct schedule_facts *facts)
{
    int64_t period = levels_period_s(&rules->levels, facts->level, facts->period_s);

    if (facts->event == SCHEDULE_ASLEEP)
        return (struct schedule_decision){facts->now + PROBE_S + spread(facts, 3600), REASON_GONE};
    return (struct schedule_decision){facts->now + min_i64(period, GONE_ASK_S), REASON_PERIOD};
}

/* Feeds of level 1 that may have lost entries are asked twice as often. */
static bool is_shortened(const struct schedule_facts *facts, int64_t period)
{
    return facts->has_gap && facts->level == 1 && levels_gap_period_s(period) < period;
}

static bool is_skipped(const struct doc_hint_row *hints, const struct civil *t)
{
    return (hints->skip_hours >> t->hour & 1) != 0 || (hints->skip_days >> t->weekday & 1) != 0;
}

/* Returns the first time from `at` on that is outside skipHours and skipDays. Returns `at` when
 * these cover the whole week. */
static int64_t skip_forward(const struct schedule_facts *facts, int64_t at)
{
    struct civil t = clock_civil(at);
    int64_t hour_at;

    if (!is_skipped(&facts->hints, &t))
        return at;
    hour_at = at - t.minute * 60 - t.second;
    for (int i = 1; i <= 7 * 24; i++) {
        t = clock_civil(hour_at + i * (int64_t)3600);
        if (!is_skipped(&facts->hints, &t))
            return hour_at + i * (int64_t)3600 + spread(facts, 300);
    }
    return at;
}

static struct schedule_decision after_success(const struct schedule_rules *rules,
                                              const struct schedule_facts *facts)
{
    int64_t period = levels_period_s(&rules->levels, facts->level, facts->period_s);
    int64_t ceiling = max_i64(DAY_S, rules->levels.period_s[0]);
    int64_t own = max_i64(facts->hints.ttl_s, facts->hints.sy_period_s);
    struct schedule_decision d = {0, REASON_PERIOD};
    int64_t at;

    if (facts->level == LEVEL_EXACT) {
        d.next_at = facts->started_at + period;
        if (d.next_at <= facts->now) /* the fetch took longer than the period */
            d.next_at = facts->now + 1;
        return d;
    }
    if (is_shortened(facts, period)) {
        period = levels_gap_period_s(period);
        d.reason = REASON_GAP;
    }
    if (facts->hints.max_age_s > period) {
        period = facts->hints.max_age_s;
        d.reason = REASON_MAX_AGE;
    }
    if (own > period) {
        period = own;
        d.reason = REASON_TTL;
    }
    if (facts->upstream_trust > 0) {
        int64_t slow = period;

        for (int i = 0; i < facts->upstream_trust && slow < rules->hub_backup_s; i++)
            slow = min_i64(slow * 2, rules->hub_backup_s);
        if (slow > period) {
            period = slow;
            d.reason = REASON_HUB;
        }
    }
    period = min_i64(period, ceiling);
    at = max_i64(facts->started_at + period, facts->now + 1);
    at += spread(facts, period / 50 + 1); /* so that feeds that were added together drift apart */
    d.next_at = skip_forward(facts, at);
    if (d.next_at != at)
        d.reason = REASON_SKIP;
    /* the publisher cannot make the period longer than a day; the spread above can */
    d.next_at = min_i64(d.next_at, max_i64(facts->started_at + ceiling, at));
    return d;
}

struct schedule_decision schedule_next(const struct schedule_rules *rules,
                                       const struct schedule_facts *facts)
{
    if (facts->n_subscriptions == 0 &&
        (facts->wanted_at == TIME_UNKNOWN || facts->now - facts->wanted_at > rules->unused_s))
        return (struct schedule_decision){TIME_UNKNOWN, REASON_GONE};
    switch (facts->event) {
    case SCHEDULE_ERROR:
        return after_error(rules, facts);
    case SCHEDULE_LIMITED:
        return after_limit(rules, facts);
    case SCHEDULE_GONE:
    case SCHEDULE_ASLEEP:
        return after_gone(rules, facts);
    case SCHEDULE_OUTAGE:
        return (struct schedule_decision){
            facts->now + min_i64(levels_period_s(&rules->levels, facts->level, facts->period_s),
                                 OUTAGE_RETRY_S + spread(facts, OUTAGE_RETRY_S)),
            REASON_BACKOFF};
    default:
        return after_success(rules, facts);
    }
}
