/* tests/unit/notifier/test_outcomes.c - what follows from the answer to a delivery. */
#include "notifier/outcomes.h"

#include "base/clock.h"
#include "base/digest.h"
#include "notifier/notifier.h"
#include "tests/unit/cmocka_all.h"

static const struct notifier_cfg cfg = {
    .first_retry_ms = 2000, .max_retry_ms = 3600000, .suspend_after_s = 604800, .max_refusals = 3};
static const struct sink leased = {.is_leased = true};
static struct subscription sub;
static struct push_job job;

static int setup(void **state UNUSED)
{
    digest_init();
    clock_fake_us(INT64_C(1000000) * 1000);
    sub = (struct subscription){.id = 5,
                                .generation = 2,
                                .failing_since = TIME_UNKNOWN,
                                .next_try_at = TIME_UNKNOWN,
                                .chain = {10, 100}};
    job = (struct push_job){.sub_id = 5,
                            .sub = &sub,
                            .position = 20,
                            .n_entries = 4,
                            .first = {17, 170},
                            .last = {20, 200},
                            .uid = STR("u17")};
    return 0;
}

static int teardown(void **state UNUSED)
{
    clock_fake_us(0);
    return 0;
}

static struct outcome of(enum sink_verdict verdict, int status, int64_t retry_after_s)
{
    struct call_end end = {.verdict = verdict,
                           .status = status,
                           .retry_after_s = retry_after_s,
                           .ms = 12,
                           .answer = STR("no thanks"),
                           .why = STR("why")};
    struct outcome out;

    outcome_of_call(&cfg, &job, &end, &out);
    assert_int_equal(5, out.write.sub_id);
    assert_int_equal(2, out.write.generation);
    assert_true(out.write.has_note);
    assert_int_equal(status, out.write.note.status);
    assert_int_equal(17, out.write.note.first.seq);
    assert_int_equal(20, out.write.note.last.seq);
    return out;
}

/* DELIV-01 DELIV-10 */
static void test_outcomes__delivered(void **state UNUSED)
{
    struct outcome out = of(SINK_DELIVERED, 200, -1);

    assert_int_equal(ATTEMPT_DELIVERED, out.event);
    assert_int_equal(20, out.write.position);
    assert_int_equal(20, out.write.chain.seq);
    assert_int_equal(200, out.write.chain.at_us);
    assert_int_equal(4, out.write.n_entries);
    assert_int_equal(DELIVERY_DELIVERED, out.write.note.verdict);
    assert_int_equal(1, out.write.note.n_try);
    assert_true(str_is_null(out.write.error));
    job.is_last = true;
    assert_int_equal(ATTEMPT_DRAINED, of(SINK_DELIVERED, 200, -1).event);
    assert_true(of(SINK_FAULT, 200, -1).write.fault);
}

/* D56: Retry-After is heard, for at most a day */
static void test_outcomes__failed(void **state UNUSED)
{
    struct outcome out = of(SINK_FAILED, 503, -1);

    assert_int_equal(ATTEMPT_FAILED, out.event);
    assert_int_equal(0, out.write.position);
    assert_int_equal(0, out.write.chain.seq);
    assert_true(out.write.failed);
    assert_in_range(out.pause_ms, 1800, 2200);
    assert_int_equal(DELIVERY_RETRY, out.write.note.verdict);
    assert_in_range(of(SINK_FAILED, 503, 1).pause_ms, 1800, 2200);
    assert_int_equal(90000, of(SINK_FAILED, 503, 90).pause_ms);
    assert_int_equal(86400000, of(SINK_FAILED, 503, 1000000000000).pause_ms);
    assert_int_equal(1090, of(SINK_FAILED, 503, 90).write.next_try_at);
    clock_fake_us(INT64_C(1000000) * 1000 + 1);
    assert_int_equal(1091,
                     of(SINK_FAILED, 503, 90).write.next_try_at); /* not before, at a restart */
    sub.n_failures = 3;
    assert_int_equal(4, of(SINK_FAILED, 0, -1).write.note.n_try);
}

