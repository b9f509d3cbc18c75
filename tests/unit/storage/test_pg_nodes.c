/* tests/unit/storage/test_pg_nodes.c - nodes share the slots of a real PostgreSQL.
 *
 * Leases are long. Time passes by moving the rows back by the database, and the clock of the nodes
 * ahead, so nothing depends on how fast the machine is. */
#include "pg_server.h"
#include "tests/unit/cmocka_all.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "storage/nodes.h"
#include "storage/pg/nodes.h"
#include "storage/pg/schema.h"
#include "storage/schema_version.h"

#define LEASE 600000
#define NODES 3

struct node {
    struct node_link *link;
    struct node_facts facts;
    struct membership m;
    unsigned running[SLOTS];
    enum member_news news; /* of the last beat */
};

/* A database and nodes that have not joined yet. */
struct fixture {
    struct server_link db;
    struct node nodes[NODES];
    int64_t ahead;                  /* the nodes' clocks */
    struct slot_state slots[SLOTS]; /* as they were seen last, for check() */
};

static int64_t now_ms(const struct fixture *f)
{
    return clock_mono_ms() + f->ahead;
}

static struct node_facts facts_of(const char *name)
{
    return (struct node_facts){.name = str_from(name),
                               .address = STR("http://h:1"),
                               .program = STR("1.0"),
                               .base_url = STR("http://feeds.example/"),
                               .archive_size = 50,
                               .lease_ms = LEASE};
}

static void open_link(struct node *n)
{
    struct err err = ERR_INIT;

    if (pg_node_calls.open(getenv(PLAIN), 60000, &n->link, &err) != RC_OK)
        fail_msg("%s", err.text);
}

static struct fixture setup(void)
{
    static const char *const names[NODES] = {"a", "b", "c"};
    struct fixture f = {.db = connected(PLAIN)};

    assert_int_equal(RC_OK, pg_schema_ready(f.db.l, NULL));
    script_ok(f.db.l, "UPDATE slots SET owner = NULL, fence = 0, given = 0; DELETE FROM nodes;"
                      " DELETE FROM forks");
    for (size_t i = 0; i < NODES; i++) {
        open_link(&f.nodes[i]);
        f.nodes[i].facts = facts_of(names[i]);
        membership_init(&f.nodes[i].m, LEASE);
    }
    return f;
}

static void teardown(struct fixture *f)
{
    for (size_t i = 0; i < NODES; i++)
        pg_node_calls.close(&f->nodes[i].link);
    link_end(&f->db);
}

/* Time passes for everybody. */
static void pass_ms(struct fixture *f, int64_t ms)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};

    f->ahead += ms;
    pg_put_int(&p, ms * 1000);
    pg_queue(f->db.l, "UPDATE nodes SET until_us = until_us - $1", &p, "", NULL);
    pg_queue(f->db.l, "UPDATE forks SET at_us = at_us - $1", &p, "", NULL);
    run_ok(f->db.l);
}

static void join(struct fixture *f, struct node *n)
{
    struct err err = ERR_INIT;
    int64_t id, sent;

    if (n->link->calls->join(n->link, &n->facts, &id, &sent, &err) != RC_OK)
        fail_msg("%s", err.text);
    membership_joined(&n->m, id, sent + f->ahead);
}

static void beat(struct fixture *f, struct node *n)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct beat_answer *answer = ARENA_NEW(&a, struct beat_answer);
    struct beat *b = ARENA_NEW(&a, struct beat);
    struct err err = ERR_INIT;

    membership_ask(&n->m, now_ms(f), n->running, b);
    if (n->link->calls->beat(n->link, b, &a, answer, &err) != RC_OK)
        fail_msg("%s", err.text);
    answer->sent_ms += f->ahead;
    n->news = membership_told(&n->m, answer, n->facts.name, SCHEMA_VERSION, now_ms(f));
}

