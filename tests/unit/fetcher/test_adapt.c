/* tests/unit/fetcher/test_adapt.c - what the posting of a feed teaches, and how the fetches of a budget are shared. */
#include "tests/unit/cmocka_all.h"

#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "fetcher/adapt.h"
#include "fetcher/budget.h"

#define MONDAY INT64_C(1700438400) /* 2023-11-20 00:00:00 UTC */
#define HOUR 3600
#define DAY 86400
#define PRICE 0.02 /* entry-days */

/* A feed that posts at the given hours of each day, with right dates, fetched each hour for some days. */
static struct pace watched(int days, const int *hours, size_t n_hours, int shown)
{
    struct pace p = PACE_INIT;

    for (int64_t at = MONDAY; at <= MONDAY + days * (int64_t)DAY; at += HOUR) {
        int64_t date = at - HOUR / 2;
        struct sight s = {.at = at, .n_shown = shown, .dates = &date};

        for (size_t i = 0; i < n_hours; i++)
            if (date >= MONDAY && (date - MONDAY) % DAY / HOUR == hours[i])
                s.n_new = (int64_t)(s.n_dates = 1);
        adapt_learn(&p, &s);
    }
    adapt_decide(&p, PRICE);
    return p;
}

static struct pace steady(double rate)
{
    struct pace p = PACE_INIT;

    p.seen_at = MONDAY;
    p.n_fetches = 100;
    p.days = 30;
    p.count = 30 * rate;
    p.shown = 1000;
    adapt_decide(&p, PRICE);
    return p;
}

/* ETIQ-01 */
static void test_adapt__period_goes_with_the_root_of_the_rate(void **state UNUSED)
{
    struct pace slow = steady(2), fast = steady(32);

    assert_true(llabs(slow.period_s - 4 * fast.period_s) <= 8);
    assert_int_equal(PACE_RATE, fast.why);
    assert_int_equal(ADAPT_FLOOR_S, steady(1e6).period_s);
    assert_int_equal(PACE_FLOOR, steady(1e6).why);
    assert_int_equal(ADAPT_CEILING_S, steady(0.001).period_s);
    assert_int_equal(PACE_CEILING, steady(0.001).why);
}

/* ETIQ-01: the hours at which a feed posts are asked more often than those at which it does not. */
static void test_adapt__hours_have_a_rhythm(void **state UNUSED)
{
    static const int hours[] = {8, 9, 10, 11};
    struct pace p = watched(28, hours, ARRAY_LEN(hours), 20);
    int64_t by_night;

    assert_true(pace_rate(&p) > 3.5 && pace_rate(&p) < 4.5);
    by_night = p.period_s;
    p.seen_at += 8 * HOUR;
    adapt_decide(&p, PRICE);
    assert_true(3 * p.period_s < by_night);
}

/* ETIQ-01: a feed that ends, or begins, is noticed. */
static void test_adapt__a_change_of_rate_is_followed(void **state UNUSED)
{
    static const int hours[] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22};
    struct pace p = watched(10, hours, ARRAY_LEN(hours), 20);
    int64_t was = p.period_s;

    for (int i = 0; i < 21; i++)
        adapt_learn(&p, &(struct sight){.at = p.seen_at + DAY});
    assert_true(pace_rate(&p) < 0.3);
    adapt_decide(&p, PRICE);
    assert_true(p.period_s > 4 * was);
    for (int i = 0; i < 24; i++)
        adapt_learn(&p, &(struct sight){.at = p.seen_at + HOUR, .n_new = 2, .n_shown = 20});
    assert_true(pace_rate(&p) > 8);
}

