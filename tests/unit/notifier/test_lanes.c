/* tests/unit/notifier/test_lanes.c - which endpoint is called next, and how long it may hold the
 * room it takes. */
#include <stdio.h>

#include "base/compiler.h"
#include "base/digest.h"
#include "notifier/lanes.h"
#include "tests/unit/cmocka_all.h"

#define MAX 32 /* turns: 8 slow, 20 unheard and slow, 24 fresh too; at one host 24, 4, 15, 18 */
#define ENDPOINTS 100

/* Endpoints /0, /1 ... at one host, or at one each. */
struct world {
    struct lanes lanes;
    struct lane lane[ENDPOINTS];
    char urls[ENDPOINTS][64];
    int64_t now;
};

static void world_init(struct world *w, bool one_host)
{
    w->now = 1000;
    lanes_init(&w->lanes, MAX);
    for (int i = 0; i < ENDPOINTS; i++) {
        snprintf(w->urls[i], sizeof w->urls[i], "http://h%d/%d", one_host ? 0 : i, i);
        lanes_join(&w->lanes, &w->lane[i], str_from(w->urls[i]), false);
    }
}

static void world_release(struct world *w)
{
    for (int i = 0; i < ENDPOINTS; i++) {
        if (w->lane[i].is_busy)
            lanes_done(&w->lanes, &w->lane[i], LANES_UNCALLED, w->now);
        lanes_wait(&w->lanes, &w->lane[i], false);
        lanes_leave(&w->lanes, &w->lane[i]);
    }
    assert_int_equal(map_count(&w->lanes.hosts), 0);
    assert_int_equal(w->lanes.count.busy + w->lanes.count.fresh + w->lanes.count.slow +
                         w->lanes.count.cut + w->lanes.count.unheard,
                     0);
    lanes_release(&w->lanes);
}

static struct lane *start(struct world *w)
{
    struct lane *lane = lanes_next(&w->lanes);

    if (lane != NULL)
        lanes_called(lane, w->now);
    return lane;
}

/* One call of this endpoint alone, which takes so long. */
static void call(struct world *w, int i, int64_t ms, enum lanes_end end)
{
    lanes_wait(&w->lanes, &w->lane[i], true);
    assert_ptr_equal(start(w), &w->lane[i]);
    w->now += ms;
    lanes_done(&w->lanes, &w->lane[i], end, w->now);
}

static void trust(struct world *w, int i)
{
    for (int k = 0; k < LANES_TRUST; k++)
        call(w, i, 5, LANES_ANSWERED);
    assert_int_equal(w->lane[i].standing, STANDING_TRUSTED);
}

/* Endpoints from..ENDPOINTS-1 wait; returns how many calls started. */
static size_t start_all(struct world *w, int from)
{
    size_t n = 0;

    for (int i = from; i < ENDPOINTS; i++)
        if (!w->lane[i].is_busy)
            lanes_wait(&w->lanes, &w->lane[i], true);
    while (start(w) != NULL)
        n++;
    return n;
}

/* Look at the calls, and end those that are to be cut. */
static size_t cut(struct world *w)
{
    struct lane *lanes[MAX + 1];
    size_t n = 0;

    while ((lanes[n] = lanes_look(&w->lanes, w->now)) != NULL)
        n++;
    for (size_t i = 0; i < n; i++)
        lanes_done(&w->lanes, lanes[i], LANES_CUT, w->now);
    return n;
}

/* Several quick answers in a row make an endpoint trusted; failures do not. */
static void test_lanes__trust_is_earned(void **state UNUSED)
{
    struct world w;

    world_init(&w, false);
    call(&w, 0, 5, LANES_ANSWERED);
    call(&w, 0, 5, LANES_ANSWERED);
    call(&w, 0, 5, LANES_FAILED);
    assert_int_equal(w.lane[0].standing, STANDING_FRESH);
    call(&w, 0, 5, LANES_ANSWERED);
    assert_int_equal(w.lane[0].standing, STANDING_TRUSTED);
    call(&w, 0, 5, LANES_FAILED);
    assert_int_equal(w.lane[0].standing, STANDING_TRUSTED);
    call(&w, 0, LANES_LATE_MS, LANES_ANSWERED);
    assert_int_equal(w.lane[0].standing, STANDING_SUSPECT);
    world_release(&w);
}