/* NODE-06: the fences only grow, and what a node believes to be its own has no other owner. */
static void check(struct fixture *f)
{
    struct pg_answer a;

    pg_queue(f->db.l, "SELECT slot, owner, fence, given FROM slots ORDER BY slot", NULL, "iiii",
             &a);
    run_ok(f->db.l);
    for (unsigned i = 0; i < SLOTS; i++) {
        struct slot_state is = {pg_get_int(&a, i, 1), pg_get_int(&a, i, 2), pg_get_int(&a, i, 3)};
        int owners = 0;

        assert_true(is.fence >= f->slots[i].fence);
        if (is.owner != 0 && is.owner != f->slots[i].owner)
            assert_true(is.fence > f->slots[i].fence);
        f->slots[i] = is;
        for (size_t k = 0; k < NODES; k++)
            owners += membership_slot(&f->nodes[k].m, i, now_ms(f)) != NULL;
        assert_in_range(owners, 0, 1);
    }
}

/* All who live beat, until nothing moves any more. */
static void settle(struct fixture *f, unsigned who)
{
    for (int i = 0; i < 8; i++)
        for (size_t k = 0; k < NODES; k++)
            if (who & 1u << k) {
                beat(f, &f->nodes[k]);
                check(f);
            }
}
#define A 1u
#define B 2u
#define C 4u

static size_t n_slots(const struct fixture *f, size_t k)
{
    return membership_n_slots(&f->nodes[k].m);
}

static int64_t n_owned(struct fixture *f, size_t k)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    struct pg_answer a;

    pg_put_int(&p, f->nodes[k].m.id);
    pg_queue(f->db.l, "SELECT count(*) FROM slots WHERE owner = $1", &p, "i", &a);
    run_ok(f->db.l);
    return pg_get_int(&a, 0, 0);
}

static void join_all(struct fixture *f)
{
    for (size_t k = 0; k < NODES; k++)
        join(f, &f->nodes[k]);
    settle(f, A | B | C);
}

/* NODE-04 */
static void test_pg_nodes__share_the_slots(void **state UNUSED)
{
    struct fixture f = setup();

    join(&f, &f.nodes[0]);
    settle(&f, A);
    assert_int_equal(SLOTS, n_slots(&f, 0));
    join(&f, &f.nodes[1]);
    settle(&f, A | B);
    assert_int_equal(SLOTS / 2, n_slots(&f, 0));
    join(&f, &f.nodes[2]);
    settle(&f, A | B | C);
    for (size_t k = 0; k < NODES; k++) {
        assert_in_range(n_slots(&f, k), 85, 86);
        assert_int_equal(n_owned(&f, k), n_slots(&f, k));
    }
    assert_int_equal(SLOTS, n_slots(&f, 0) + n_slots(&f, 1) + n_slots(&f, 2));
    for (size_t i = 0; i < SLOTS; i++)
        assert_false(f.nodes[2].m.slots[i].was_left); /* all were given back */
    teardown(&f);
}

/* NODE-06: the slots of a node that leaves are free at once. */
static void test_pg_nodes__one_leaves(void **state UNUSED)
{
    struct fixture f = setup();

    join_all(&f);
    assert_int_equal(RC_OK, pg_node_calls.leave(f.nodes[0].link, f.nodes[0].m.id, NULL));
    membership_drop(&f.nodes[0].m);
    assert_int_equal(171 - 1, n_slots(&f, 1) + n_slots(&f, 2));
    settle(&f, B | C);
    assert_int_equal(SLOTS / 2, n_slots(&f, 1));
    assert_int_equal(SLOTS / 2, n_slots(&f, 2));
    for (size_t i = 0; i < SLOTS; i++)
        assert_false(f.nodes[1].m.slots[i].was_left);
    teardown(&f);
}