/* ETIQ-01: the overlap of documents decides when they are short, more so after one that was all new. */
static void test_adapt__overlap_is_kept(void **state UNUSED)
{
    struct pace p = steady(40);
    int64_t by_rate = p.period_s, by_overlap;

    p.shown = 3;
    adapt_decide(&p, PRICE);
    assert_int_equal(PACE_OVERLAP, p.why);
    by_overlap = p.period_s;
    assert_true(by_overlap < by_rate);
    adapt_learn(&p, &(struct sight){.at = p.seen_at + by_overlap, .n_new = 3, .n_shown = 3});
    adapt_decide(&p, PRICE);
    assert_true(p.period_s <= by_overlap * 6 / 10 || p.period_s == ADAPT_FLOOR_S);
}

/* The first document is all that is known of the past; wrong dates do no harm. */
static void test_adapt__first_dates_tell_the_rate(void **state UNUSED)
{
    struct pace p = PACE_INIT, wrong = PACE_INIT, quick = PACE_INIT, burst = PACE_INIT;
    int64_t dates[20], bad[] = {INT64_MAX, INT64_MIN, MONDAY + 400 * (int64_t)DAY, 0, MONDAY};

    for (int i = 0; i < 20; i++)
        dates[i] = MONDAY - i * (DAY / 4) - 60;
    adapt_learn(&p, &(struct sight){.at = MONDAY, .n_new = 20, .n_shown = 20, .dates = dates, .n_dates = 20});
    assert_true(pace_rate(&p) > 3 && pace_rate(&p) < 5);
    for (int i = 0; i < 20; i++)
        dates[i] = MONDAY - i * 600 - 60;
    adapt_learn(&quick, &(struct sight){.at = MONDAY, .n_shown = 20, .dates = dates, .n_dates = 20});
    assert_true(pace_rate(&quick) > 70 && pace_rate(&quick) < 150);
    for (int i = 0; i < 20; i++) /* all at once: it says little */
        dates[i] = MONDAY - i - 60;
    adapt_learn(&burst, &(struct sight){.at = MONDAY, .n_shown = 20, .dates = dates, .n_dates = 20});
    assert_true(pace_rate(&burst) < 50);
    adapt_learn(&wrong, &(struct sight){.at = MONDAY, .n_new = 5, .n_shown = 5, .dates = bad, .n_dates = 5});
    for (int i = 1; i <= 20 * 24; i++)
        adapt_learn(&wrong, &(struct sight){.at = MONDAY + i * (int64_t)HOUR, .n_new = i % 6 == 0, .n_shown = 5,
                                            .dates = bad, .n_dates = 5});
    assert_true(pace_rate(&wrong) > 2.5 && pace_rate(&wrong) < 5);
    adapt_decide(&wrong, PRICE);
    assert_in_range(wrong.period_s, ADAPT_FLOOR_S, ADAPT_CEILING_S);
}

/* ETIQ-01: that other hours and weekdays show no entries says nothing before they were watched. */
static void test_adapt__hours_not_watched_are_no_rhythm(void **state UNUSED)
{
    struct pace p = PACE_INIT;
    int64_t dates[20];

    for (int64_t at = MONDAY; at <= MONDAY + 2 * (int64_t)DAY; at += HOUR / 2) {
        for (int i = 0; i < 20; i++)
            dates[i] = at - i * 600 - 60;
        adapt_learn(&p, &(struct sight){
                            .at = at, .n_new = at > MONDAY ? 3 : 20, .n_shown = 20, .dates = dates, .n_dates = 20});
        assert_true(pace_rate(&p) > 70 && pace_rate(&p) < 160);
        if (at - MONDAY == DAY / 2 || at - MONDAY == DAY)
            assert_true(pace_rate(&p) > 110);
    }
}

