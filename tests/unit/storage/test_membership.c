/* tests/unit/storage/test_membership.c - what a node may work on, by clocks that the test sets. */
#include "tests/unit/cmocka_all.h"

#include "storage/membership.h"

#define LEASE 15000
#define SCHEMA 7

static const unsigned idle[SLOTS];

/* An answer that says: these nodes are alive, and all slots are ours with fence 1. */
static struct beat_answer answer_of(struct node_row *nodes, size_t n, int64_t owner,
                                    int64_t sent_ms)
{
    struct beat_answer a = {.sent_ms = sent_ms, .schema_version = SCHEMA, .nodes = nodes, .n = n};

    for (size_t i = 0; i < SLOTS; i++)
        a.slots[i] = (struct slot_state){.owner = owner, .fence = 1};
    return a;
}

/* Node 1, called "a", that has all slots; its beat was sent at 0. */
static struct membership alone(void)
{
    struct node_row me = {.id = 1, .name = STR("a")};
    struct beat_answer a = answer_of(&me, 1, 1, 0);
    struct membership m;

    membership_init(&m, LEASE);
    membership_joined(&m, 1, 0);
    assert_int_equal(MEMBER_AS_BEFORE, membership_told(&m, &a, STR("a"), SCHEMA, 0));
    assert_int_equal(SLOTS, membership_n_slots(&m));
    return m;
}

/* NODE-06: the trust counts from the sending of the beat, and ends before the lease. */
static void test_membership__trusts_its_lease_for_two_thirds(void **state UNUSED)
{
    struct node_row me = {.id = 1, .name = STR("a")};
    struct beat_answer late = answer_of(&me, 1, 1, 5000);
    struct membership m = alone();

    assert_non_null(membership_slot(&m, 3, 9999));
    assert_null(membership_slot(&m, 3, 10000));
    assert_false(membership_may_go_on(&m, 3, 1, 10000));
    assert_int_equal(10000, membership_left_ms(&m, 0));
    assert_int_equal(0, membership_left_ms(&m, 60000));
    membership_told(&m, &late, STR("a"), SCHEMA, 14000); /* sent at 5000, answered at 14000 */
    assert_non_null(membership_slot(&m, 3, 14999));
    assert_null(membership_slot(&m, 3, 15000));
}

static void test_membership__beats_three_times_in_a_lease(void **state UNUSED)
{
    struct membership m = alone();
    struct beat b;

    membership_ask(&m, 20000, idle, &b);
    assert_int_equal(25000, membership_next_ms(&m, idle));
    membership_failed(&m);
    assert_int_equal(21000, membership_next_ms(&m, idle));
    membership_drop(&m);
    assert_int_equal(21000, membership_next_ms(&m, idle));
}

static void test_membership__a_loop_that_slept_distrusts_itself(void **state UNUSED)
{
    struct membership m = alone();

    assert_false(membership_is_gap(&m, 1000, 6000));
    assert_true(membership_is_gap(&m, 1000, 6001));
}

/* NODE-04, NODE-05: a slot is given back when nothing runs in it; nothing begins there before. */
static void test_membership__gives_back_what_is_at_rest(void **state UNUSED)
{
    struct node_row nodes[] = {{.id = 1, .name = STR("a")}, {.id = 2, .name = STR("b")}};
    struct beat_answer a = answer_of(nodes, 2, 1, 5000);
    struct membership m = alone();
    unsigned running[SLOTS] = {0}, drained = SLOTS, kept = 0;
    struct beat b;

    membership_told(&m, &a, STR("a"), SCHEMA, 5000);
    for (unsigned i = 0; i < SLOTS; i++)
        if (m.slots[i].step == SLOT_DRAIN)
            drained = i;
        else
            kept++;
    assert_int_equal(SLOTS / 2, kept);
    assert_int_not_equal(SLOTS, drained);
    assert_null(membership_slot(&m, drained, 5000));
    running[drained] = 1;
    membership_ask(&m, 5000, running, &b);
    assert_int_equal(SLOTS / 2 - 1, b.n_give);
    for (size_t i = 0; i < b.n_give; i++) {
        assert_int_not_equal(drained, b.give[i]);
        a.slots[b.give[i]].owner = 0;
    }
    a.sent_ms = 15000;
    membership_told(&m, &a, STR("a"), SCHEMA, 15000);
    assert_int_equal(20000,
                     (membership_ask(&m, 15000, running, &b), membership_next_ms(&m, running)));
    assert_int_equal(0, b.n_give + b.n_take);
    assert_true(membership_may_go_on(&m, drained, 1, 19999)); /* a lease after it was drained */
    assert_false(membership_may_go_on(&m, drained, 1, 20000));
    assert_false(membership_may_go_on(&m, drained, 2, 16000)); /* another fence */
    assert_int_equal(15100, membership_next_ms(&m, idle));     /* it has ended: at once */
    membership_ask(&m, 15100, idle, &b);
    assert_int_equal(1, b.n_give);
    assert_int_equal(drained, b.give[0]);
}

