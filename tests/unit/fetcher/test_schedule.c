/* tests/unit/fetcher/test_schedule.c - when a feed is fetched next, and why. */
#include "tests/unit/cmocka_all.h"

#include "fetcher/schedule.h"

#define NOW 1700000000 /* Tuesday, 2023-11-14 22:13:20 UTC */
#define HOUR 3600
#define DAY 86400

static const struct schedule_rules rules = {
    .levels = {{DAY, 1800, 300}}, .backoff_max_s = DAY, .unused_s = 30 * (int64_t)DAY};

static struct schedule_facts facts_of(int level, int64_t period_s)
{
    return (struct schedule_facts){
        .event = SCHEDULE_OK,
        .now = NOW,
        .started_at = NOW,
        .feed_id = 7,
        .level = level,
        .period_s = period_s,
        .n_subscriptions = 1,
        .wanted_at = TIME_UNKNOWN,
    };
}

static void assert_within(int64_t at, int64_t from_s, int64_t to_s)
{
    assert_true(at - NOW >= from_s);
    assert_true(at - NOW <= to_s);
}

/* SCHED-01, SCHED-16: which of the wishes decides, and how far it stretches a level's period. */
static void test_schedule__longest_wish_decides(void **state UNUSED)
{
    static const struct {
        int level;
        struct doc_hint_row hints;
        int64_t wait_s;
        enum fetch_reason reason;
    } rows[] = {
        {0, {0}, DAY, REASON_PERIOD},
        {1, {0}, 1800, REASON_PERIOD},
        {2, {0}, 300, REASON_PERIOD},
        {1, {.max_age_s = 60}, 1800, REASON_PERIOD},
        {1, {.max_age_s = 7200}, 7200, REASON_MAX_AGE},
        {1, {.ttl_s = 7200}, 7200, REASON_TTL},
        {2, {.ttl_s = 7200}, 7200, REASON_TTL},
        {1, {.sy_period_s = 4 * HOUR}, 4 * HOUR, REASON_TTL},
        {1, {.max_age_s = 3 * HOUR, .ttl_s = 2 * HOUR}, 3 * HOUR, REASON_MAX_AGE},
        {1, {.max_age_s = 2 * HOUR, .ttl_s = 3 * HOUR}, 3 * HOUR, REASON_TTL},
        {1, {.max_age_s = 365 * DAY}, DAY, REASON_MAX_AGE},
        {1, {.ttl_s = 40 * DAY}, DAY, REASON_TTL},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct schedule_facts facts = facts_of(rows[i].level, 0);
        struct schedule_decision d;

        facts.hints = rows[i].hints;
        d = schedule_next(&rules, &facts);
        assert_within(d.next_at, rows[i].wait_s, rows[i].wait_s + rows[i].wait_s / 50);
        assert_int_equal(d.reason, rows[i].reason);
    }
}

/* SCHED-02, SCHED-16: exact periods are kept to the second, whatever the feed says. */
static void test_schedule__exact_period_is_exact(void **state UNUSED)
{
    struct schedule_facts facts = facts_of(LEVEL_EXACT, 10);
    struct schedule_decision d;

    facts.hints = (struct doc_hint_row){.max_age_s = DAY,
                                        .ttl_s = DAY,
                                        .sy_period_s = DAY,
                                        .skip_hours = 0xFFFFFF,
                                        .skip_days = 127};
    for (facts.feed_id = 1; facts.feed_id < 100; facts.feed_id++) {
        d = schedule_next(&rules, &facts);
        assert_int_equal(d.next_at, NOW + 10);
        assert_int_equal(d.reason, REASON_PERIOD);
    }
    facts.started_at = NOW - 4; /* a slow publisher: counted from the request */
    assert_int_equal(schedule_next(&rules, &facts).next_at, NOW + 6);
    facts.started_at = NOW - 25;
    assert_int_equal(schedule_next(&rules, &facts).next_at, NOW + 1);
}