/* Lost trust takes twice as many quick answers each time, up to a bound, until it is forgiven. */
static void test_lanes__lost_trust_is_harder_to_earn(void **state UNUSED)
{
    struct world w;
    int expected[] = {3, 6, 12, 24, 48, 48};

    world_init(&w, false);
    for (size_t k = 0; k < ARRAY_LEN(expected); k++) {
        for (int n = 0; n < expected[k]; n++) {
            assert_int_not_equal(w.lane[0].standing, STANDING_TRUSTED);
            call(&w, 0, 5, LANES_ANSWERED);
        }
        assert_int_equal(w.lane[0].standing, STANDING_TRUSTED);
        call(&w, 0, 30000, LANES_FAILED);
        call(&w, 0, 30000, LANES_FAILED); /* a suspect that fails again stays what it is */
    }
    for (int n = 0; n < 200; n++)
        call(&w, 0, 5, LANES_ANSWERED);
    call(&w, 0, 30000, LANES_FAILED);
    for (int n = 0; n < 6; n++)
        call(&w, 0, 5, LANES_ANSWERED);
    assert_int_equal(w.lane[0].standing, STANDING_TRUSTED);
    world_release(&w);
}

/* PUSH-12, DELIV-07: however many new endpoints hang, there is room for one that is trusted. */
static void test_lanes__fresh_ones_leave_room_for_trusted_ones(void **state UNUSED)
{
    struct world w;

    world_init(&w, false);
    trust(&w, 0);
    assert_int_equal(start_all(&w, 1), 24);
    lanes_wait(&w.lanes, &w.lane[0], true);
    assert_ptr_equal(start(&w), &w.lane[0]);
    world_release(&w);
}

static void test_lanes__calls_to_one_host_are_bounded(void **state UNUSED)
{
    struct world w;
    struct lane other;

    world_init(&w, true);
    lanes_join(&w.lanes, &other, STR("http://other/"), false);
    for (int i = 0; i < 40; i++)
        trust(&w, i);
    assert_int_equal(start_all(&w, 40), 18);
    lanes_wait(&w.lanes, &other, true);
    assert_ptr_equal(start(&w), &other); /* it does not wait for the many at the one host */
    assert_int_equal(start_all(&w, 0), 24 - 18);
    lanes_done(&w.lanes, &other, LANES_UNCALLED, w.now);
    lanes_leave(&w.lanes, &other);
    world_release(&w);
}

/* Hosts take turns: one endpoint at another host is the second to be called, not the hundredth. */
static void test_lanes__hosts_take_turns(void **state UNUSED)
{
    struct world w;
    struct lane other;

    world_init(&w, true);
    lanes_join(&w.lanes, &other, STR("http://other/"), false);
    for (int i = 0; i < ENDPOINTS; i++)
        lanes_wait(&w.lanes, &w.lane[i], true);
    lanes_wait(&w.lanes, &other, true);
    assert_ptr_equal(start(&w), &w.lane[0]);
    assert_ptr_equal(start(&w), &other);
    lanes_done(&w.lanes, &other, LANES_UNCALLED, w.now);
    lanes_leave(&w.lanes, &other);
    world_release(&w);
}

/* A call that has run for two seconds is slow while it runs, and keeps its time if there is room.
 * Those for which there is none go on too, as long as nobody waits. */
static void test_lanes__late_calls_are_counted_among_the_slow(void **state UNUSED)
{
    struct world w;

    world_init(&w, false);
    assert_int_equal(start_all(&w, ENDPOINTS - 20), 20);
    w.now += LANES_LATE_MS - 1;
    assert_int_equal(cut(&w), 0);
    assert_int_equal(w.lanes.count.slow, 0);
    w.now++;
    assert_int_equal(cut(&w), 0);
    assert_int_equal(w.lanes.count.slow, 8);
    assert_int_equal(w.lanes.count.fresh, 12);
    world_release(&w);
}