/* NODE-04, NODE-06: what others are told of: also a lease that ends, and a slot that was another
 * node's meanwhile. */
static void test_membership__knows_what_has_changed(void **state UNUSED)
{
    struct node_row me = {.id = 1, .name = STR("a")};
    struct beat_answer a = answer_of(&me, 1, 1, 20000);
    struct membership m = alone();
    struct member_told told = {.n_lapses = 0};
    struct slot_set gained, lost;

    assert_true(membership_changes(&m, &told, 0, &gained, &lost));
    assert_int_equal(SLOTS, slot_set_count(&gained));
    assert_int_equal(0, slot_set_count(&lost));
    assert_false(membership_changes(&m, &told, 9999, &gained, &lost));
    assert_true(membership_changes(&m, &told, 10000, &gained, &lost));
    assert_int_equal(0, slot_set_count(&gained));
    assert_int_equal(SLOTS, slot_set_count(&lost));
    membership_told(&m, &a, STR("a"), SCHEMA, 20000);
    assert_true(membership_changes(&m, &told, 20000, &gained, &lost));
    assert_int_equal(SLOTS, slot_set_count(&gained));
    a.slots[3].owner = 2;
    a.slots[200].fence = 3;
    membership_told(&m, &a, STR("a"), SCHEMA, 20000);
    assert_true(membership_changes(&m, &told, 20000, &gained, &lost));
    assert_true(slot_set_has(&lost, 3) && slot_set_has(&lost, 200) && slot_set_has(&gained, 200));
    assert_int_equal(2, slot_set_count(&lost));
    assert_int_equal(1, slot_set_count(&gained));
}

/* NODE-04, NODE-06: the lease ends while a beat is under way, which is answered in the end. Nobody
 * could be told meanwhile, and what was refused then must be found again. */
static void test_membership__tells_of_a_lapse_during_a_beat(void **state UNUSED)
{
    struct node_row me = {.id = 1, .name = STR("a")};
    struct beat_answer quick = answer_of(&me, 1, 1, 5000), slow = answer_of(&me, 1, 1, 10000);
    struct membership m = alone();
    struct member_told told = {.n_lapses = 0};
    struct slot_set gained, lost;

    membership_changes(&m, &told, 0, &gained, &lost);
    membership_told(&m, &quick, STR("a"), SCHEMA, 9999);
    assert_false(membership_changes(&m, &told, 9999, &gained, &lost));
    slow.slots[7].owner = 2;
    membership_told(&m, &slow, STR("a"), SCHEMA, 15000);
    assert_true(membership_changes(&m, &told, 15000, &gained, &lost));
    assert_int_equal(SLOTS, slot_set_count(&lost));
    assert_int_equal(SLOTS - 1, slot_set_count(&gained));
    assert_false(membership_changes(&m, &told, 15000, &gained, &lost));
}

/* NODE-06 */
static void test_membership__whose_row_is_gone_has_nothing(void **state UNUSED)
{
    struct beat_answer gone = {.is_gone = true};
    struct membership m = alone();

    assert_int_equal(MEMBER_GONE, membership_told(&m, &gone, STR("a"), SCHEMA, 30000));
    assert_int_equal(0, m.id);
    assert_int_equal(0, membership_n_slots(&m));
    membership_joined(&m, 9, 30000);
    assert_null(membership_slot(&m, 3, 30000));
}

/* NODE-05, NODE-09: a server that took over may lack the last moves of slots, so its table may name
 * an owner that another node has followed. For one lease nobody works anywhere. */
static void test_membership__owns_nothing_after_a_fork(void **state UNUSED)
{
    struct node_row me = {.id = 1, .name = STR("a")};
    struct beat_answer a = answer_of(&me, 1, 1, 5000);
    struct membership m = alone();
    struct beat b;

    a.forked_us = 1000000000;
    for (int64_t ms = 0; ms < LEASE; ms += 4999) {
        a.sent_ms = 5000 + ms;
        a.now_us = a.forked_us + ms * 1000;
        if (ms > 5000)
            a.slots[7].owner = 0; /* not even what is free */
        assert_int_equal(ms == 0 ? MEMBER_WAITS : MEMBER_AS_BEFORE,
                         membership_told(&m, &a, STR("a"), SCHEMA, a.sent_ms));
        assert_int_equal(0, membership_n_slots(&m));
        assert_null(membership_slot(&m, 3, a.sent_ms));
        assert_false(membership_may_go_on(&m, 3, 1, a.sent_ms));
        membership_ask(&m, a.sent_ms, idle, &b);
        assert_int_equal(0, b.n_take + b.n_give);
    }
    a.sent_ms = 5000 + LEASE;
    a.now_us = a.forked_us + (int64_t)LEASE * 1000;
    assert_int_equal(MEMBER_AS_BEFORE, membership_told(&m, &a, STR("a"), SCHEMA, a.sent_ms));
    assert_int_equal(SLOTS - 1, membership_n_slots(&m));
    membership_ask(&m, a.sent_ms, idle, &b);
    assert_int_equal(1, b.n_take);
    a.now_us = a.forked_us - 1; /* the clock was set back */
    assert_int_equal(MEMBER_AS_BEFORE, membership_told(&m, &a, STR("a"), SCHEMA, a.sent_ms));
    assert_int_equal(SLOTS - 1, membership_n_slots(&m));
}

