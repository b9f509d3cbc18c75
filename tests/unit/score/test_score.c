/* The rules of the score (ETIQ-11): a polite reader, made up here, keeps all of them for sixty
 * days; and each sin that is planted into its record is found by its rule, and by no other. */
#include "tests/unit/cmocka_all.h"

#include "base/clock.h"
#include "score/origin.h"
#include "score/score.h"

#define DAYS 60
#define DAYS_LEAST 20                         /* so long all rules are tried */
#define START (INT64_C(1772618400) * SCORE_S) /* 4 March 2026, a Wednesday, 10:00 */
#define LATER (31 * SCORE_HOUR) /* six times as much goes through the days and the hours */
#define STARTS 6
#define AUTH STR("Basic cmVhZGVyOnMgZQ==")

struct seen {
    struct str etag, modified;
    int64_t next, first_moved, first_gone;
    int n_errors, n_gone, n_hops;
    bool has_moved;
};

struct reader {
    struct score_origin origin;
    struct score_record rec;
    struct seen seen[SCORE_FEEDS];
    int64_t rest;
};

static struct score_request ask(struct reader *rd, enum score_host host, struct str path,
                                int64_t at, const struct seen *known, enum score_feed_id feed,
                                struct buf *fields)
{
    AUTO(buf_release) struct buf body = BUF_INIT(BUF_ANY);
    struct score_request r = {.at = at, .end = at + SCORE_S / 100, .host = host, .path = path};

    r.agent = STR("Polite/1.0 (+http://polite.example/; 3 subscribers)");
    r.coding = STR("br, gzip");
    r.none_match = known->etag;
    r.since = known->modified;
    if (feed == SCORE_FEED_secret && host == SCORE_MAIN)
        r.auth = AUTH;
    score_origin_answer(&rd->origin, &rd->rec.arena, &r, fields, &body);
    assert_int_equal(r.feed, feed);
    score_record_add(&rd->rec, &r);
    return r;
}

static enum score_host host_of(enum score_feed_id feed)
{
    return feed >= SCORE_FEED_busy1 && feed <= SCORE_FEED_busy4 ? SCORE_BUSY : SCORE_MAIN;
}

/* Where it leads, as a path; null: nowhere. */
static struct str target(struct reader *rd, const struct score_request *r, const struct buf *fields)
{
    struct str text = buf_view(fields);
    ssize_t at = str_find(text, STR("Location: http://"));

    if (r->status < 300 || r->status >= 304 || at < 0)
        return STR_NULL;
    text = str_slice(text, (size_t)at + 17, text.len);
    str_split(&text, '/');
    text = str_split(&text, '\r');
    return str_printf(&rd->rec.arena, "/%.*s", STR_ARG(text));
}

static int64_t pause_of(enum score_feed_id feed)
{
    return feed == SCORE_FEED_ttl       ? 6 * SCORE_HOUR
           : feed == SCORE_FEED_max_age ? 4 * SCORE_HOUR
           : feed == SCORE_FEED_expires ? 3 * SCORE_HOUR
           : feed == SCORE_FEED_sy      ? 12 * SCORE_HOUR
                                        : 3 * SCORE_HOUR + (feed + 1) * INT64_C(61) * SCORE_S;
}

static int64_t after_skipped(enum score_feed_id feed, int64_t at)
{
    struct civil t = clock_civil(at / SCORE_S);

    if (feed == SCORE_FEED_hours && t.hour < 12)
        return at - at % SCORE_DAY + 12 * SCORE_HOUR + SCORE_S;
    if (feed == SCORE_FEED_days && t.weekday >= 5) /* the next Monday: longer than two days */
        return at - at % SCORE_DAY + (7 - t.weekday) * SCORE_DAY;
    return at;
}

static void learn(struct reader *rd, enum score_feed_id feed, const struct score_request *r,
                  int64_t at)
{
    struct seen *s = &rd->seen[feed];

    s->next = at + pause_of(feed);
    if (r->status == 429 || r->status == 503) {
        rd->rest = rd->origin.rests_until[r->status == 503];
    } else if (r->status == 410) {
        s->first_gone = s->n_gone++ == 0 ? at : s->first_gone;
        if (s->n_gone >= 3 && at - s->first_gone >= SCORE_DAY)
            s->next = at + 7 * SCORE_DAY;
    } else if (r->status >= 300 && r->status != 304) {
        int64_t wait = (INT64_C(1800) << (s->n_errors < 6 ? s->n_errors : 5)) * SCORE_S;

        s->n_errors++;
        s->next = at + wait;
    } else {
        s->n_errors = 0;
        s->etag = r->etag;
        s->modified = r->modified;
        s->next = after_skipped(feed, s->next);
    }
}