/* NODE-06: a node that is dead keeps its slots until its lease ends, then the others have them. */
static void test_pg_nodes__one_dies(void **state UNUSED)
{
    struct fixture f = setup();
    size_t n_left = 0;

    join_all(&f);
    pass_ms(&f, LEASE / 2);
    settle(&f, A | B);
    assert_in_range(n_slots(&f, 0), 85, 86);
    pass_ms(&f, LEASE / 2);
    settle(&f, A | B);
    assert_int_equal(SLOTS / 2, n_slots(&f, 0));
    assert_int_equal(SLOTS / 2, n_slots(&f, 1));
    for (size_t i = 0; i < SLOTS; i++)
        n_left += f.nodes[0].m.slots[i].was_left + f.nodes[1].m.slots[i].was_left;
    assert_in_range(n_left, 85, 86);
    assert_int_equal(2, number_of(f.db.l, "SELECT count(*) FROM nodes"));
    teardown(&f);
}

/* NODE-06: a node that was frozen for longer than its lease drops all, and joins as another. */
static void test_pg_nodes__one_freezes(void **state UNUSED)
{
    struct fixture f = setup();
    struct node *frozen = &f.nodes[2];
    int64_t before;

    join_all(&f);
    before = frozen->m.id;
    pass_ms(&f, LEASE / 2);
    settle(&f, A | B);
    pass_ms(&f, LEASE / 2);
    assert_null(membership_slot(&frozen->m, 0, now_ms(&f)));
    settle(&f, A | B); /* they take what it had */
    beat(&f, frozen);
    assert_int_equal(MEMBER_GONE, frozen->news);
    assert_int_equal(0, n_slots(&f, 2));
    join(&f, frozen);
    assert_true(frozen->m.id > before);
    settle(&f, A | B | C);
    assert_in_range(n_slots(&f, 2), 85, 86);
    teardown(&f);
}

/* The same when nobody else was there to see it. */
static void test_pg_nodes__all_freeze(void **state UNUSED)
{
    struct fixture f = setup();

    join_all(&f);
    pass_ms(&f, LEASE);
    for (size_t k = 0; k < NODES; k++) {
        beat(&f, &f.nodes[k]);
        assert_int_equal(MEMBER_GONE, f.nodes[k].news);
        join(&f, &f.nodes[k]);
    }
    settle(&f, A | B | C);
    for (size_t k = 0; k < NODES; k++)
        assert_in_range(n_slots(&f, k), 85, 86);
    teardown(&f);
}

/* NODE-11: work ends before its slot is given back, and the order is undone by a new start. */
static void test_pg_nodes__one_is_drained(void **state UNUSED)
{
    struct fixture f = setup();
    struct err err = ERR_INIT;
    unsigned busy = 0;

    join_all(&f);
    while (membership_slot(&f.nodes[1].m, busy, now_ms(&f)) == NULL)
        busy++;
    f.nodes[1].running[busy] = 1;
    assert_int_equal(RC_OK, pg_node_calls.drain(f.nodes[0].link, STR("b"), &err));
    settle(&f, A | B | C);
    assert_int_equal(1, n_slots(&f, 1));
    assert_null(membership_slot(&f.nodes[1].m, busy, now_ms(&f)));
    f.nodes[1].running[busy] = 0;
    settle(&f, A | B | C);
    assert_int_equal(0, n_owned(&f, 1));
    assert_int_equal(SLOTS / 2, n_slots(&f, 0));
    assert_int_equal(RC_OK, pg_node_calls.leave(f.nodes[1].link, f.nodes[1].m.id, NULL));
    membership_init(&f.nodes[1].m, LEASE);
    join(&f, &f.nodes[1]);
    settle(&f, A | B | C);
    assert_in_range(n_slots(&f, 1), 85, 86);
    assert_int_equal(RC_NOT_FOUND, pg_node_calls.drain(f.nodes[0].link, STR("nobody"), &err));
    assert_string_equal("there is no node \"nobody\"", err.text);
    teardown(&f);
}

/* A node that was killed starts again before its lease has ended; the old row gives way. */
static void test_pg_nodes__one_starts_again(void **state UNUSED)
{
    struct fixture f = setup();

    join_all(&f);
    f.nodes[2].facts.name = STR("a");
    membership_init(&f.nodes[2].m, LEASE);
    join(&f, &f.nodes[2]);
    beat(&f, &f.nodes[0]);
    assert_int_equal(MEMBER_REPLACED, f.nodes[0].news);
    settle(&f, A | B | C);
    assert_int_equal(0, n_slots(&f, 0));
    teardown(&f);
}