/* SCHED-14: errors double the wait up to a day and never end it; the first retry keeps the period.
 */
static void test_schedule__errors_back_off(void **state UNUSED)
{
    static const struct {
        int level;
        int64_t period_s;
        int n_errors;
        int64_t wait_s;
    } rows[] = {
        {1, 0, 1, 1800},
        {1, DAY, 1, 1800}, /* as seldom as it posts */
        {1, 600, 1, 600},
        {1, 0, 2, 3600},
        {1, 0, 3, 7200},
        {1, 0, 6, 57600},
        {1, 0, 7, DAY},
        {1, 0, 1000000, DAY},
        {2, 0, 1, 300},
        {0, 0, 1, 1800},
        {LEVEL_EXACT, 10, 1, 10},
        {LEVEL_EXACT, 10, 3, 40},
        {LEVEL_EXACT, 5 * DAY, 1, DAY},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (int64_t id = 1; id < 50; id++) {
            struct schedule_facts facts = facts_of(rows[i].level, rows[i].period_s);
            struct schedule_decision d;

            facts.event = SCHEDULE_ERROR;
            facts.feed_id = id;
            facts.n_errors = rows[i].n_errors;
            d = schedule_next(&rules, &facts);
            assert_within(d.next_at, rows[i].wait_s - rows[i].wait_s / 10,
                          rows[i].wait_s + rows[i].wait_s / 10);
            assert_true(d.next_at - NOW <= DAY);
            assert_int_equal(d.reason, REASON_BACKOFF);
            if (rows[i].n_errors == 1)
                assert_int_equal(d.next_at - NOW, rows[i].wait_s);
        }
    }
}

/* DELIV-03: a feed that fails is asked when it is to be told as broken, but one of an exact period only then. */
static void test_schedule__a_failing_feed_is_asked_when_it_breaks(void **state UNUSED)
{
    static const struct {
        int level;
        int64_t period_s, broken_s, wait_s;
    } rows[] = {
        {0, 0, 600, 600},   {1, 0, 1799, 1799}, {1, 0, 7200, 1800},        {1, 0, -1, 1800},
        {2, 0, 299, 299},   {2, 0, 301, 300},   {LEVEL_EXACT, DAY, 10, DAY},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct schedule_facts facts = facts_of(rows[i].level, rows[i].period_s);

        facts.event = SCHEDULE_ERROR;
        facts.n_errors = 1;
        facts.broken_at = NOW + rows[i].broken_s;
        assert_int_equal(schedule_next(&rules, &facts).next_at - NOW, rows[i].wait_s);
    }
}

/* Feeds that fail together do not come back together, and the same feed decides the same. */
static void test_schedule__jitter_is_deterministic_and_spreads(void **state UNUSED)
{
    struct schedule_facts facts = facts_of(1, 0);
    int64_t first, n_other = 0;

    facts.event = SCHEDULE_ERROR;
    facts.n_errors = 4;
    first = schedule_next(&rules, &facts).next_at;
    assert_int_equal(schedule_next(&rules, &facts).next_at, first);
    for (facts.feed_id = 100; facts.feed_id < 200; facts.feed_id++)
        n_other += schedule_next(&rules, &facts).next_at != first;
    assert_true(n_other > 90);
}

/* SCHED-14, ETIQ-03: never before Retry-After, within a tenth after it; a day is the most. A host that refuses again is
 * asked at its period, too. */