/* NODE-11: the order holds until the node is started anew, also when it loses its row. */
static void test_membership__a_drain_outlives_the_row(void **state UNUSED)
{
    struct node_row me = {.id = 1, .name = STR("a"), .is_draining = true};
    struct beat_answer a = answer_of(&me, 1, 1, 5000), gone = {.is_gone = true};
    struct membership m = alone();
    struct beat b;

    assert_int_equal(MEMBER_DRAINS, membership_told(&m, &a, STR("a"), SCHEMA, 5000));
    assert_null(membership_slot(&m, 3, 5000));
    membership_ask(&m, 5000, idle, &b);
    assert_int_equal(SLOTS, b.n_give);
    assert_true(b.is_draining);
    membership_told(&m, &gone, STR("a"), SCHEMA, 9000);
    membership_joined(&m, 2, 9000);
    membership_ask(&m, 9000, idle, &b);
    assert_true(b.is_draining);
    assert_int_equal(0, b.n_take);
}

static void test_membership__gives_way_to_its_successor(void **state UNUSED)
{
    struct node_row nodes[] = {{.id = 1, .name = STR("a")}, {.id = 2, .name = STR("a")}};
    struct beat_answer a = answer_of(nodes, 2, 1, 5000);
    struct membership m = alone(), newer;

    assert_int_equal(MEMBER_REPLACED, membership_told(&m, &a, STR("a"), SCHEMA, 5000));
    assert_true(m.is_draining);
    membership_init(&newer, LEASE);
    membership_joined(&newer, 2, 0);
    assert_int_equal(MEMBER_AS_BEFORE, membership_told(&newer, &a, STR("a"), SCHEMA, 5000));
    m = alone();
    a.n = 1;
    a.schema_version = SCHEMA + 1;
    assert_int_equal(MEMBER_OUTDATED, membership_told(&m, &a, STR("a"), SCHEMA, 5000));
    assert_true(m.is_draining);
}

/* ---- a model --------------------------------------------------------------------------------- */

#define NODES 4
#define ROWS 4000

struct model_row {
    int64_t until;
    size_t node;
};

struct model_node {
    struct membership m;
    int64_t offset; /* its clock is ahead by so much */
    int64_t awake_at, answer_at;
    enum { IDLE, SENT, DONE } stage;
    bool is_lost; /* the answer */
    struct beat ask;
    struct beat_answer answer;
    struct node_row rows[NODES + 1];
    unsigned running[SLOTS];
};

struct model {
    int64_t now; /* of the database */
    struct model_row rows[ROWS];
    int64_t last_id;
    struct slot_state slots[SLOTS];
    struct model_node nodes[NODES];
};

static bool row_lives(const struct model *m, int64_t id)
{
    return m->rows[id].until > m->now;
}

/* Every beat ends the rows whose lease has ended, before anything else. */
static void end_rows(struct model *m)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (m->slots[i].owner != 0 && !row_lives(m, m->slots[i].owner))
            m->slots[i].owner = 0;
}

static void move_slots(struct model *m, const struct beat *b)
{
    size_t n = b->n_take;

    for (size_t i = 0; i < b->n_give; i++) {
        struct slot_state *s = &m->slots[b->give[i]];

        if (s->owner == b->id)
            *s = (struct slot_state){.fence = s->fence, .given = s->fence};
    }
    for (size_t i = 0; i < SLOTS && n > 0; i++)
        if (m->slots[i].owner == 0) {
            m->slots[i].owner = b->id;
            m->slots[i].fence++;
            n--;
        }
}