/* ETIQ-01: before a day of watching, or many entries of late, or some in weeks, nothing is known. */
static void test_adapt__what_is_known(void **state UNUSED)
{
    struct pace p = PACE_INIT, dated = PACE_INIT, rare = PACE_INIT;
    int64_t dates[10];

    assert_false(adapt_knows(&p));
    for (int i = 0; i <= 12; i++)
        adapt_learn(&p, &(struct sight){.at = MONDAY + i * (int64_t)HOUR, .n_shown = 5});
    assert_false(adapt_knows(&p));
    for (int i = 13; i <= 30; i++)
        adapt_learn(&p, &(struct sight){.at = MONDAY + i * (int64_t)HOUR, .n_shown = 5});
    assert_true(adapt_knows(&p));
    for (int i = 0; i < 10; i++)
        dates[i] = MONDAY - (i + 1) * (int64_t)600;
    adapt_learn(&dated, &(struct sight){.at = MONDAY, .n_shown = 10, .dates = dates, .n_dates = 10});
    assert_true(adapt_knows(&dated));
    for (int i = 0; i < 10; i++)
        dates[i] = MONDAY - (i + 1) * 7 * (int64_t)DAY;
    dated = PACE_INIT;
    adapt_learn(&dated, &(struct sight){.at = MONDAY, .n_shown = 10, .dates = dates, .n_dates = 10});
    assert_true(adapt_knows(&dated));
    for (int i = 0; i < 10; i++)
        dates[i] = MONDAY - (i + 1) * 30 * (int64_t)DAY;
    for (int n = 0; n < 8; n++) {
        assert_false(adapt_knows(&rare));
        adapt_learn(&rare, &(struct sight){
                               .at = MONDAY + n * (int64_t)HOUR, .n_shown = 10, .dates = dates, .n_dates = 10});
    }
    assert_true(adapt_knows(&rare));
}

/* ETIQ-01: what came and went while the daemon was stopped was not watched, so the rate is what it was. */
static void test_adapt__a_stop_is_not_watching(void **state UNUSED)
{
    int64_t dates[20], back = MONDAY + 60 * (int64_t)DAY;
    struct pace p, undated, still;

    for (int i = 0; i < 20; i++)
        dates[i] = back - i * (int64_t)HOUR - 60; /* 24 a day, of which the last 20 are shown */
    for (int with_dates = 0; with_dates < 2; with_dates++) {
        p = steady(24);
        adapt_learn(&p, &(struct sight){.at = back, .n_new = 20, .n_shown = 20, .dates = dates,
                                        .n_dates = with_dates ? 20 : 0});
        assert_true(pace_rate(&p) > 8 && pace_rate(&p) < 30);
        assert_true(p.most_new > 0.95); /* nor does it say that it is fetched too seldom */
    }
    for (int i = 0; i < 20; i++) /* all are dated when the document was made, which says as much as no date */
        dates[i] = back - i;
    undated = steady(1);
    adapt_learn(&undated, &(struct sight){.at = back, .n_new = 20, .n_shown = 20, .dates = dates, .n_dates = 20});
    assert_true(pace_rate(&undated) > 2 && pace_rate(&undated) < 15);
    undated = steady(1);
    undated.days = undated.count = 0.5; /* little is known of it, so that what is seen now decides */
    adapt_learn(&undated, &(struct sight){.at = back, .n_new = 20, .n_shown = 20, .dates = dates, .n_dates = 20});
    assert_true(pace_rate(&undated) > 5 && pace_rate(&undated) < 15); /* as without dates; half a day makes 30 */
    still = steady(10); /* what is there of the time before says that nothing was lost: all was watched */
    adapt_learn(&still, &(struct sight){.at = MONDAY + 10 * (int64_t)DAY, .n_new = 100, .n_shown = 500});
    assert_true(pace_rate(&still) > 9 && pace_rate(&still) < 11);
}