static void test_schedule__retry_after_is_kept(void **state UNUSED)
{
    static const struct {
        int level;
        int64_t period_s, retry_after_s, wait_s, again_s;
    } rows[] = {
        {1, 0, 7200, 7200, 7200},
        {1, 0, 60, 60, 1800},
        {0, 0, 60, 60, DAY},
        {LEVEL_EXACT, 10, 30, 30, 30},
        {LEVEL_EXACT, 10, 2, 2, 10},
        {LEVEL_EXACT, 3600, 60, 60, 3600},
        {1, 0, 365 * DAY, DAY, DAY},
        {1, 0, INT64_MAX, DAY, DAY},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct schedule_facts facts = facts_of(rows[i].level, rows[i].period_s);
        struct schedule_decision d;

        facts.event = SCHEDULE_LIMITED;
        facts.retry_after_s = rows[i].retry_after_s;
        for (facts.n_errors = 1; facts.n_errors <= 3; facts.n_errors++) {
            int64_t wait_s = facts.n_errors == 1 ? rows[i].wait_s : rows[i].again_s;

            d = schedule_next(&rules, &facts);
            assert_within(d.next_at, wait_s, wait_s + wait_s / 10);
            assert_int_equal(d.reason, REASON_RETRY_AFTER);
        }
    }
}

/* ETIQ-06: 410 is asked at its period, at least every six hours, until it is believed; then once a week. */
static void test_schedule__gone(void **state UNUSED)
{
    static const struct {
        int level;
        int64_t period_s, wait_s;
    } rows[] = {{0, 0, 6 * HOUR},
                {1, 0, 1800},
                {2, 0, 300},
                {LEVEL_EXACT, 10, 10},
                {LEVEL_EXACT, 7 * DAY, 6 * HOUR}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct schedule_facts facts = facts_of(rows[i].level, rows[i].period_s);
        struct schedule_decision d;

        facts.n_errors = 3;
        facts.event = SCHEDULE_GONE;
        d = schedule_next(&rules, &facts);
        assert_int_equal(d.next_at - NOW, rows[i].wait_s);
        assert_int_equal(d.reason, REASON_PERIOD);
        facts.event = SCHEDULE_ASLEEP;
        d = schedule_next(&rules, &facts);
        assert_within(d.next_at, 7 * DAY, 7 * DAY + HOUR);
        assert_int_equal(d.reason, REASON_GONE);
    }
    assert_false(schedule_is_gone(2, 10 * DAY));
    assert_false(schedule_is_gone(100, DAY - 1));
    assert_true(schedule_is_gone(3, DAY));
}

/* ETIQ-10: after a gap level 1 is asked more often; what was asked for exactly is not. */
static void test_schedule__a_gap_shortens_the_period(void **state UNUSED)
{
    static const struct {
        int level;
        int64_t period_s, wait_s;
    } rows[] = {{0, 0, DAY},    {1, 0, 900},  {1, 7000, 3500},
                {1, 400, 300}, {2, 0, 300}, {LEVEL_EXACT, 1000, 1000}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct schedule_facts facts = facts_of(rows[i].level, rows[i].period_s);
        struct schedule_decision d;

        facts.has_gap = true;
        d = schedule_next(&rules, &facts);
        assert_within(d.next_at, rows[i].wait_s, rows[i].wait_s + rows[i].wait_s / 50);
        assert_int_equal(d.reason, rows[i].level == 1 ? REASON_GAP : REASON_PERIOD);
        facts.hints.ttl_s = 7200; /* the publisher's wish is above it */
        if (rows[i].level == 1)
            assert_int_equal(schedule_next(&rules, &facts).reason, REASON_TTL);
    }
}

/* ETIQ-01: level 1 has the period that follows from how the feed posts, and the rules that lengthen a
 * level's period are the same for it. The other levels do not look at it. */
static void test_schedule__level_1_adapts(void **state UNUSED)
{
    static const struct {
        int level;
        int64_t period_s, ttl_s, wait_s;
        enum fetch_reason reason;
    } rows[] = {
        {1, 300, 0, 300, REASON_PERIOD},      {1, DAY, 0, DAY, REASON_PERIOD},
        {1, 600, 2 * HOUR, 2 * HOUR, REASON_TTL}, {1, 4 * HOUR, 2 * HOUR, 4 * HOUR, REASON_PERIOD},
        {0, 600, 0, DAY, REASON_PERIOD},      {2, 600, 0, 300, REASON_PERIOD},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct schedule_facts facts = facts_of(rows[i].level, rows[i].period_s);
        struct schedule_decision d;

        facts.hints.ttl_s = rows[i].ttl_s;
        d = schedule_next(&rules, &facts);
        assert_within(d.next_at, rows[i].wait_s, rows[i].wait_s + rows[i].wait_s / 50);
        assert_int_equal(d.reason, rows[i].reason);
    }
}

