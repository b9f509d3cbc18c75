/* tests/unit/notifier/test_leaving.c - what becomes of endpoints whose slots come and go. */
#include "notifier/turns.h"

#include "base/clock.h"
#include "tests/unit/cmocka_all.h"

#define URL STR("http://a.example/")
#define OTHER_URL STR("http://b.example/")

/* Nothing of it is asked by what is tested here. */
static struct nodes *some_nodes(void)
{
    return (struct nodes *)1;
}

struct fixture {
    struct notifier_cfg cfg;
    struct loop *loop;
    struct turns turns;
    struct slot_set slot, other_slot;                     /* of the two endpoints */
    bool is_held, is_other_held, is_shown, is_held_again; /* what was seen on the loop */
};

static const struct slot_set none;

static void begin(void *ctx)
{
    struct fixture *f = ctx;

    turns_init(&f->turns, &f->cfg);
    turns_start(&f->turns, f->loop, NULL);
    f->turns.stopping = true; /* no turns: there is no store */
    slot_set_add(&f->slot, owned_slot(&f->turns.owned, URL));
    slot_set_add(&f->other_slot, owned_slot(&f->turns.owned, OTHER_URL));
    owned_change(&f->turns.owned, &f->slot, &none);
    owned_change(&f->turns.owned, &f->other_slot, &none);
}

static int setup(void **state)
{
    static struct fixture f;

    f = (struct fixture){.cfg = {.nodes = some_nodes(), .max_calls = 4, .timeout_ms = 1000}};
    f.loop = loop_new("leaving");
    loop_call(f.loop, begin, &f);
    *state = &f;
    return 0;
}

static void end(void *ctx)
{
    struct fixture *f = ctx;

    turns_stop(&f->turns);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    loop_call(f->loop, end, f);
    loop_free(&f->loop);
    turns_release(&f->turns);
    return 0;
}

static bool is_held(const struct turns *ts, struct str url)
{
    const struct endpoint *e = map_get(&ts->roster.endpoints, url);

    return e != NULL && e->hold != NULL;
}

static void look(struct fixture *f)
{
    f->is_held = is_held(&f->turns, URL);
    f->is_other_held = is_held(&f->turns, OTHER_URL);
    f->is_shown = holds_get(f->turns.holds, URL) != TIME_UNKNOWN;
}

static void hold_and_lose(void *ctx)
{
    struct fixture *f = ctx;
    struct turns *ts = &f->turns;

    turns_hold(ts, turns_add(ts, 1, URL, true)->endpoint, 3600 * 1000);
    turns_hold(ts, turns_add(ts, 2, OTHER_URL, true)->endpoint, 3600 * 1000);
    owned_change(&ts->owned, &none, &f->slot);
    turns_lost(ts, &f->slot);
    turns_forget_left(ts);
    look(f);
    owned_change(&ts->owned, &f->slot, &none);
    turns_add(ts, 1, URL, true);
    f->is_held_again = is_held(ts, URL);
}

/* NODE-05: the pause that an endpoint has asked for ends with the slot. The next owner knows it
 * from the rows, and may end it; when the slot comes back, the old pause must not hold again. */
static void test_leaving__hold(void **state)
{
    struct fixture *f = *state;

    loop_call(f->loop, hold_and_lose, f);
    assert_false(f->is_held);
    assert_false(f->is_shown);
    assert_true(f->is_other_held);
    assert_false(f->is_held_again);
}

static void lose_and_hold(void *ctx)
{
    struct fixture *f = ctx;
    struct member *m = turns_add(&f->turns, 1, URL, true);

    owned_change(&f->turns.owned, &none, &f->slot);
    turns_lost(&f->turns, &f->slot);
    turns_hold(&f->turns, m->endpoint, 3600 * 1000);
    look(f);
}

/* NODE-05: the same with the answer of a call that was under way when the slot was lost */
static void test_leaving__late_hold(void **state)
{
    struct fixture *f = *state;

    loop_call(f->loop, lose_and_hold, f);
    assert_false(f->is_held);
    assert_false(f->is_shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_leaving__hold, setup, teardown),
        cmocka_unit_test_setup_teardown(test_leaving__late_hold, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