/* ETIQ-01: the guess of which every feed begins is not shown as its rate. */
static void test_adapt__a_guess_is_no_rate(void **state UNUSED)
{
    struct pace p = PACE_INIT, quiet = PACE_INIT;

    assert_false(pace_has_rate(&p));
    adapt_learn(&p, &(struct sight){.at = MONDAY, .n_new = 5, .n_shown = 5});
    assert_false(pace_has_rate(&p));
    quiet = p;
    adapt_learn(&p, &(struct sight){.at = MONDAY + HOUR, .n_new = 1, .n_shown = 5});
    assert_true(pace_has_rate(&p));
    adapt_learn(&quiet, &(struct sight){.at = MONDAY + HOUR, .n_shown = 5});
    assert_false(pace_has_rate(&quiet));
    for (int i = 2; i <= 26; i++)
        adapt_learn(&quiet, &(struct sight){.at = MONDAY + i * (int64_t)HOUR, .n_shown = 5});
    assert_true(pace_has_rate(&quiet));
}

/* A lone feed has as many fetches as it is given, unless its document is too short for that. */
static void test_adapt__a_lone_feed_keeps_its_number_of_fetches(void **state UNUSED)
{
    for (double rate = 0.01; rate < 100; rate *= 10) {
        struct pace p = steady(rate);
        struct need need = adapt_need(&p);

        adapt_decide(&p, adapt_price_of(&need, 48));
        assert_in_range(p.period_s, 1795, 1805);
    }
}

static void test_adapt__text_comes_back(void **state UNUSED)
{
    static const int hours[] = {8, 9};
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct pace p = watched(20, hours, ARRAY_LEN(hours), 20), back;
    struct str text = pace_write(&a, &p);

    assert_true(text.len <= PACE_TEXT_MAX);
    assert_true(pace_read(text, &back));
    assert_true(str_eq(text, pace_write(&a, &back)));
    assert_true(fabs(pace_rate(&back) - pace_rate(&p)) < 0.01);
    for (size_t len = 0; len < text.len; len++) /* what is cut is refused, or at least means no harm */
        if (!pace_read(str_slice(text, 0, len), &back))
            assert_int_equal(0, back.n_fetches);
    assert_false(pace_read(STR("1 0 0 0 99 0 0 0 0"), &back));
    assert_false(pace_read(STR_NULL, &back));
}

/* ETIQ-01: what is stored between fetches is forgotten as fast as what is not. */
static void test_adapt__forgets_through_its_text(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    static const int hours[] = {8};
    struct pace p = watched(20, hours, ARRAY_LEN(hours), 20), kept;
    int64_t at = p.seen_at;

    kept = p;
    for (int i = 1; i <= 30 * 288; i++) { /* a month without entries, every five minutes */
        struct sight s = {.at = at + i * (int64_t)300, .n_shown = 20};

        arena_release(&a);
        assert_true(pace_read(pace_write(&a, &p), &p));
        adapt_learn(&p, &s);
        adapt_learn(&kept, &s);
    }
    assert_true(fabs(p.count - kept.count) <= 0.01 * kept.count + 0.01);
    assert_true(fabs(p.hours[8] - kept.hours[8]) <= 0.02 * kept.hours[8] + 0.02);
}

/* ETIQ-01: a clock that was ahead does not stop the learning until its time comes. */
static void test_adapt__begins_again_after_a_clock_that_was_ahead(void **state UNUSED)
{
    struct pace p = steady(10);

    adapt_learn(&p, &(struct sight){.at = MONDAY + 3650 * (int64_t)DAY, .n_shown = 20});
    adapt_learn(&p, &(struct sight){.at = MONDAY, .n_shown = 20});
    assert_int_equal(MONDAY, p.seen_at);
    assert_int_equal(1, p.n_fetches);
}

static double planned(struct budget *b, const struct pace *of, size_t n)
{
    double price = budget_price(b), sum = 0;

    for (size_t i = 0; i < n; i++) {
        struct pace p = of[i];

        adapt_decide(&p, price);
        sum += (double)DAY / (double)p.period_s;
    }
    return sum;
}