/* D49: what nobody wants is not scheduled, also when it is gone. */
static void test_schedule__unused_is_not_scheduled(void **state UNUSED)
{
    struct schedule_facts facts = facts_of(1, 0);

    facts.n_subscriptions = 0;
    assert_true(schedule_next(&rules, &facts).next_at == TIME_UNKNOWN);
    facts.wanted_at = NOW - 31 * (int64_t)DAY;
    assert_true(schedule_next(&rules, &facts).next_at == TIME_UNKNOWN);
    facts.wanted_at = NOW - 29 * (int64_t)DAY;
    assert_true(schedule_next(&rules, &facts).next_at > NOW);
    facts.event = SCHEDULE_ERROR;
    facts.wanted_at = NOW - 31 * (int64_t)DAY;
    assert_true(schedule_next(&rules, &facts).next_at == TIME_UNKNOWN);
    facts.event = SCHEDULE_ASLEEP;
    assert_true(schedule_next(&rules, &facts).next_at == TIME_UNKNOWN);
}

/* SCHED-16: an hour or a day that the feed excludes is passed over, but never more than a day. */
static void test_schedule__skip_hours_and_days(void **state UNUSED)
{
    struct schedule_facts facts = facts_of(1, 0); /* due at 22:43 on a Tuesday */
    struct schedule_decision d;
    struct civil t;

    facts.hints.skip_hours = 1u << 22 | 1u << 23 | 1u << 0;
    d = schedule_next(&rules, &facts);
    t = clock_civil(d.next_at);
    assert_int_equal(t.hour, 1);
    assert_int_equal(t.weekday, 2);
    assert_true(t.minute < 5);
    assert_int_equal(d.reason, REASON_SKIP);

    facts.hints.skip_hours = 1u << 21;
    assert_int_equal(schedule_next(&rules, &facts).reason, REASON_PERIOD);

    facts.hints = (struct doc_hint_row){.skip_days = 1u << 1}; /* Tuesday */
    d = schedule_next(&rules, &facts);
    t = clock_civil(d.next_at);
    assert_int_equal(t.weekday, 2);
    assert_int_equal(t.hour, 0);

    facts.hints = (struct doc_hint_row){.skip_days = 1u << 1 | 1u << 2 | 1u << 3};
    assert_int_equal(schedule_next(&rules, &facts).next_at, NOW + DAY);

    facts.hints = (struct doc_hint_row){.skip_hours = 0xFFFFFF, .skip_days = 127};
    d = schedule_next(&rules, &facts);
    assert_within(d.next_at, 1800, 1836);
}

/* An outage of ours: soon again, and not later than the period. */
static void test_schedule__outage_is_tried_again_soon(void **state UNUSED)
{
    struct schedule_facts facts = facts_of(0, 0);

    facts.event = SCHEDULE_OUTAGE;
    facts.n_errors = 9;
    assert_within(schedule_next(&rules, &facts).next_at, 30, 60);
    facts = facts_of(LEVEL_EXACT, 10);
    facts.event = SCHEDULE_OUTAGE;
    assert_int_equal(schedule_next(&rules, &facts).next_at, NOW + 10);
}

/* A level-0 period longer than a day is the ceiling itself. */
static void test_schedule__ceiling_follows_level_0(void **state UNUSED)
{
    struct schedule_rules slow = rules;
    struct schedule_facts facts = facts_of(0, 0);

    slow.levels.period_s[0] = 3 * DAY;
    assert_within(schedule_next(&slow, &facts).next_at, 3 * DAY, 3 * DAY + 3 * DAY / 50);
}