static void fetch(struct reader *rd, enum score_feed_id feed)
{
    struct seen *s = &rd->seen[feed];
    int64_t at = s->next;
    struct str path = str_printf(&rd->rec.arena, "/%s.rss", score_feed_name(feed));
    enum score_host host = s->has_moved ? SCORE_OTHER : host_of(feed);
    struct score_request r;

    if (host == SCORE_BUSY && at < rd->rest) {
        s->next = rd->rest + (int64_t)feed * SCORE_S;
        return;
    }
    for (int hops = 0; hops <= 5 && !str_is_null(path); hops++) {
        AUTO(buf_release) struct buf fields = BUF_INIT(BUF_ANY);

        r = ask(rd, host, path, at + hops * SCORE_S / 50, s, feed, &fields);
        path = target(rd, &r, &fields);
        if (r.status == 301 && s->first_moved == 0)
            s->first_moved = at;
        host = feed == SCORE_FEED_circle ? SCORE_MAIN : SCORE_OTHER;
    }
    if (s->first_moved != 0 && at - s->first_moved >= 7 * SCORE_DAY)
        s->has_moved = true;
    learn(rd, feed, &r, at);
}

static void live(struct reader *rd, int64_t start, int days)
{
    static const char *const authorities[] = {"a.example", "b.example", "c.example"};
    enum score_feed_id feed = SCORE_FEED_plain;

    *rd = (struct reader){.rec = SCORE_RECORD_INIT};
    for (int i = 0; i < SCORE_HOSTS; i++)
        rd->origin.authority[i] = authorities[i];
    for (int i = 0; i < SCORE_FEEDS; i++)
        rd->seen[i].next = start + i * SCORE_S;
    for (;;) {
        for (int i = 0; i < SCORE_FEEDS; i++)
            if (rd->seen[i].next < rd->seen[feed].next)
                feed = (enum score_feed_id)i;
        if (rd->seen[feed].next >= start + days * SCORE_DAY)
            break;
        fetch(rd, feed);
    }
    rd->rec.ended = start + days * SCORE_DAY;
    score_record_sort(&rd->rec);
}

static void keep_all(int64_t start, int days)
{
    struct score_verdict verdicts[SCORE_RULES];
    struct reader rd;

    live(&rd, start, days);
    score_judge(&rd.rec, verdicts);
    for (int i = 0; i < SCORE_RULES; i++) {
        if (verdicts[i].n_faults > 0)
            fail_msg("%s: %s", score_rule_name((enum score_rule)i), verdicts[i].why);
        if (verdicts[i].n_cases == 0)
            fail_msg("%s was not tried", score_rule_name((enum score_rule)i));
    }
    assert_int_equal(score_points(&rd.rec, verdicts), 100);
    score_record_release(&rd.rec);
}

static void test_polite(void **state UNUSED) /* ETIQ-11 */
{
    for (int i = 0; i < STARTS; i++)
        keep_all(START + i * LATER, i == 0 ? DAYS : DAYS_LEAST);
}

static void find_each_sin(int64_t start)
{
    struct score_verdict verdicts[SCORE_RULES];
    struct reader rd;

    live(&rd, start, DAYS_LEAST);
    for (int sin = 0; sin < SCORE_RULES; sin++) {
        struct score_record copy;

        score_record_copy(&rd.rec, &copy);
        if (!score_plant(&copy, (enum score_rule)sin))
            fail_msg("%s cannot be planted", score_rule_name((enum score_rule)sin));
        score_judge(&copy, verdicts);
        for (int i = 0; i < SCORE_RULES; i++)
            if ((verdicts[i].n_faults > 0) != (i == sin))
                fail_msg("the sin %s %s: %s", score_rule_name((enum score_rule)sin),
                         i == sin ? "is not found" : "breaks another rule", verdicts[i].why);
        assert_true(score_points(&copy, verdicts) < 100);
        score_record_release(&copy);
    }
    score_record_release(&rd.rec);
}

static void test_each_sin(void **state UNUSED) /* ETIQ-11 */
{
    assert_true(SCORE_RULES >= 20);
    for (int i = 0; i < STARTS; i++)
        find_each_sin(START + i * LATER);
}

static void test_nothing_is_no_politeness(void **state UNUSED)
{
    struct score_verdict verdicts[SCORE_RULES];
    struct score_record rec = SCORE_RECORD_INIT;

    rec.ended = DAYS * SCORE_DAY;
    score_judge(&rec, verdicts);
    assert_int_equal(score_points(&rec, verdicts), 0);
    for (int i = 0; i < SCORE_RULES; i++)
        assert_false(score_plant(&rec, (enum score_rule)i));
    score_record_release(&rec);
}

/* A sin finds no place in a record of one request, and does no harm. */
static void test_short_record(void **state UNUSED)
{
    struct reader rd;

    live(&rd, START, DAYS_LEAST);
    for (int sin = 0; sin < SCORE_RULES; sin++)
        for (size_t n = 1; n < 400; n *= 3) {
            struct score_record part = rd.rec, copy;

            part.n = n;
            score_record_copy(&part, &copy);
            copy.ended = copy.rows[n - 1].end;
            (void)!score_plant(&copy, (enum score_rule)sin);
            score_record_release(&copy);
        }
    score_record_release(&rd.rec);
}