/* D56: the endpoint wants no call so long, whichever subscription it would be for */
static void test_outcomes__retry_after_holds(void **state UNUSED)
{
    struct outcome o;

    assert_int_equal(0, of(SINK_FAILED, 503, -1).hold_ms);
    assert_int_equal(0, of(SINK_FAILED, 503, 0).hold_ms);
    assert_int_equal(1000, of(SINK_FAILED, 503, 1).hold_ms);
    assert_int_equal(90000, of(SINK_FAILED, 429, 90).hold_ms);
    assert_int_equal(86400000, of(SINK_FAILED, 503, 1000000000000).hold_ms);
    assert_int_equal(0, of(SINK_DELIVERED, 200, 90).hold_ms);
    assert_int_equal(0, of(SINK_REFUSED, 422, 90).hold_ms);
    assert_int_equal(0, of(SINK_GONE, 410, 90).hold_ms);
    outcome_of_call(&cfg, &job,
                    &(struct call_end){.verdict = SINK_FAILED,
                                       .status = 403,
                                       .retry_after_s = -1,
                                       .pause_ms = 90000,
                                       .why = STR("a line of its own is broken")},
                    &o);
    assert_int_equal(0, o.hold_ms); /* others of the endpoint may have a line that is not */
    assert_int_equal(90000, o.pause_ms);
}

/* AMQP-03: half as many messages after each failure, and back again step by step: a broker that is
 * slow does not get all of them again after one success */
static void test_outcomes__runs_shrink_and_grow(void **state UNUSED)
{
    struct outcome good = of(SINK_DELIVERED, 200, -1), bad = of(SINK_FAILED, 500, -1), skip;
    int n = 0;

    outcome_of_skip(&job, &skip);
    for (int i = 1; i <= 12; i++)
        assert_int_equal(i < 10 ? i : 10, n = outcome_halvings(&bad, n));
    assert_int_equal(10, outcome_halvings(&skip, n));
    for (int i = 9; i >= 0; i--)
        assert_int_equal(i, n = outcome_halvings(&good, n));
    assert_int_equal(0, outcome_halvings(&good, n));
    assert_int_equal(4, outcome_halvings(&bad, outcome_halvings(&good, 4)));
    assert_int_equal(5, outcome_halved(4));
    assert_int_equal(HALVED_MAX, outcome_halved(HALVED_MAX));
    bad.write.n_entries = 2; /* some were taken before it failed */
    assert_int_equal(4, outcome_halvings(&bad, 3));
}

/* DELIV-09: a server that a thousand subscriptions depend on has cut all of them at once. They come
 * back one after the other: within four tenths of a second, in none of its 20 parts more than a
 * tenth of them (it would be a twentieth each, and this is off by seven deviations). */
static void test_outcomes__who_fails_at_once_comes_back_spread(void **state UNUSED)
{
    int parts[20] = {0};

    for (int i = 0; i < 1000; i++) {
        int64_t ms = of(SINK_FAILED, 0, -1).pause_ms;

        assert_in_range(ms, 1800, 2200);
        parts[(ms - 1800) * 20 / 401]++;
    }
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        assert_in_range(parts[i], 1, 100);
}

static void test_outcomes__wanted_no_more(void **state UNUSED)
{
    struct outcome out = of(SINK_GONE, 410, -1);

    assert_int_equal(ATTEMPT_GAVE_UP, out.event);
    assert_int_equal(SUB_SUSPENDED, out.write.state);
    assert_int_equal(DELIVERY_SUSPENDED, out.write.note.verdict);
    assert_false(out.write.ended);
    job.sink = &leased;
    assert_true(of(SINK_GONE, 410, -1).write.ended);
}

/* CLOUD-06 */
static void test_outcomes__the_fifth_failure_in_a_row_ends(void **state UNUSED)
{
    static const struct sink five = {.is_leased = true, .max_failures = 5};

    job.sink = &five;
    sub.n_failures = 3;
    assert_int_equal(ATTEMPT_FAILED, of(SINK_FAILED, 500, -1).event);
    sub.n_failures = 4;
    assert_true(of(SINK_FAILED, 500, -1).write.ended);
    job.sink = &leased;
    assert_int_equal(ATTEMPT_FAILED, of(SINK_FAILED, 500, -1).event);
}

