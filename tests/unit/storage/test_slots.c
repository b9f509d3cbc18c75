/* tests/unit/storage/test_slots.c - slots of hosts, divided among nodes. */
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "storage/slots.h"

#define NODES 6

/* Nodes that follow their plans at random moments, and a database that serializes them. */
struct model {
    struct slot_state slots[SLOTS];
    struct slot_node alive[NODES];
    size_t n;
    enum slot_step plans[NODES + 1][SLOTS]; /* by id */
    unsigned moves;
};

static void beat(struct model *m, int64_t me)
{
    enum slot_step out[SLOTS];

    slots_plan(me, m->alive, m->n, m->slots, m->plans[me], out);
    for (size_t i = 0; i < SLOTS; i++) {
        if (out[i] == SLOT_TAKE) {
            assert_int_equal(0, m->slots[i].owner);
            m->slots[i] = (struct slot_state){.owner = me, .fence = m->slots[i].fence + 1};
            m->moves++;
            out[i] = SLOT_KEEP;
        } else if (out[i] == SLOT_DRAIN && rand() % 3 == 0) {
            m->slots[i].owner = 0;
            out[i] = SLOT_NONE;
        }
    }
    memcpy(m->plans[me], out, sizeof out);
}

static void beats(struct model *m, int n)
{
    for (int i = 0; i < n && m->n > 0; i++)
        beat(m, m->alive[(size_t)rand() % m->n].id);
}

static bool is_alive(const struct model *m, int64_t id)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->alive[i].id == id)
            return true;
    return false;
}

static void die(struct model *m, size_t at)
{
    int64_t id = m->alive[at].id;

    m->alive[at] = m->alive[--m->n];
    memset(m->plans[id], 0, sizeof m->plans[id]);
    for (size_t i = 0; i < SLOTS; i++)
        if (m->slots[i].owner == id)
            m->slots[i].owner = 0;
}

static void join(struct model *m)
{
    for (int64_t id = 1; id <= NODES; id++)
        if (!is_alive(m, id)) {
            m->alive[m->n++] = (struct slot_node){.id = id};
            return;
        }
}

static void settle(struct model *m)
{
    unsigned moves;

    beats(m, 2000);
    moves = m->moves;
    beats(m, 200);
    assert_int_equal(moves, m->moves); /* nothing moves any more */
    for (size_t k = 0; k < m->n; k++) {
        size_t n = 0;

        for (size_t i = 0; i < SLOTS; i++)
            n += m->slots[i].owner == m->alive[k].id;
        assert_int_equal(slots_share(m->alive[k].id, m->alive, m->n), n);
    }
}

/* NODE-06: nodes come, leave, drain and die; in the end each slot has an owner, and all have as
 * many. */
static void test_slots__each_has_an_owner_in_the_end(void **state UNUSED)
{
    srand(1);
    for (int round = 0; round < 100; round++) {
        struct model m = {.n = 0};
        bool works = false;

        for (int i = 0; i < 30; i++) {
            int what = rand() % 4;

            if (what == 0 && m.n > 0)
                die(&m, (size_t)rand() % m.n);
            else if (what == 1 && m.n > 0)
                m.alive[(size_t)rand() % m.n].is_draining ^= true;
            else if (m.n < NODES)
                join(&m);
            beats(&m, rand() % 20);
        }
        settle(&m);
        for (size_t k = 0; k < m.n; k++)
            works |= !m.alive[k].is_draining;
        for (size_t i = 0; works && i < SLOTS; i++)
            assert_true(is_alive(&m, m.slots[i].owner));
    }
}

/* A node that joins takes its share, and no more moves than that. */
static void test_slots__few_move(void **state UNUSED)
{
    struct model m = {.n = 0};

    srand(2);
    for (int id = 1; id <= 3; id++) {
        join(&m);
        settle(&m);
    }
    assert_int_equal(SLOTS + 128 + 85, m.moves);
    die(&m, 2);
    settle(&m);
    assert_in_range(m.moves, SLOTS + 128 + 2 * 85, SLOTS + 128 + 2 * 85 + 1);
}

static void test_slots__a_node_alone_has_all_but_when_it_drains(void **state UNUSED)
{
    struct slot_node one = {7, false};

    assert_int_equal(SLOTS, slots_share(7, &one, 1));
    assert_int_equal(0, slots_share(8, &one, 1)); /* it is not alive, as the others see it */
    one.is_draining = true;
    assert_int_equal(0, slots_share(7, &one, 1));
}

static void test_slots__hosts_are_spread(void **state UNUSED)
{
    unsigned n[SLOTS] = {0};
    char name[40];

    for (int i = 0; i < 256 * 100; i++) {
        snprintf(name, sizeof name, "host%d.example:443", i);
        n[slot_of(str_from(name))]++;
    }
    for (int i = 0; i < SLOTS; i++)
        assert_in_range(n[i], 50, 170);
    /* nodes of other versions must compute the same */
    assert_int_equal(165, slot_of(STR("example.org:80")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots__each_has_an_owner_in_the_end),
        cmocka_unit_test(test_slots__few_move),
        cmocka_unit_test(test_slots__a_node_alone_has_all_but_when_it_drains),
        cmocka_unit_test(test_slots__hosts_are_spread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