static void carry_out(struct model *m, struct model_node *n)
{
    struct beat_answer *a = &n->answer;

    end_rows(m);
    if (n->ask.id == 0) { /* a join */
        assert_in_range(m->last_id, 0, ROWS - 2);
        m->rows[++m->last_id] =
            (struct model_row){m->now + n->ask.lease_ms, (size_t)(n - m->nodes)};
        return;
    }
    a->is_gone = !row_lives(m, n->ask.id);
    if (a->is_gone)
        return;
    m->rows[n->ask.id].until = m->now + n->ask.lease_ms;
    move_slots(m, &n->ask);
    memcpy(a->slots, m->slots, sizeof a->slots);
    a->schema_version = SCHEMA;
    a->nodes = n->rows;
    a->n = 0;
    for (int64_t id = m->last_id; id > 0; id--)
        if (row_lives(m, id) && a->n < ARRAY_LEN(n->rows))
            n->rows[a->n++] = (struct node_row){.id = id};
}

static void hear(struct model *m, struct model_node *n)
{
    int64_t clock = m->now + n->offset;

    if (n->is_lost)
        membership_failed(&n->m);
    else if (n->ask.id == 0)
        membership_joined(&n->m, m->last_id, n->answer.sent_ms);
    else
        membership_told(&n->m, &n->answer, STR("a node"), SCHEMA, clock);
}

/* One step of a node: it sends, or the database carries it out, or the answer comes. */
static void step(struct model *m, struct model_node *n, bool is_bad)
{
    int64_t clock = m->now + n->offset;

    if (n->stage == SENT) {
        carry_out(m, n);
        n->stage = DONE;
        if (n->ask.id != 0)
            return;
    }
    if (n->stage ==
        DONE) { /* the id that a join got is that of the last row: it is heard at once */
        hear(m, n);
        n->stage = IDLE;
    } else if (clock >= membership_next_ms(&n->m, n->running)) {
        membership_ask(&n->m, clock, n->running, &n->ask);
        n->answer.sent_ms = clock;
        n->is_lost = is_bad && n->ask.id != 0 && rand() % 8 == 0;
        n->stage = SENT;
    }
}

/* Work begins where it may, and ends some time. */
static void work(struct model *m, struct model_node *n)
{
    for (unsigned k = 0; k < 4; k++) {
        unsigned slot = (unsigned)rand() % SLOTS;

        if (n->running[slot] > 0)
            n->running[slot] = 0;
        else if (membership_slot(&n->m, slot, m->now + n->offset) != NULL)
            n->running[slot] = 1;
    }
}

/* NODE-06: two nodes never believe at the same time that they may begin in a slot. */
static void check_beliefs(const struct model *m)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        int owners = 0;

        for (size_t k = 0; k < NODES; k++)
            owners += membership_slot(&m->nodes[k].m, i, m->now + m->nodes[k].offset) != NULL;
        assert_in_range(owners, 0, 1);
    }
}

static void run_model(struct model *m, int steps, bool is_bad)
{
    for (int i = 0; i < steps; i++) {
        struct model_node *n = &m->nodes[rand() % NODES];

        m->now += rand() % 200;
        if (is_bad && rand() % 200 == 0)
            n->awake_at = m->now + rand() % 40000;
        if (m->now < n->awake_at)
            continue;
        step(m, n, is_bad);
        work(m, n);
        check_beliefs(m);
    }
}

/* NODE-06: nodes freeze, answers are late or lost; afterwards all is divided evenly. */
static void test_membership__no_slot_has_two_owners(void **state UNUSED)
{
    for (unsigned seed = 1; seed <= 20; seed++) {
        struct model *m = test_calloc(1, sizeof *m);

        srand(seed);
        for (size_t k = 0; k < NODES; k++) {
            m->nodes[k].offset = rand() - RAND_MAX / 2;
            membership_init(&m->nodes[k].m, LEASE);
            m->nodes[k].m.tried_ms = m->nodes[k].offset;
        }
        run_model(m, 3000, true);
        m->now += 60000;
        run_model(m, 3000, false);
        for (size_t k = 0; k < NODES; k++) {
            assert_int_equal(SLOTS / NODES, membership_n_slots(&m->nodes[k].m));
            assert_true(membership_is_trusted(&m->nodes[k].m, m->now + m->nodes[k].offset));
        }
        test_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_membership__trusts_its_lease_for_two_thirds),
        cmocka_unit_test(test_membership__beats_three_times_in_a_lease),
        cmocka_unit_test(test_membership__a_loop_that_slept_distrusts_itself),
        cmocka_unit_test(test_membership__gives_back_what_is_at_rest),
        cmocka_unit_test(test_membership__knows_what_has_changed),
        cmocka_unit_test(test_membership__tells_of_a_lapse_during_a_beat),
        cmocka_unit_test(test_membership__whose_row_is_gone_has_nothing),
        cmocka_unit_test(test_membership__owns_nothing_after_a_fork),
        cmocka_unit_test(test_membership__a_drain_outlives_the_row),
        cmocka_unit_test(test_membership__gives_way_to_its_successor),
        cmocka_unit_test(test_membership__no_slot_has_two_owners),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
