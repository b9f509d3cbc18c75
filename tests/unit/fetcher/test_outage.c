/* tests/unit/fetcher/test_outage.c - own outages are told from failing publishers (ETIQ-04). */
#include "tests/unit/cmocka_all.h"

#include "fetcher/outage.h"

#define UNKNOWN 5000 /* hosts from this one on have never answered */

static enum outage_change note(struct outage *o, int host, bool reached, int64_t now_ms)
{
    char name[32];

    snprintf(name, sizeof name, "h%d:80", host);
    return outage_note(
        o, &(struct outage_transfer){.authority = str_from(name),
                                     .reached = reached,
                                     .is_known = host < UNKNOWN,
                                     .feed_id = host + 1,
                                     .n_errors = (int)(now_ms / 1000 - 1) % OUTAGE_ERRORS,
                                     .now_ms = now_ms});
}

/* n failures at n_hosts hosts in turns, `step_ms` apart. */
static void fail_all(struct outage *o, int n, int n_hosts, int64_t step_ms)
{
    for (int i = 0; i < n; i++)
        note(o, i % n_hosts, false, 1000 + i * step_ms);
}

static void test_outage__needs_several_hosts_within_a_minute(void **state UNUSED)
{
    static const struct {
        int n, n_hosts;
        int64_t step_ms;
        bool is_out;
    } rows[] = {
        {5, 5, 10, true},       {4, 5, 10, false},    {500, 4, 10, false},
        {500, 1, 10, false},    {5, 5, 15000, true},  {5, 5, 15001, false},
        {50, 50, 15001, false}, {1000, 20, 10, true}, {1000, 1000, 10, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct outage o = {.n = 0};

        fail_all(&o, rows[i].n, rows[i].n_hosts, rows[i].step_ms);
        assert_int_equal(o.is_on, rows[i].is_out);
    }
}

/* While as many hosts answer as fail, it is the publishers. A host counts as it was last. */
static void test_outage__needs_most_of_the_hosts(void **state UNUSED)
{
    struct outage o = {.n = 0};

    for (int i = 0; i < 6; i++)
        assert_int_equal(note(&o, i, true, 1000), OUTAGE_AS_BEFORE);
    for (int i = 10; i < 16; i++)
        assert_int_equal(note(&o, i, false, 1000), OUTAGE_AS_BEFORE);
    assert_int_equal(note(&o, 15, false, 1000), OUTAGE_AS_BEFORE);
    assert_int_equal(note(&o, 0, false, 1000), OUTAGE_BEGINS);
    assert_int_equal(note(&o, 1, false, 1000), OUTAGE_AS_BEFORE);
}

/* It is over with an answer, when most of the hosts are not known to fail any more. */
static void test_outage__an_answer_ends_it(void **state UNUSED)
{
    struct outage o = {.n = 0};

    fail_all(&o, 10, 10, 10);
    assert_true(o.is_on);
    assert_int_equal(note(&o, 3, true, 2000), OUTAGE_AS_BEFORE); /* a name that was still known */
    assert_true(o.is_on);
    assert_int_equal(note(&o, 1, false, 900000), OUTAGE_AS_BEFORE); /* the minute does not end it */
    assert_true(o.is_on);
    assert_int_equal(note(&o, 1, true, 900001), OUTAGE_ENDS);
    assert_int_equal(note(&o, 1, false, 900002), OUTAGE_AS_BEFORE);
}

/* Our connection is there when a host answers that was asked meanwhile, however many others are dead. */
static void test_outage__the_answer_of_a_probe_ends_it(void **state UNUSED)
{
    struct outage o = {.n = 0};
    struct outage_transfer probe = {.authority = STR("h3:80"), .reached = true, .feed_id = 4, .now_ms = 2000};

    fail_all(&o, 10, 10, 10);
    probe.began_ms = 1040;
    assert_int_equal(outage_note(&o, &probe), OUTAGE_AS_BEFORE);
    probe.authority = STR("h4:80");
    probe.began_ms = 1100; /* after all of them */
    assert_int_equal(outage_note(&o, &probe), OUTAGE_ENDS);
    for (int host = 20; host < 20 + OUTAGE_HOSTS; host++) /* and it needs as many failures as before */
        assert_int_equal(note(&o, host, false, 3000), host < 19 + OUTAGE_HOSTS ? OUTAGE_AS_BEFORE : OUTAGE_BEGINS);
}

/* ETIQ-04: a host next to us goes on answering in an outage, so its answer proves nothing. */
static void test_outage__who_answered_all_along_does_not_end_it(void **state UNUSED)
{
    struct outage o = {.n = 0};
    struct outage_transfer probe = {.authority = STR("h30:80"), .reached = true, .nearness = NEAR_PRIVATE, .feed_id = 4, .now_ms = 2000};

    assert_int_equal(outage_note(&o, &probe), OUTAGE_AS_BEFORE);
    fail_all(&o, 10, 10, 10);
    probe.began_ms = 1999;
    assert_int_equal(outage_note(&o, &probe), OUTAGE_AS_BEFORE);
    probe.nearness = NEAR_NOT;
    assert_int_equal(outage_note(&o, &probe), OUTAGE_ENDS);
}

/* ETIQ-04: an answer ends an outage if it came over the way by which the others failed. */
static void test_outage__an_answer_over_another_way_does_not_end_it(void **state UNUSED)
{
    static const int64_t HOUR = 3600000;
    static const struct {
        struct outage_transfer failed, answer; /* answer.began_ms: after the failures */
        bool answered_before, ends;
    } rows[] = {
        {{.nearness = NEAR_SELF}, {.nearness = NEAR_SELF, .began_ms = 1}, true, true},
        {{.nearness = NEAR_PRIVATE}, {.nearness = NEAR_SELF, .began_ms = HOUR * 5}, true, false},
        {{.nearness = NEAR_PRIVATE}, {.began_ms = 1}, true, true},
        {{.is_secure = true}, {.began_ms = HOUR}, true, false},
        {{.is_secure = true}, {.began_ms = HOUR}, false, false}, /* a portal answers for all */
        {{.is_secure = true}, {.began_ms = HOUR + 1}, true, true},
        {{.is_secure = true}, {.is_secure = true, .began_ms = 1}, true, true},
        {{.is_unresolved = true}, {.began_ms = 300000}, true, false}, /* its name may still be known */
        {{.is_unresolved = true}, {.began_ms = 300001}, true, true},
        {{.is_unresolved = true}, {.began_ms = 1}, false, true},
        {{.is_unresolved = true}, {.is_numeric = true, .began_ms = HOUR * 5}, true, false},
        {{.is_unresolved = true}, {.nearness = NEAR_PRIVATE, .began_ms = HOUR * 5}, true, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct outage o = {.n = 0};
        struct outage_transfer t = rows[i].answer;

        t.authority = STR("answers:80");
        t.reached = true;
        t.now_ms = 1000;
        if (rows[i].answered_before)
            outage_note(&o, &t);
        for (int64_t at = 2000; at <= 2000 + rows[i].answer.began_ms; at += 30000) /* they go on failing */
            for (int host = 0; host < 8; host++) {
                t = rows[i].failed;
                t.authority = str_of(&"abcdefghi"[host], 2);
                t.is_known = true;
                t.now_ms = at;
                outage_note(&o, &t);
            }
        assert_true(o.is_on);
        t = rows[i].answer;
        t.authority = STR("answers:80");
        t.reached = true;
        t.began_ms += 2000;
        t.now_ms = t.began_ms + 10;
        assert_int_equal(outage_note(&o, &t), rows[i].ends ? OUTAGE_ENDS : OUTAGE_AS_BEFORE);
    }
}

/* A day of a fetcher with one feed at each host, period half an hour. The first `n_dead` hosts are dead after the
 * first hour; after `until_ms` they answer. In an outage one host is asked every ten seconds. */
#define DAY_MS (24 * 3600000)
#define PERIOD_MS 1800000

struct day {
    int64_t due_ms[1000];
    int n_asked[1000], n_errors[1000];
    bool is_failed[1000];
    int n_outages;
    int64_t on_ms, ended_ms; /* how long there was one; the end of the last one */
};

static void ask_host(struct outage *o, struct day *d, int host, bool is_dead, int64_t now_ms)
{
    char name[32];
    enum outage_change change;

    snprintf(name, sizeof name, "h%d:80", host);
    change = outage_note(o, &(struct outage_transfer){.authority = str_from(name),
                                                      .reached = !is_dead,
                                                      .is_known = true,
                                                      .feed_id = host + 1,
                                                      .n_errors = d->n_errors[host],
                                                      .began_ms = now_ms,
                                                      .now_ms = now_ms + (is_dead ? 1 : 50)});
    d->is_failed[host] = is_dead;
    d->n_asked[host]++;
    d->n_outages += change == OUTAGE_BEGINS;
    if (change == OUTAGE_BEGINS) { /* taken back */
        static struct outage_missed missed[OUTAGE_FAILED];

        for (size_t i = 0, n = outage_missed(o, now_ms, missed); i < n; i++)
            d->n_errors[missed[i].feed_id - 1] = missed[i].n_errors;
    }
    if (change == OUTAGE_ENDS)
        d->ended_ms = now_ms;
    d->n_errors[host] = !is_dead ? 0 : d->n_errors[host] + !o->is_on;
    d->due_ms[host] = now_ms + (is_dead && o->is_on ? 45000 : PERIOD_MS);
}

/* In an outage one due host at a time, in turns one that has not failed. -1: none. */
static int next_probe(const struct day *d, int n, int turn, bool wants_well, int64_t now_ms)
{
    int other = -1;

    for (int k = 0; k < n; k++) {
        int host = (turn + k) % n;

        if (d->due_ms[host] > now_ms)
            continue;
        if (d->is_failed[host] != wants_well)
            return host;
        if (other < 0)
            other = host;
    }
    return other;
}

static void play_day(struct day *d, int n, int n_dead, int64_t until_ms)
{
    static struct outage o;
    int turn = 0;

    memset(&o, 0, sizeof o);
    memset(d, 0, sizeof *d);
    for (int host = 0; host < n && n > 10; host++) /* the ten are due at once, dead ones first */
        d->due_ms[host] = (int64_t)host * 7919 % 180 * 10000;
    for (int64_t now = 0; now < DAY_MS; now += 10000) {
        if (o.is_on) {
            int host = next_probe(d, n, turn, now / 10000 % 2 == 0, now);

            turn = host + 1;
            if (host >= 0)
                ask_host(&o, d, host, host < n_dead && now > 3600000 && now < until_ms, now);
        }
        for (int host = 0; host < n && !o.is_on; host++)
            if (d->due_ms[host] <= now)
                ask_host(&o, d, host, host < n_dead && now > 3600000 && now < until_ms, now);
        d->on_ms += o.is_on ? 10000 : 0;
    }
}

/* ETIQ-04: most publishers are dead for a day, as those of a hosting company. The others are asked on time, and the
 * errors of the dead ones count. */
static void test_outage__most_publishers_are_dead_for_a_day(void **state UNUSED)
{
    static const struct {
        int n, n_dead;
    } rows[] = {{10, 6}, {10, 9}, {1000, 600}};
    static struct day d;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        play_day(&d, rows[i].n, rows[i].n_dead, DAY_MS);
        assert_in_range(d.n_outages, 0, 1);
        assert_in_range(d.on_ms, 0, 60000);
        for (int host = 0; host < rows[i].n_dead; host++)
            assert_in_range(d.n_errors[host], 40, 48);
        for (int host = rows[i].n_dead; host < rows[i].n; host++)
            assert_in_range(d.n_asked[host], 46, 48);
    }
}

/* ETIQ-04: our own connection is down for half a day: no errors, and it ends when the hosts answer again. */
static void test_outage__we_are_cut_off_for_half_a_day(void **state UNUSED)
{
    static struct day d;

    for (int n = 10; n <= 1000; n += 990) {
        play_day(&d, n, n, DAY_MS / 2);
        assert_int_equal(d.n_outages, 1);
        assert_in_range(d.ended_ms, DAY_MS / 2, DAY_MS / 2 + 60000);
        for (int host = 0; host < n; host++) {
            assert_int_equal(d.n_errors[host], 0);
            assert_in_range(d.n_asked[host], 20, 24 * 400);
        }
    }
}

/* ETIQ-04: publishers that are dead do not have an outage recognised again and again while another
 * one answers, so their errors count. Once they have answered, they can be cut off like others. */
static void test_outage__who_fails_while_another_answers_is_down(void **state UNUSED)
{
    struct outage o = {.n = 0};
    struct outage_transfer probe = {.authority = STR("h20:80"), .reached = true, .feed_id = 21, .began_ms = 1900, .now_ms = 2000};

    fail_all(&o, 8, 8, 10);
    assert_int_equal(outage_note(&o, &probe), OUTAGE_ENDS);
    for (int64_t at = 3000; at < 60000; at += 1000)
        for (int i = 0; i < 5; i++)
            assert_int_equal(note(&o, i, false, at), OUTAGE_AS_BEFORE);
    for (int i = 0; i < 5; i++)
        assert_int_equal(note(&o, i, true, 70000), OUTAGE_AS_BEFORE);
    for (int i = 0; i < 4; i++)
        assert_int_equal(note(&o, i, false, 200000), OUTAGE_AS_BEFORE);
    assert_int_equal(note(&o, 4, false, 200000), OUTAGE_BEGINS);
}

/* What counted is known: each feed once, as it was before the first of its failures. */
static void test_outage__knows_whose_failures_counted(void **state UNUSED)
{
    struct outage o = {.n = 0};
    struct outage_missed missed[OUTAGE_FAILED];

    assert_int_equal(outage_missed(&o, 1000, missed), 0);
    note(&o, 7, false, 1000);
    note(&o, 8, false, 3000);
    note(&o, 8, false, 4000);
    note(&o, 9, true, 5000);
    assert_int_equal(outage_missed(&o, 60000, missed), 2);
    assert_int_equal(missed[0].feed_id, 8);
    assert_int_equal(missed[0].n_errors, 0);
    assert_int_equal(missed[1].feed_id, 9);
    assert_int_equal(missed[1].n_errors, 2);
    assert_int_equal(outage_missed(&o, 61001, missed), 1);
    for (int i = 0; i < 1000; i++)
        note(&o, i, false, 70000);
    assert_true(o.is_on); /* by the fifth; the others did not count */
    assert_int_equal(outage_missed(&o, 70000, missed), OUTAGE_HOSTS - 1);
}

/* Hosts that have failed for long say nothing, and their errors stay. */
static void test_outage__dead_publishers_say_nothing(void **state UNUSED)
{
    struct outage o = {.n = 0};
    struct outage_missed missed[OUTAGE_FAILED];

    for (int i = 0; i < 50; i++)
        assert_int_equal(outage_note(&o, &(struct outage_transfer){.authority = STR("dead:80"),
                                                                   .feed_id = 1 + i,
                                                                   .n_errors = OUTAGE_ERRORS,
                                                                   .now_ms = 1000}),
                         OUTAGE_AS_BEFORE);
    assert_false(o.is_on);
    assert_int_equal(outage_missed(&o, 1000, missed), 0);
}

/* ETIQ-04: names that do not exist begin no outage when somebody has answered; nor do they help a single host
 * that is down while others answer. */
static void test_outage__names_that_never_existed_begin_none(void **state UNUSED)
{
    struct outage o = {.n = 0};

    note(&o, 0, true, 1000);
    for (int i = 0; i < 40; i++)
        assert_int_equal(note(&o, UNKNOWN + i, false, 2000), OUTAGE_AS_BEFORE);
    for (int i = 0; i < 40; i++) /* the answer is older than the window */
        assert_int_equal(note(&o, UNKNOWN + i, false, 100000), OUTAGE_AS_BEFORE);
    for (int i = 40; i < 50; i++)
        assert_int_equal(note(&o, UNKNOWN + i, false, 101000), OUTAGE_AS_BEFORE);
    assert_int_equal(note(&o, 1, true, 102000), OUTAGE_AS_BEFORE);
    assert_int_equal(note(&o, 2, false, 170000), OUTAGE_AS_BEFORE);
    for (int i = 40; i < 50; i++)
        assert_int_equal(note(&o, UNKNOWN + i, false, 170000), OUTAGE_AS_BEFORE);
}

/* ETIQ-04: where nothing has answered ever, a name of which the name servers say that it does not exist is the
 * publisher's error; a router that says so of all names is told by hosts that have answered. */
static void test_outage__a_name_that_does_not_exist_is_an_answer(void **state UNUSED)
{
    struct outage o = {.n = 0};
    struct outage_transfer t = {.is_no_name = true, .now_ms = 1000};
    struct outage_missed missed[OUTAGE_FAILED];

    for (int i = 0; i < 8; i++) {
        t.authority = str_of(&"abcdefgh"[i], 1);
        t.feed_id = i + 1;
        assert_int_equal(outage_note(&o, &t), OUTAGE_AS_BEFORE);
    }
    assert_int_equal(outage_missed(&o, 1000, missed), 0);
    note(&o, 0, true, 1000);
    t.now_ms = 100000;
    for (int i = 1; i < OUTAGE_HOSTS; i++) {
        t.authority = str_of(&"abcdefgh"[i], 1);
        t.is_known = true;
        assert_int_equal(outage_note(&o, &t), OUTAGE_AS_BEFORE);
    }
    t.authority = STR("h0:80"); /* it has answered above */
    t.is_known = false;
    assert_int_equal(outage_note(&o, &t), OUTAGE_BEGINS);
}

/* ETIQ-04: beside one that has answered once they do, while nobody answers; and when nobody ever has. */
static void test_outage__names_that_never_answered_count_beside_others(void **state UNUSED)
{
    struct outage o = {.n = 0}, fresh = {.n = 0}, again = {.n = 0};

    note(&o, 0, true, 1000);
    for (int i = 0; i < OUTAGE_HOSTS - 1; i++)
        assert_int_equal(note(&o, UNKNOWN + i, false, 100000), OUTAGE_AS_BEFORE);
    assert_int_equal(note(&o, 7, false, 101000), OUTAGE_BEGINS);
    for (int i = 0; i < OUTAGE_HOSTS; i++)
        note(&fresh, UNKNOWN + i, false, 100000);
    assert_true(fresh.is_on);
    for (int i = 0; i < OUTAGE_HOSTS; i++) /* after a restart, with other feeds that were fetched before it */
        assert_int_equal(outage_note(&again, &(struct outage_transfer){.authority = str_of(&"abcdefgh"[i], 2), .others_are = true,
                                                                        .feed_id = i, .now_ms = 100000}), OUTAGE_AS_BEFORE);
    assert_int_equal(note(&fresh, 0, true, 100001), OUTAGE_ENDS);
    for (int i = 0; i < OUTAGE_HOSTS; i++)
        assert_int_equal(note(&fresh, UNKNOWN + i, false, 100002), OUTAGE_AS_BEFORE);
}

/* ETIQ-04: a start in an outage knows that it goes on by the first failure of a feed whose last one was not its own. */
static void test_outage__a_restart_does_not_end_it(void **state UNUSED)
{
    struct outage o = {.n = 0};
    struct outage_transfer t = {.authority = STR("h1:80"), .is_known = true, .was_ours = true, .feed_id = 2, .now_ms = 1000};
    struct outage_missed missed[OUTAGE_FAILED];

    note(&o, 8, false, 500);
    assert_int_equal(outage_note(&o, &t), OUTAGE_BEGINS);
    assert_int_equal(outage_missed(&o, 1000, missed), 1); /* the one before it */
    assert_int_equal(missed[0].feed_id, 9);
    assert_int_equal(note(&o, 3, true, 2000), OUTAGE_ENDS);
    t.now_ms = 3000;
    assert_int_equal(outage_note(&o, &t), OUTAGE_AS_BEFORE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outage__needs_several_hosts_within_a_minute),
        cmocka_unit_test(test_outage__needs_most_of_the_hosts),
        cmocka_unit_test(test_outage__an_answer_ends_it),
        cmocka_unit_test(test_outage__the_answer_of_a_probe_ends_it),
        cmocka_unit_test(test_outage__who_answered_all_along_does_not_end_it),
        cmocka_unit_test(test_outage__an_answer_over_another_way_does_not_end_it),
        cmocka_unit_test(test_outage__most_publishers_are_dead_for_a_day),
        cmocka_unit_test(test_outage__we_are_cut_off_for_half_a_day),
        cmocka_unit_test(test_outage__who_fails_while_another_answers_is_down),
        cmocka_unit_test(test_outage__knows_whose_failures_counted),
        cmocka_unit_test(test_outage__dead_publishers_say_nothing),
        cmocka_unit_test(test_outage__names_that_never_existed_begin_none),
        cmocka_unit_test(test_outage__a_name_that_does_not_exist_is_an_answer),
        cmocka_unit_test(test_outage__names_that_never_answered_count_beside_others),
        cmocka_unit_test(test_outage__a_restart_does_not_end_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