/* Who asks once and leaves has kept little, however well he asked. */
static void test_leaving_is_no_politeness(void **state UNUSED) /* ETIQ-11 */
{
    struct score_verdict verdicts[SCORE_RULES];
    struct reader rd;
    struct score_record part;

    live(&rd, START, 1);
    part = rd.rec;
    for (int n = 1; n <= SCORE_FEEDS; n += SCORE_FEEDS - 1) {
        part.n = (size_t)n;
        part.ended = part.rows[n - 1].end;
        part.is_early = true;
        score_judge(&part, verdicts);
        assert_true(verdicts[SCORE_RULE_lasting].n_faults > 0);
        assert_true(score_points(&part, verdicts) < 50);
    }
    part.is_early = false; /* or stays, and asks for nothing else */
    part.n = 1;
    part.ended = part.rows[0].at + SCORE_DAY;
    score_judge(&part, verdicts);
    assert_true(score_points(&part, verdicts) < 50);
    score_record_release(&rd.rec);
}

/* Days of skipDays do not count as days without a request; the others do, also for the feed that has such days. */
static void test_skipped_days_are_not_missed(void **state UNUSED) /* ETIQ-11 */
{
    struct score_verdict verdicts[SCORE_RULES];
    struct reader rd;
    size_t n = 0;

    live(&rd, START, DAYS_LEAST);
    for (size_t i = 0; i < rd.rec.n; i++)
        if (rd.rec.rows[i].feed != SCORE_FEED_days || rd.rec.rows[i].at < START + 6 * SCORE_DAY ||
            rd.rec.rows[i].at > START + 8 * SCORE_DAY + SCORE_HOUR)
            rd.rec.rows[n++] = rd.rec.rows[i];
        else
            assert_true(clock_civil(rd.rec.rows[i].at / SCORE_S).weekday < 5);
    assert_true(n < rd.rec.n);
    rd.rec.n = n;
    score_judge(&rd.rec, verdicts);
    assert_int_equal(1, verdicts[SCORE_RULE_lasting].n_faults);
    assert_non_null(strstr(verdicts[SCORE_RULE_lasting].why, "days.rss"));
    score_record_release(&rd.rec);
}

static bool is_among(enum score_rule rule, const enum score_rule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rules[i] == rule)
            return true;
    return false;
}

/* At a high speed the time of a request is not known well enough for some rules. Of these, some are not tried at all,
 * and others do not see the sin, which is one of short times there. All others find it. */
static void test_speed(void **state UNUSED) /* ETIQ-11 */
{
    static const enum score_rule untried[] = {SCORE_RULE_pause, SCORE_RULE_twice, SCORE_RULE_rest_429,
                                              SCORE_RULE_rest_503, SCORE_RULE_spread};
    static const enum score_rule blind[] = {SCORE_RULE_missing, SCORE_RULE_broken, SCORE_RULE_skip_hours};
    struct score_verdict verdicts[SCORE_RULES];
    struct reader rd;

    live(&rd, START, DAYS_LEAST);
    rd.rec.speed = 86400;
    score_judge(&rd.rec, verdicts);
    assert_int_equal(100, score_points(&rd.rec, verdicts));
    for (int sin = 0; sin < SCORE_RULES; sin++) {
        enum score_rule rule = (enum score_rule)sin;
        bool is_untried = is_among(rule, untried, ARRAY_LEN(untried));
        bool is_found = !is_untried && !is_among(rule, blind, ARRAY_LEN(blind));
        struct score_record copy;

        score_record_copy(&rd.rec, &copy);
        assert_true(score_plant(&copy, rule));
        score_judge(&copy, verdicts);
        if ((verdicts[sin].n_cases == 0) != is_untried || (verdicts[sin].n_faults > 0) != is_found)
            fail_msg("the sin %s: %zu cases, %zu faults", score_rule_name(rule), (size_t)verdicts[sin].n_cases,
                     (size_t)verdicts[sin].n_faults);
        score_record_release(&copy);
    }
    score_record_release(&rd.rec);
}

static void test_names(void **state UNUSED)
{
    for (int i = 0; i < SCORE_RULES; i++)
        assert_int_equal(score_rule_find(str_from(score_rule_name((enum score_rule)i))), i);
    assert_int_equal(score_rule_find(STR("nonsense")), SCORE_RULES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_polite),
        cmocka_unit_test(test_each_sin),
        cmocka_unit_test(test_nothing_is_no_politeness),
        cmocka_unit_test(test_leaving_is_no_politeness),
        cmocka_unit_test(test_skipped_days_are_not_missed),
        cmocka_unit_test(test_speed),
        cmocka_unit_test(test_short_record),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