/* When others wait, late calls that are too many for the slow make room. */
static void test_lanes__late_calls_make_room(void **state UNUSED)
{
    struct world w;

    world_init(&w, false);
    assert_int_equal(start_all(&w, 0), 24);
    w.now += LANES_LATE_MS;
    assert_int_equal(cut(&w), 24 - 8);
    assert_int_equal(start_all(&w, 24), 24 - 8);
    world_release(&w);
}

/* No more are cut than are waited for. */
static void test_lanes__as_many_make_room_as_wait(void **state UNUSED)
{
    struct world w;

    world_init(&w, false);
    assert_int_equal(start_all(&w, ENDPOINTS - 26), 24);
    w.now += LANES_LATE_MS;
    assert_int_equal(cut(&w), 2);
    assert_int_equal(start_all(&w, ENDPOINTS), 2);
    w.now += LANES_LATE_MS;
    assert_int_equal(cut(&w), 0);
    world_release(&w);
}

/* Suspects are only called among the slow, and a slow call that began there is never cut. */
static void test_lanes__suspects_have_their_full_time(void **state UNUSED)
{
    struct world w;

    world_init(&w, false);
    for (int i = 0; i < ENDPOINTS; i++)
        call(&w, i, 30000, LANES_FAILED);
    assert_int_equal(start_all(&w, 0), 8);
    w.now += 29000;
    assert_int_equal(cut(&w), 0);
    world_release(&w);
}

/* Calls of endpoints that answered at once before are late sooner, but only while others wait. */
static void test_lanes__late_is_longer_than_usual(void **state UNUSED)
{
    struct world w;

    world_init(&w, false);
    for (int i = 0; i < ENDPOINTS; i++)
        call(&w, i, i < 50 ? 5 : 500, LANES_ANSWERED);
    assert_int_equal(start_all(&w, 0), 24); /* all of them usually take 5 ms */
    w.now += LANES_SOON_MS - 1;
    assert_int_equal(cut(&w), 0);
    w.now++;
    assert_int_equal(cut(&w), LANES_TRIES);
    world_release(&w);
    world_init(&w, false);
    for (int i = 0; i < ENDPOINTS; i++)
        call(&w, i, 500, LANES_ANSWERED);
    assert_int_equal(start_all(&w, 0), 24);
    w.now += 999;
    assert_int_equal(cut(&w), 0);
    w.now++;
    assert_int_equal(cut(&w), LANES_TRIES);
    world_release(&w);
}

/* DELIV-01 DELIV-07: when nobody answers for a moment, it is the network, and to cut the calls of
 * all would only have them come twice. When somebody answers, it is those that do not. */
static void test_lanes__some_are_cut_to_see_who_answers(void **state UNUSED)
{
    struct world w;

    world_init(&w, false);
    for (int i = 0; i < ENDPOINTS; i++)
        call(&w, i, 5, LANES_ANSWERED);
    assert_int_equal(start_all(&w, 0), 24);
    w.now += LANES_SOON_MS;
    assert_int_equal(cut(&w), LANES_TRIES);
    assert_int_equal(start_all(&w, ENDPOINTS), LANES_TRIES); /* from /24 on */
    w.now += 25;
    assert_int_equal(cut(&w), 0);
    lanes_done(&w.lanes, &w.lane[24], LANES_ANSWERED, w.now);
    assert_int_equal(start_all(&w, ENDPOINTS), 1);
    assert_int_equal(cut(&w), 24 - 8 - LANES_TRIES);
    assert_int_equal(start_all(&w, ENDPOINTS), 24 - 8 - LANES_TRIES);
    w.now += LANES_TRY_MS; /* in which nobody has answered */
    assert_int_equal(cut(&w), LANES_TRIES);
    assert_int_equal(start_all(&w, ENDPOINTS), LANES_TRIES);
    w.now += LANES_LATE_MS; /* they hang */
    assert_int_equal(cut(&w), 24 - 8);
    world_release(&w);
}

/* A host that is slow as a whole: its calls are not cut for the sake of its own other endpoints. */
static void test_lanes__a_slow_host_keeps_its_calls(void **state UNUSED)
{
    struct world w;

    world_init(&w, true);
    assert_int_equal(start_all(&w, 0), 18);
    w.now += 10000;
    assert_int_equal(cut(&w), 0);
    assert_int_equal(w.lanes.count.slow, 4);
    world_release(&w);
}