/* NODE-06: if the process that had the name is gone, what it had is taken at once. */
static void test_pg_nodes__inherit_from_the_dead(void **state UNUSED)
{
    struct fixture f = setup();

    join_all(&f);
    pg_node_calls.close(&f.nodes[0].link); /* killed: its session ends */
    open_link(&f.nodes[0]);
    membership_init(&f.nodes[0].m, LEASE);
    join(&f, &f.nodes[0]);
    assert_int_equal(3, number_of(f.db.l, "SELECT count(*) FROM nodes"));
    settle(&f, A | B | C);
    assert_in_range(n_slots(&f, 0), 85, 86);
    for (size_t i = 0; i < SLOTS; i++)
        assert_false(f.nodes[0].m.slots[i].was_left);
    teardown(&f);
}

/* NODE-06: a node that was frozen wakes up after another has been started with its name. It has
 * the lock of the name still, but takes nothing from the one that lives. */
static void test_pg_nodes__leave_the_name_to_a_successor(void **state UNUSED)
{
    struct fixture f = setup();
    struct err err = ERR_INIT;
    int64_t id, sent;

    join(&f, &f.nodes[0]);
    settle(&f, A);
    f.nodes[1].facts.name = STR("a");
    join(&f, &f.nodes[1]);
    beat(&f, &f.nodes[1]);
    pass_ms(&f, LEASE / 2 + 1000);
    beat(&f, &f.nodes[1]);
    pass_ms(&f, LEASE / 2 + 1000);
    settle(&f, B);
    assert_int_equal(SLOTS, n_slots(&f, 1));
    beat(&f, &f.nodes[0]);
    assert_int_equal(MEMBER_GONE, f.nodes[0].news);
    assert_int_equal(RC_CONFLICT,
                     pg_node_calls.join(f.nodes[0].link, &f.nodes[0].facts, &id, &sent, &err));
    assert_string_equal("a newer node has the name \"a\" (--node)", err.text);
    settle(&f, B);
    assert_int_equal(SLOTS, n_slots(&f, 1));
    assert_int_equal(SLOTS, n_owned(&f, 1));
    assert_int_equal(RC_OK, pg_node_calls.leave(f.nodes[1].link, f.nodes[1].m.id, &err));
    join(&f, &f.nodes[0]);
    teardown(&f);
}

/* NODE-12 */
static void refuses(struct fixture *f, const struct node_facts *facts, const char *words)
{
    struct err err = ERR_INIT;
    int64_t id, sent;

    assert_int_equal(RC_CONFLICT, pg_node_calls.join(f->nodes[1].link, facts, &id, &sent, &err));
    if (strstr(err.text, words) == NULL)
        fail_msg("%s", err.text);
}

static void test_pg_nodes__must_agree(void **state UNUSED)
{
    struct fixture f = setup();
    struct node_facts other = facts_of("b");

    join(&f, &f.nodes[0]);
    other.base_url = STR("http://other.example/");
    refuses(&f, &other,
            "--base-url is \"http://other.example/\" here, and \"http://feeds.example/\" at the "
            "node \"a\"");
    other = facts_of("b");
    other.archive_size = 20;
    refuses(&f, &other, "--archive-size is 20 here, and 50 at the node \"a\"");
    other = facts_of("b");
    other.roles = STR("--hub=no --xmpp-component=feeds.example");
    refuses(&f, &other,
            "\"--hub=no --xmpp-component=feeds.example\" is set here, and \"\" at the node \"a\"");
    script_ok(f.db.l, "UPDATE nodes SET base_url = base_url || ' --cloud=no'");
    refuses(&f, &other, "is set here, and \"--cloud=no\" at the node \"a\"");
    script_ok(f.db.l, "UPDATE nodes SET base_url = 'http://feeds.example/'");
    script_ok(f.db.l, "UPDATE nodes SET schema_version = schema_version + 1");
    refuses(&f, &f.nodes[1].facts, "of the schema, and the node \"a\"");
    pass_ms(&f, LEASE);
    f.nodes[1].facts = other;
    join(&f, &f.nodes[1]); /* nobody is alive that differs */
    assert_int_equal(2, number_of(f.db.l, "SELECT count(*) FROM nodes"));
    teardown(&f);
}