/* DELIV-09 */
static void test_outcomes__suspended_after_a_week(void **state UNUSED)
{
    sub.n_failures = 200;
    sub.failing_since = 1000 - 604800 + 1;
    assert_int_equal(ATTEMPT_FAILED, of(SINK_FAILED, 500, -1).event);
    sub.failing_since--;
    assert_int_equal(ATTEMPT_GAVE_UP, of(SINK_FAILED, 500, -1).event);
}

/* D56: a batch is halved at once; this does not count as a try */
static void test_outcomes__refused_batch(void **state UNUSED)
{
    struct outcome out = of(SINK_REFUSED, 422, -1);

    assert_int_equal(ATTEMPT_DELIVERED, out.event); /* that is: the next is due */
    assert_int_equal(2, out.write.part_max);
    assert_int_equal(20, out.write.part_until);
    assert_int_equal(0, out.write.position);
    assert_false(out.write.failed || out.write.is_dead);
    assert_int_equal(0, out.write.refused_seq);
    assert_int_equal(DELIVERY_REFUSED, out.write.note.verdict);
    sub.part_max = 2;
    assert_int_equal(4, of(SINK_DELIVERED, 200, -1).write.part_max);
}

/* D56, DELIV-05: three tries over a minute, then a dead letter, over which the chain runs */
static void test_outcomes__refused_alone(void **state UNUSED)
{
    struct outcome out;

    job.n_entries = 1;
    job.first = job.last;
    out = (struct outcome){.pause_ms = 0};
    for (int i = 1; i < 3; i++) {
        struct call_end end = {.verdict = SINK_REFUSED, .status = 422, .why = STR("no")};

        outcome_of_call(&cfg, &job, &end, &out);
        assert_int_equal(ATTEMPT_FAILED, out.event);
        assert_true(out.pause_ms > 30000);
        assert_false(out.write.failed || out.write.is_dead);
        assert_int_equal(20, out.write.refused_seq);
        assert_int_equal(i, out.write.n_refusals);
        assert_int_equal(i, out.write.note.n_try);
        assert_int_equal(1, out.write.part_max);
        sub.refused_seq = out.write.refused_seq;
        sub.n_refusals = out.write.n_refusals;
    }
    {
        struct call_end end = {
            .verdict = SINK_REFUSED, .status = 422, .why = STR("no"), .answer = STR("bad \xff")};

        outcome_of_call(&cfg, &job, &end, &out);
    }
    assert_true(out.write.is_dead);
    assert_int_equal(ATTEMPT_DELIVERED, out.event);
    assert_int_equal(20, out.write.position);
    assert_int_equal(20, out.write.chain.seq);
    assert_int_equal(20, out.write.dead.at.seq);
    assert_int_equal(422, out.write.dead.status);
    assert_str(out.write.dead.answer, "bad ");
    assert_str(out.write.dead.uid, "u17");
    assert_int_equal(0, out.write.refused_seq);
    assert_int_equal(DELIVERY_DEAD, out.write.note.verdict);
    { /* what a database may not be able to keep */
        struct call_end end = {.verdict = SINK_REFUSED, .status = 422, .answer = STR("zero\0more")};

        outcome_of_call(&cfg, &job, &end, &out);
    }
    assert_str(out.write.dead.answer, "zero");
}

/* DELIV-05: a dead letter that is tried again is out of the order of the rest */
static void test_outcomes__dead_letter_again(void **state UNUSED)
{
    struct dead_letter dead = {.id = 3, .at = {4, 40}};
    struct outcome out;

    job.dead = &dead;
    job.n_entries = 1;
    sub.refused_seq = 30;
    sub.n_refusals = 2;
    for (int v = 0; v < 3; v++) {
        static const enum sink_verdict verdicts[] = {SINK_DELIVERED, SINK_REFUSED, SINK_FAILED};

        out = of(verdicts[v], 200, -1);
        assert_int_equal(3, out.write.dead.id);
        assert_int_equal(0, out.write.chain.seq);
        assert_int_equal(v == 0 ? 20 : 0, out.write.position);
        assert_int_equal(v == 1, out.write.is_dead);
        assert_int_equal(30, out.write.refused_seq);
        assert_int_equal(2, out.write.n_refusals);
    }
}