/* ETIQ-02: the price of a fetch follows from the budget, also while not all feeds are known. */
static void test_budget__fetches_are_those_of_the_budget(void **state UNUSED)
{
    struct budget *b = NEW(struct budget);
    struct pace feeds[400];

    for (int round = 0; round < 2; round++) {
        budget_init(b, 400 * 30, 400);
        for (int i = 0; i < 400 / (2 - round); i++) {
            struct need need;

            feeds[i] = steady(0.01 * exp2((i * 7 % 100) / 8.0));
            need = adapt_need(&feeds[i]);
            budget_move(b, 0, budget_class(&need));
        }
        assert_true(fabs(planned(b, feeds, 400 / (2 - round)) / (400 * 30 / (2 - round)) - 1) < 0.06);
    }
    mem_free(b);
}

/* ETIQ-02: when overlaps need more than the budget, they have a part of it; nobody has less than a fetch a day. */
static void test_budget__overlaps_share_what_there_is(void **state UNUSED)
{
    struct budget *b = NEW(struct budget);
    struct pace feeds[100];

    for (int i = 0; i < 100; i++) {
        feeds[i] = steady(40 + i);
        feeds[i].shown = 3;
    }
    for (int per_day = 64; per_day >= 1; per_day /= 4) {
        budget_init(b, 100 * per_day, 100);
        for (int i = 0; i < 100; i++) {
            struct need need = adapt_need(&feeds[i]);

            assert_true(need.overlap > 64);
            budget_move(b, 0, budget_class(&need));
        }
        assert_true(fabs(planned(b, feeds, 100) / (100 * per_day) - 1) < 0.06);
        adapt_decide(&feeds[0], budget_price(b));
        assert_true(feeds[0].why == (per_day == 1 ? PACE_CEILING : PACE_SCARCE));
    }
    mem_free(b);
}

/* What the directory has counted is as good as what was counted one by one. */
static void test_budget__counts_are_taken(void **state UNUSED)
{
    struct budget *by_move = NEW(struct budget), *taken = NEW(struct budget);
    uint32_t *counts = mem_alloc(NEED_CLASSES * sizeof *counts);

    memset(counts, 0, NEED_CLASSES * sizeof *counts);
    budget_init(by_move, 100 * 30, 100);
    for (int i = 0; i < 100; i++) {
        struct pace p = steady(0.01 * exp2((i * 7 % 100) / 8.0));
        struct need need = adapt_need(&p);

        budget_move(by_move, 0, budget_class(&need));
        counts[budget_class(&need)]++;
    }
    budget_take(taken, 100 * 30, counts);
    assert_int_equal(100, taken->n_counted);
    assert_true(fabs(budget_price(taken) / budget_price(by_move) - 1) < 1e-9);
    mem_free(counts);
    mem_free(taken);
    mem_free(by_move);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adapt__period_goes_with_the_root_of_the_rate),
        cmocka_unit_test(test_adapt__hours_have_a_rhythm),
        cmocka_unit_test(test_adapt__a_change_of_rate_is_followed),
        cmocka_unit_test(test_adapt__overlap_is_kept),
        cmocka_unit_test(test_adapt__first_dates_tell_the_rate),
        cmocka_unit_test(test_adapt__hours_not_watched_are_no_rhythm),
        cmocka_unit_test(test_adapt__what_is_known),
        cmocka_unit_test(test_adapt__a_stop_is_not_watching),
        cmocka_unit_test(test_adapt__a_guess_is_no_rate),
        cmocka_unit_test(test_adapt__a_lone_feed_keeps_its_number_of_fetches),
        cmocka_unit_test(test_adapt__text_comes_back),
        cmocka_unit_test(test_adapt__forgets_through_its_text),
        cmocka_unit_test(test_adapt__begins_again_after_a_clock_that_was_ahead),
        cmocka_unit_test(test_budget__fetches_are_those_of_the_budget),
        cmocka_unit_test(test_budget__overlaps_share_what_there_is),
        cmocka_unit_test(test_budget__counts_are_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