/* NODE-08: a beat without a database fails, and the next ones connect again. */
static void test_pg_nodes__the_database_was_away(void **state UNUSED)
{
    static const char sql_kill[] = "SELECT count(pg_terminate_backend(pid, 10000)) FROM"
                                   " pg_stat_activity WHERE usename = 'mill'";
    struct server_link super = connected(SUPER);
    struct fixture f = setup();
    struct node *n = &f.nodes[0];
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct beat_answer *answer = ARENA_NEW(&a, struct beat_answer);
    struct beat *b = ARENA_NEW(&a, struct beat);

    join_all(&f);
    (void)number_of(super.l, sql_kill);
    membership_ask(&n->m, now_ms(&f), n->running, b);
    assert_int_equal(RC_AGAIN, pg_node_calls.beat(n->link, b, &a, answer, NULL));
    membership_failed(&n->m);
    assert_in_range(n_slots(&f, 0), 85, 86);
    beat(&f, n);
    assert_int_equal(MEMBER_AS_BEFORE, n->news);
    assert_in_range(n_slots(&f, 0), 85, 86);
    pg_node_calls.stop(n->link);
    assert_int_equal(RC_CLOSED, pg_node_calls.beat(n->link, b, &a, answer, NULL));
    link_end(&super);
    teardown(&f);
}

/* NODE-06: many beat at the same moment, and nothing is taken twice. */
static void *beat_often(void *arg)
{
    struct node *n = arg;
    struct fixture f = {.ahead = 0};

    for (int i = 0; i < 30; i++) {
        beat(&f, n);
        if (i % 10 == 9 &&
            n->link->calls->leave(n->link, n->m.id, NULL) == RC_OK) { /* others take all of it */
            membership_drop(&n->m);
            join(&f, n);
        }
    }
    return NULL;
}

static void test_pg_nodes__beat_at_the_same_time(void **state UNUSED)
{
    struct fixture f = setup();
    pthread_t threads[NODES];

    for (size_t k = 0; k < NODES; k++)
        join(&f, &f.nodes[k]);
    for (size_t k = 0; k < NODES; k++)
        assert_int_equal(0, pthread_create(&threads[k], NULL, beat_often, &f.nodes[k]));
    for (size_t k = 0; k < NODES; k++)
        pthread_join(threads[k], NULL);
    settle(&f, A | B | C);
    for (size_t k = 0; k < NODES; k++) {
        assert_in_range(n_slots(&f, k), 85, 86);
        assert_int_equal(n_owned(&f, k), n_slots(&f, k));
    }
    teardown(&f);
}

/* ---- with the thread that beats -------------------------------------------------------------- */

/* What a listener was told. */
struct heard {
    bool owned[SLOTS]; /* on the thread of the nodes */
    atomic_int n;
    int64_t followed; /* what the node says of that in its beats */
};

static int64_t followed(void *ctx)
{
    const struct heard *h = ctx;

    return h->followed;
}

static void on_change(void *ctx, const struct slot_set *gained, const struct slot_set *lost)
{
    struct heard *h = ctx;
    int n = 0;

    for (unsigned i = 0; i < SLOTS; i++) {
        if (slot_set_has(lost, i)) {
            assert_true(h->owned[i]);
            h->owned[i] = false;
        }
        if (slot_set_has(gained, i)) {
            assert_false(h->owned[i]);
            h->owned[i] = true;
        }
        n += h->owned[i];
    }
    atomic_store(&h->n, n);
}

static struct nodes *started(const char *name, struct heard *heard)
{
    struct nodes_cfg cfg = {.name = str_from(name),
                            .address = STR("http://h:1"),
                            .program = STR("1.0"),
                            .archive_size = 50,
                            .lease_ms = 6000};
    struct nodes *n = nodes_new(&pg_node_calls, getenv(PLAIN));
    struct err err = ERR_INIT;