/* AMQP-03: what the receiver took one by one is delivered, though the rest failed */
static void test_outcomes__some_were_taken(void **state UNUSED)
{
    static struct log_mark marks[] = {{17, 170}, {18, 180}, {19, 190}, {20, 200}};
    struct call_end end = {
        .verdict = SINK_FAILED, .retry_after_s = -1, .why = STR("why"), .n_taken = 3};
    struct outcome out;

    job.marks = marks;
    sub.n_failures = 200;
    sub.failing_since = 0;
    outcome_of_call(&cfg, &job, &end, &out);
    assert_int_equal(ATTEMPT_FAILED, out.event);
    assert_int_equal(19, out.write.position);
    assert_int_equal(19, out.write.chain.seq);
    assert_int_equal(190, out.write.chain.at_us);
    assert_int_equal(3, out.write.n_entries);
    assert_true(out.write.failed);
    assert_in_range(out.pause_ms, 1800, 2200); /* the first failure in a row */
    assert_int_equal(DELIVERY_RETRY, out.write.note.verdict);
    assert_int_equal(4, out.write.note.n_entries);

    end.verdict = SINK_GONE;
    outcome_of_call(&cfg, &job, &end, &out);
    assert_int_equal(SUB_SUSPENDED, out.write.state);
    assert_int_equal(19, out.write.position);

    end.verdict = SINK_DELIVERED; /* all of them */
    end.n_taken = 0;
    outcome_of_call(&cfg, &job, &end, &out);
    assert_int_equal(20, out.write.position);
    assert_int_equal(4, out.write.n_entries);
}

/* the one after those that were taken is the refused one, so it is sent alone */
static void test_outcomes__some_were_taken_and_one_refused(void **state UNUSED)
{
    static struct log_mark marks[] = {{17, 170}, {18, 180}, {19, 190}, {20, 200}};
    struct call_end end = {.verdict = SINK_REFUSED, .why = STR("why"), .n_taken = 1};
    struct outcome out;

    job.marks = marks;
    outcome_of_call(&cfg, &job, &end, &out);
    assert_int_equal(ATTEMPT_DELIVERED, out.event);
    assert_int_equal(17, out.write.position);
    assert_int_equal(17, out.write.chain.seq);
    assert_int_equal(1, out.write.n_entries);
    assert_false(out.write.failed);
    assert_int_equal(1, out.write.part_max);
    assert_int_equal(20, out.write.part_until);
    assert_int_equal(0, out.write.refused_seq);
}

/* what a carrier says of entries that it does not have, or of a dead letter, is not believed */
static void test_outcomes__taken_without_marks(void **state UNUSED)
{
    static struct log_mark marks[] = {{17, 170}, {18, 180}, {19, 190}, {20, 200}};
    struct dead_letter dead = {.id = 3, .at = {4, 40}};
    struct call_end end = {.verdict = SINK_FAILED, .retry_after_s = -1, .n_taken = 3};
    struct outcome out;

    outcome_of_call(&cfg, &job, &end, &out);
    assert_int_equal(0, out.write.position);
    job.marks = marks;
    end.n_taken = 4;
    outcome_of_call(&cfg, &job, &end, &out);
    assert_int_equal(0, out.write.position);
    job.dead = &dead;
    end.n_taken = 1;
    outcome_of_call(&cfg, &job, &end, &out);
    assert_int_equal(0, out.write.position);
    assert_int_equal(0, out.write.n_entries);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_outcomes__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(the_fifth_failure_in_a_row_ends),
        T(delivered),
        T(failed),
        T(retry_after_holds),
        T(runs_shrink_and_grow),
        T(who_fails_at_once_comes_back_spread),
        T(wanted_no_more),
        T(suspended_after_a_week),
        T(refused_batch),
        T(refused_alone),
        T(dead_letter_again),
        T(some_were_taken),
        T(some_were_taken_and_one_refused),
        T(taken_without_marks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