/* One that was quick until now and hangs makes room for others at its host. DELIV-01: not before it
 * is clear that it hangs, because what was cut comes twice if it was taken. */
static void test_lanes__a_host_that_hangs_is_left(void **state UNUSED)
{
    struct world w;

    world_init(&w, true);
    for (int i = 0; i < ENDPOINTS; i++)
        call(&w, i, 5, LANES_ANSWERED);
    assert_int_equal(start_all(&w, 0), 18);
    w.now += LANES_LATE_MS - 1;
    assert_int_equal(cut(&w), 0);
    assert_int_equal(w.lanes.count.slow, 4);
    w.now++;
    assert_int_equal(cut(&w), 18 - 4);
    world_release(&w);
}

/* How long it takes until this endpoint, which waits, has its turn while all others hang. */
static int64_t time_to_turn(struct world *w, int i)
{
    int64_t began = w->now;

    while (!w->lane[i].is_busy && w->now - began < 60000) {
        w->now += 25;
        cut(w);
        while (start(w) != NULL)
            ;
    }
    return w->now - began;
}

/* DELIV-07: new endpoints that hang do not delay a new one much: one after the other they would
 * hold it up for 10 s. */
static void test_lanes__first_calls_that_hang_make_room_soon(void **state UNUSED)
{
    struct world w;

    world_init(&w, false);
    assert_int_equal(start_all(&w, 0), 24);
    assert_in_range(time_to_turn(&w, ENDPOINTS - 1), 200, 3000);
    assert_int_equal(w.lane[20].standing, STANDING_UNHEARD);
    world_release(&w);
}

/* DELIV-07: nor do they when others have answered very late before, in slow turns or not. */
static void test_lanes__late_answers_do_not_keep_first_calls_long(void **state UNUSED)
{
    struct world w;

    world_init(&w, false);
    for (int i = 0; i < 4; i++)
        call(&w, i, 25000, LANES_ANSWERED);
    for (int i = 0; i < 100; i++) /* they are suspects now */
        call(&w, i % 4, 25000, LANES_ANSWERED);
    assert_int_equal(start_all(&w, 4), 24);
    assert_in_range(time_to_turn(&w, ENDPOINTS - 1), 200, 6000);
    world_release(&w);
}

/* Nobody is cut soon when first calls are answered, slowly though it be. */
static void test_lanes__first_calls_have_the_time_that_others_took(void **state UNUSED)
{
    struct world w;

    world_init(&w, false);
    for (int i = 0; i < 30; i++)
        call(&w, i, 800, LANES_ANSWERED);
    assert_int_equal(start_all(&w, 30), 24);
    w.now += 1599;
    assert_int_equal(cut(&w), 0);
    w.now++;
    assert_int_equal(cut(&w), 24 - 8);
    world_release(&w);
}

/* An unheard endpoint has the time of others, and is fresh when it has answered. */
static void test_lanes__unheard_ones_have_more_time(void **state UNUSED)
{
    struct world w;
    struct lane *lane;

    world_init(&w, false);
    assert_int_equal(start_all(&w, 0), 24);
    w.now += 1000;
    assert_int_equal(cut(&w), 24 - 8);
    for (int i = 24; i < ENDPOINTS; i++)
        lanes_wait(&w.lanes, &w.lane[i], false);
    lane = &w.lane[8];
    assert_int_equal(lane->standing, STANDING_UNHEARD);
    assert_int_equal(start_all(&w, ENDPOINTS), 0);
    for (int i = 8; i < 24; i++)
        lanes_wait(&w.lanes, &w.lane[i], true);
    assert_int_equal(start_all(&w, ENDPOINTS), 20 - 8);
    assert_true(lane->is_busy);
    w.now += LANES_LATE_MS - 1;
    assert_int_equal(cut(&w), 0);
    lanes_done(&w.lanes, lane, LANES_ANSWERED, w.now);
    assert_int_equal(lane->standing, STANDING_FRESH);
    world_release(&w);
}