    if (heard != NULL)
        nodes_listen(n, on_change, heard);
    if (heard != NULL)
        nodes_set_followed(n, followed, heard);
    if (nodes_join(n, &cfg, &err) != RC_OK)
        fail_msg("%s", err.text);
    return n;
}

/* Wait until it has so many slots. Without an end: the test has a deadline. */
static void wait_slots(struct nodes *n, size_t n_slots)
{
    struct nodes_status status;

    for (;;) {
        nodes_status(n, &status);
        if (status.n_slots == n_slots && status.is_trusted)
            return;
        usleep(5000);
    }
}

static void on_ordered(void *ctx, enum rc rc, const struct err *err UNUSED)
{
    atomic_int *done = ctx;

    atomic_store(done, rc == RC_OK ? 1 : -(int)rc);
}

static int order(struct nodes *n, const char *name)
{
    atomic_int done = 0;

    nodes_drain(n, str_from(name), on_ordered, &done);
    while (atomic_load(&done) == 0)
        usleep(1000);
    return atomic_load(&done);
}

/* One of the hosts that are this node's. */
static struct str own_host(struct nodes *n, struct arena *a)
{
    for (int i = 0;; i++) {
        struct str host = str_printf(a, "host%d.example:80", i % 1000);

        if (nodes_owns(n, host, NULL))
            return host;
    }
}

/* NODE-04: the commits of other nodes are heard before a node has joined. */
static void test_pg_nodes__own_nothing_before(void **state UNUSED)
{
    struct fixture f = setup();
    struct nodes *n = nodes_new(&pg_node_calls, getenv(PLAIN));
    struct node_claim claim;

    assert_false(nodes_owns(n, STR("a.example:80"), NULL));
    assert_false(nodes_begin(n, STR("a.example:80"), &claim));
    assert_false(nodes_leads(n));
    nodes_free(&n);
    teardown(&f);
}

/* NODE-04, NODE-11 */
static void test_pg_nodes__beat_by_themselves(void **state UNUSED)
{
    AUTO(arena_release) struct arena arena = ARENA_INIT;
    struct fixture f = setup();
    struct nodes *a = started("a", NULL), *b = started("b", NULL);
    struct node_claim claim, other;
    struct node_shown *shown;
    struct str host;

    wait_slots(a, SLOTS / 2);
    wait_slots(b, SLOTS / 2);
    host = own_host(a, &arena);
    while (!nodes_begin(a, host, &claim)) /* a paused process does not trust its lease */
        usleep(1000);
    assert_true(claim.fence > 0 && !claim.was_left);
    assert_int_equal(1, order(b, "a"));
    assert_int_equal(-(int)RC_NOT_FOUND, order(b, "nobody"));
    wait_slots(a, 1);
    assert_false(nodes_owns(a, host, &other));
    nodes_end(a, &claim);
    wait_slots(b, SLOTS);
    while (!nodes_owns(b, host, &other))
        usleep(1000);
    assert_int_equal(claim.slot, other.slot);
    assert_true(other.fence > claim.fence);
    assert_false(nodes_may_go_on(a, &claim));
    wait_for(f.db.l, "SELECT count(*) FROM nodes WHERE is_draining AND name = 'a'");
    while (nodes_list(b, &arena, &shown) != 2 || !shown[0].is_draining || shown[1].n_slots != SLOTS)
        usleep(5000);
    assert_str(shown[1].name, "b");
    nodes_free(&b);
    assert_int_equal(0, number_of(f.db.l, "SELECT count(*) FROM slots WHERE owner IS NOT NULL"));
    nodes_free(&a);
    assert_int_equal(0, number_of(f.db.l, "SELECT count(*) FROM nodes"));
    teardown(&f);
}