/* SCHED-04, SCHED-05, SCHED-06. */
static void test_schedule__levels_move_by_table(void **state UNUSED)
{
    static const struct {
        int level;
        bool pinged, updated;
        int next;
    } rows[] = {
        {0, false, false, 0},
        {0, false, true, 1},
        {0, true, false, 0},
        {0, true, true, 0},
        {1, false, false, 1},
        {1, false, true, 1},
        {1, true, false, 0},
        {1, true, true, 0},
        {2, false, false, 2},
        {2, false, true, 2},
        {2, true, false, 2},
        {2, true, true, 2},
        {LEVEL_EXACT, false, true, LEVEL_EXACT},
        {LEVEL_EXACT, true, true, LEVEL_EXACT},
        {LEVEL_EXACT, true, false, LEVEL_EXACT},
        {LEVEL_EXACT, false, false, LEVEL_EXACT},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(schedule_level(rows[i].level, rows[i].pinged, rows[i].updated),
                         rows[i].next);
}

/* SUBR-306: each poll that a hub had told of doubles the period, up to the backup's; publishers who
 * ask for more get it, exact periods and hubs without trust change nothing. */
static void test_schedule__a_working_hub_slows_polls(void **state UNUSED)
{
    static const struct {
        int level, trust;
        int64_t ttl_s, wait_s;
        enum fetch_reason reason;
    } rows[] = {
        {2, -1, 0, 300, REASON_PERIOD},
        {2, 0, 0, 300, REASON_PERIOD},
        {2, 1, 0, 600, REASON_HUB},
        {2, 3, 0, 2400, REASON_HUB},
        {2, TRUST_FULL, 0, 6 * HOUR, REASON_HUB},
        {1, TRUST_FULL, 0, 6 * HOUR, REASON_HUB},
        {2, TRUST_FULL, 7 * HOUR, 7 * HOUR, REASON_TTL},
        {0, TRUST_FULL, 0, DAY, REASON_PERIOD},
        {LEVEL_EXACT, TRUST_FULL, 0, 10, REASON_PERIOD},
    };
    struct schedule_rules slow = rules;

    slow.hub_backup_s = 6 * HOUR;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct schedule_facts facts = facts_of(rows[i].level, rows[i].level == LEVEL_EXACT ? 10 : 0);
        struct schedule_decision d;

        facts.upstream_trust = rows[i].trust;
        facts.hints.ttl_s = rows[i].ttl_s;
        d = schedule_next(&slow, &facts);
        assert_within(d.next_at, rows[i].wait_s, rows[i].wait_s + rows[i].wait_s / 50);
        assert_int_equal(d.reason, rows[i].reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule__longest_wish_decides),
        cmocka_unit_test(test_schedule__exact_period_is_exact),
        cmocka_unit_test(test_schedule__errors_back_off),
        cmocka_unit_test(test_schedule__a_failing_feed_is_asked_when_it_breaks),
        cmocka_unit_test(test_schedule__jitter_is_deterministic_and_spreads),
        cmocka_unit_test(test_schedule__retry_after_is_kept),
        cmocka_unit_test(test_schedule__gone),
        cmocka_unit_test(test_schedule__a_gap_shortens_the_period),
        cmocka_unit_test(test_schedule__level_1_adapts),
        cmocka_unit_test(test_schedule__unused_is_not_scheduled),
        cmocka_unit_test(test_schedule__skip_hours_and_days),
        cmocka_unit_test(test_schedule__outage_is_tried_again_soon),
        cmocka_unit_test(test_schedule__ceiling_follows_level_0),
        cmocka_unit_test(test_schedule__levels_move_by_table),
        cmocka_unit_test(test_schedule__a_working_hub_slows_polls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