/* They leave room for fresh ones, and fresh ones do not keep all turns from them. */
static void test_lanes__fresh_and_unheard_ones_share(void **state UNUSED)
{
    struct world w;

    world_init(&w, false);
    for (int i = 0; i < 50; i++)
        w.lane[i].standing = STANDING_UNHEARD;
    for (int i = 0; i < 50; i++)
        lanes_wait(&w.lanes, &w.lane[i], true);
    assert_int_equal(start_all(&w, ENDPOINTS), 20);
    assert_int_equal(start_all(&w, 50), 4);
    assert_int_equal(w.lanes.count.fresh, 4);
    for (int i = 0; i < 20; i++)
        lanes_done(&w.lanes, &w.lane[i], LANES_FAILED, w.now);
    assert_int_equal(start_all(&w, ENDPOINTS), 20);
    assert_int_equal(w.lanes.count.unheard, 2);
    assert_int_equal(w.lanes.count.fresh, 22);
    world_release(&w);
}

/* DELIV-07: when many calls hang at once, and only endpoints wait that were never quick, some are
 * cut at a time: as many at once would hold up the calls that are answered. */
static void test_lanes__cuts_are_spread(void **state UNUSED)
{
    struct world w;

    world_init(&w, false);
    for (int i = 24; i < ENDPOINTS; i++)
        w.lane[i].standing = STANDING_UNHEARD;
    for (int i = 0; i < 24; i++)
        lanes_wait(&w.lanes, &w.lane[i], true);
    assert_int_equal(start_all(&w, ENDPOINTS), 24);
    for (int i = 24; i < ENDPOINTS; i++)
        lanes_wait(&w.lanes, &w.lane[i], true);
    w.now += LANES_LATE_MS;
    assert_int_equal(cut(&w), 8);
    assert_int_equal(start_all(&w, ENDPOINTS), 8);
    w.now += 24;
    assert_int_equal(cut(&w), 0);
    w.now += 1;
    assert_int_equal(cut(&w), 8);
    assert_int_equal(start_all(&w, ENDPOINTS), 4); /* the slow have grown, and count with these */
    world_release(&w);
}

/* A turn may end before its call began. */
static void test_lanes__a_turn_without_a_call(void **state UNUSED)
{
    struct world w;

    world_init(&w, false);
    lanes_wait(&w.lanes, &w.lane[0], true);
    assert_ptr_equal(lanes_next(&w.lanes), &w.lane[0]);
    w.now += 60000;
    assert_int_equal(cut(&w), 0);
    lanes_done(&w.lanes, &w.lane[0], LANES_UNCALLED, w.now);
    assert_int_equal(w.lane[0].standing, STANDING_FRESH);
    world_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes__trust_is_earned),
        cmocka_unit_test(test_lanes__lost_trust_is_harder_to_earn),
        cmocka_unit_test(test_lanes__fresh_ones_leave_room_for_trusted_ones),
        cmocka_unit_test(test_lanes__calls_to_one_host_are_bounded),
        cmocka_unit_test(test_lanes__hosts_take_turns),
        cmocka_unit_test(test_lanes__late_calls_are_counted_among_the_slow),
        cmocka_unit_test(test_lanes__late_calls_make_room),
        cmocka_unit_test(test_lanes__as_many_make_room_as_wait),
        cmocka_unit_test(test_lanes__suspects_have_their_full_time),
        cmocka_unit_test(test_lanes__late_is_longer_than_usual),
        cmocka_unit_test(test_lanes__some_are_cut_to_see_who_answers),
        cmocka_unit_test(test_lanes__a_slow_host_keeps_its_calls),
        cmocka_unit_test(test_lanes__a_host_that_hangs_is_left),
        cmocka_unit_test(test_lanes__first_calls_that_hang_make_room_soon),
        cmocka_unit_test(test_lanes__late_answers_do_not_keep_first_calls_long),
        cmocka_unit_test(test_lanes__first_calls_have_the_time_that_others_took),
        cmocka_unit_test(test_lanes__unheard_ones_have_more_time),
        cmocka_unit_test(test_lanes__fresh_and_unheard_ones_share),
        cmocka_unit_test(test_lanes__cuts_are_spread),
        cmocka_unit_test(test_lanes__a_turn_without_a_call),
    };

    digest_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