/* NODE-04: those who listen know all slots before a node has joined, and each change after it. */
static void test_pg_nodes__tell_what_has_changed(void **state UNUSED)
{
    struct fixture f = setup();
    struct heard heard_a = {.n = 0}, heard_b = {.n = 0};
    struct nodes *a = started("a", &heard_a), *b;

    assert_int_equal(SLOTS, atomic_load(&heard_a.n));
    b = started("b", &heard_b);
    while (atomic_load(&heard_a.n) != SLOTS / 2 || atomic_load(&heard_b.n) != SLOTS / 2)
        usleep(1000);
    nodes_free(&a);
    while (atomic_load(&heard_b.n) != SLOTS)
        usleep(1000);
    /* its lease has ended: all is lost, and taken anew */
    script_ok(f.db.l, "UPDATE nodes SET until_us = 0");
    while (number_of(f.db.l, "SELECT min(fence) FROM slots WHERE owner IS NOT NULL") < 3)
        usleep(1000);
    while (atomic_load(&heard_b.n) != SLOTS)
        usleep(1000);
    nodes_free(&b);
    teardown(&f);
}

/* NODE-11: how far each node follows the others. */
static void test_pg_nodes__show_who_is_behind(void **state UNUSED)
{
    AUTO(arena_release) struct arena arena = ARENA_INIT;
    struct fixture f = setup();
    struct heard heard = {.followed = number_of(f.db.l, "SELECT last_notice FROM log")};
    struct nodes_status status;
    struct node_shown *shown;
    struct nodes *n;

    script_ok(f.db.l, "UPDATE log SET last_notice = last_notice + 7");
    n = started("a", &heard);
    nodes_status(n, &status);
    assert_int_equal(7, status.behind);
    assert_int_equal(1, nodes_list(n, &arena, &shown));
    assert_int_equal(7, shown[0].behind);
    nodes_set_followed(n, NULL, NULL);
    nodes_free(&n);
    script_ok(f.db.l, "UPDATE log SET last_notice = last_notice - 7");
    teardown(&f);
}

/* NODE-05, NODE-09: B has taken over from A, and the server that takes over does not know that: its
 * table says that all is A's. B trusts its lease for a while, also without a beat. */
static void test_pg_nodes__lost_moves(void **state UNUSED)
{
    struct fixture f = setup();

    join(&f, &f.nodes[0]);
    settle(&f, A);
    join(&f, &f.nodes[1]);
    settle(&f, A | B);
    assert_int_equal(SLOTS / 2, n_slots(&f, 1));
    script_ok(f.db.l,
              "INSERT INTO forks VALUES (7, (extract(epoch FROM clock_timestamp()) * 1000000)"
              "::bigint, 0, 0, 0, 0);"
              "UPDATE slots SET owner = (SELECT min(id) FROM nodes)");
    memset(f.slots, 0, sizeof f.slots); /* fences are lost, too */
    beat(&f, &f.nodes[0]);
    assert_int_equal(MEMBER_WAITS, f.nodes[0].news);
    check(&f); /* B works, and A does not */
    for (int i = 0; i < 3; i++) {
        pass_ms(&f, LEASE / 4);
        beat(&f, &f.nodes[0]);
        check(&f);
        assert_int_equal(0, n_slots(&f, 0));
    }
    beat(&f, &f.nodes[1]);
    assert_int_equal(0, n_slots(&f, 1));
    pass_ms(&f, LEASE / 4);
    settle(&f, A | B);
    assert_int_equal(SLOTS / 2, n_slots(&f, 0));
    assert_int_equal(SLOTS / 2, n_slots(&f, 1));
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test(test_pg_nodes__##name)
        T(share_the_slots),
        T(one_leaves),
        T(one_dies),
        T(one_freezes),
        T(all_freeze),
        T(one_is_drained),
        T(one_starts_again),
        T(inherit_from_the_dead),
        T(leave_the_name_to_a_successor),
        T(must_agree),
        T(the_database_was_away),
        T(beat_at_the_same_time),
        T(own_nothing_before),
        T(beat_by_themselves),
        T(tell_what_has_changed),
        T(show_who_is_behind),
        T(lost_moves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
