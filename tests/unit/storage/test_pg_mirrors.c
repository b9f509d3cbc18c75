/* tests/unit/storage/test_pg_mirrors.c - the mirror of several nodes on one PostgreSQL: a node that led before stores
 * nothing any more, and nobody waits in a circle. */
#include "pg_server.h"
#include "tests/unit/cmocka_all.h"

#include "fixture.h"
#include "storage/mirrors.h"
#include "storage/store_writes.h"

#define WAITING                                                                                    \
    "SELECT count(*) FROM pg_stat_activity WHERE usename = 'mill' AND wait_event_type = 'Lock'"
#define DEADLOCK_MS 1000 /* after such a time the server looks whether a session that waits is part of a circle */

/* Two nodes, a feed with two entries that name one file, and a session of ours. */
struct world {
    struct fixture a, b;
    struct server_link sql, super;
    int64_t feed;
    int64_t entries[2];
    struct mirrored file;
};

static void open_node(struct fixture *f)
{
    snprintf(f->path, sizeof f->path, "%s", getenv(PLAIN));
    f->is_shared = true;
    fixture_open(f);
}

static void close_node(struct fixture *f)
{
    fixture_close(f);
    arena_release(&f->arena);
}

/* Store a change at a node; no wait for its end. */
static void begin(struct fixture *f, const struct mirror_change *c, struct answer *a)
{
    *a = answer_init(1);
    assert_int_equal(RC_OK, store_mirror(f->store, c, on_answer, a));
}

static enum rc store(struct fixture *f, const struct mirror_change *c)
{
    struct answer a;

    begin(f, c, &a);
    answer_wait(&a);
    return a.rc;
}

static void name_both(const struct world *w, struct mirror_name names[4])
{
    for (size_t i = 0; i < 2; i++) {
        names[i] = (struct mirror_name){w->entries[i], STR_NULL};
        names[i + 2] = (struct mirror_name){w->entries[i], w->file.key};
    }
}

static void world_open(struct world *w)
{
    struct entry_change changes[2];
    struct mirror_name names[4];

    *w = (struct world){.super = connected(SUPER)};
    digest_init();
    log_set_level(LOG_LEVEL_ERROR);
    script_ok(w->super.l, "DROP SCHEMA public CASCADE; CREATE SCHEMA public AUTHORIZATION mill");
    open_node(&w->a);
    changes[0] = change(&w->a, "e1", "t", 1);
    changes[1] = change(&w->a, "e2", "t", 1);
    w->feed = add_feed(&w->a, "http://a/", NULL);
    store_changes(&w->a, w->feed, changes, 2);
    open_node(&w->b);
    w->sql = connected(PLAIN);
    w->entries[0] = number_of(w->sql.l, "SELECT min(id) FROM entries");
    w->entries[1] = number_of(w->sql.l, "SELECT max(id) FROM entries");
    w->file = (struct mirrored){.key = mirror_key(&w->a.arena, STR("http://a/1")),
                                .url = STR("http://a/1"),
                                .type = STR("audio/mpeg"),
                                .since_at = 1,
                                .next_at = 1};
    name_both(w, names);
    assert_int_equal(RC_OK, store(&w->a, &(struct mirror_change){.moves = true, .from = -1, .to = 0,
                                                                 .added = &w->file, .n_added = 1,
                                                                 .names = names, .n_names = 4}));
}

static void world_close(struct world *w)
{
    link_end(&w->sql);
    link_end(&w->super);
    close_node(&w->b);
    close_node(&w->a);
}

static int64_t n_rows(struct world *w)
{
    return number_of(w->super.l, "SELECT count(*) FROM mirrors WHERE state = 0");
}

/* ENCL-04, NODE-06: a node that led, and was frozen meanwhile, deletes nothing. */
static void test_pg_mirrors__who_led_before_stores_nothing(void **state UNUSED)
{
    struct mirrored stored;
    struct str sha256 = STR("0123456789012345678901234567890123456789012345678901234567890123");
    struct world w;

    world_open(&w);
    stored = w.file;
    stored.state = MIRROR_STORED;
    stored.sha256 = sha256;
    stored.next_at = TIME_UNKNOWN;
    script_ok(w.super.l, "DELETE FROM mirror_names; UPDATE slots SET fence = 6 WHERE slot = 0");
    {
        const struct mirror_change late[] = {
            {.fence = 5, .unnamed = &w.file.key, .n_unnamed = 1},
            {.fence = 5, .unwanted = &w.file.key, .n_unwanted = 1},
            {.fence = 5, .outcome = &stored},
            {.fence = 5, .moves = true, .from = 0, .to = 1},
        };

        for (size_t i = 0; i < ARRAY_LEN(late); i++) {
            assert_int_equal(RC_CONFLICT, store(&w.b, &late[i]));
            assert_int_equal(1, n_rows(&w));
        }
    }
    stored.state = MIRROR_WAITING;
    assert_int_equal(RC_OK, store(&w.a, &(struct mirror_change){.fence = 6, .outcome = &stored}));
    assert_int_equal(RC_OK, store(&w.b, &(struct mirror_change){.used = &(struct mirror_use){sha256, 7}, .n_used = 1}));
    assert_int_equal(RC_OK, store(&w.a, &(struct mirror_change){.fence = 6, .unnamed = &w.file.key, .n_unnamed = 1}));
    assert_int_equal(0, n_rows(&w));
    world_close(&w);
}

/* The same, when the new leader is just storing: the late one finds the file without a name before that, and
 * would delete its row after it. */
static void test_pg_mirrors__a_late_one_waits_and_sees_who_leads(void **state UNUSED)
{
    struct world w;
    struct answer late;

    world_open(&w);
    script_ok(w.super.l, "DELETE FROM mirror_names; UPDATE slots SET fence = 5 WHERE slot = 0");
    pg_queue_begin(w.sql.l);
    pg_queue(w.sql.l, "SELECT seq FROM mirrored FOR UPDATE", NULL, "i", NULL);
    pg_queue(w.sql.l, "SELECT 1::bigint FROM mirrors FOR UPDATE", NULL, "i", NULL);
    run_ok(w.sql.l);
    begin(&w.b, &(struct mirror_change){.fence = 5, .unnamed = &w.file.key, .n_unnamed = 1}, &late);
    wait_for(w.super.l, WAITING);
    script_ok(w.super.l, "UPDATE slots SET fence = 6 WHERE slot = 0");
    pg_queue(w.sql.l, "INSERT INTO mirror_names SELECT e.id, m.key FROM entries e CROSS JOIN mirrors m", NULL, "", NULL);
    assert_int_equal(RC_OK, pg_commit(w.sql.l, NULL));
    answer_wait(&late);
    assert_int_equal(RC_CONFLICT, late.rc);
    assert_int_equal(1, n_rows(&w));
    world_close(&w);
}

/* ENCL-04, NODE-02: one node stores which files entries name, another one deletes these entries. The first one has
 * touched the names of an entry, waits for those of the next one, and then needs the first entry itself. */
static void test_pg_mirrors__names_and_a_feed_that_goes(void **state UNUSED)
{
    struct mirror_name names[4];
    struct answer naming, going;
    struct world w;

    world_open(&w);
    name_both(&w, names);
    pg_queue_begin(w.sql.l);
    pg_queue(w.sql.l, "SELECT entry_id FROM mirror_names WHERE entry_id = (SELECT max(entry_id) FROM mirror_names)"
                      " FOR UPDATE", NULL, "i", NULL);
    run_ok(w.sql.l);
    begin(&w.a, &(struct mirror_change){.names = names, .n_names = 4}, &naming);
    wait_for(w.super.l, WAITING);
    going = answer_init(1);
    assert_int_equal(RC_OK, store_forget_feed(w.b.store, w.feed, on_answer, &going));
    while (number_of(w.super.l, WAITING) != 2)
        usleep(5000);
    usleep(1500 * DEADLOCK_MS); /* so the session that closes the circle is the one that is ended: the one that names */
    assert_int_equal(RC_OK, pg_commit(w.sql.l, NULL));
    answer_wait(&naming);
    answer_wait(&going);
    assert_int_equal(RC_OK, naming.rc);
    assert_int_equal(RC_OK, going.rc);
    assert_int_equal(0, number_of(w.super.l, "SELECT count(*) FROM mirror_names"));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pg_mirrors__who_led_before_stores_nothing),
        cmocka_unit_test(test_pg_mirrors__a_late_one_waits_and_sees_who_leads),
        cmocka_unit_test(test_pg_mirrors__names_and_a_feed_that_goes),
    };

    return cmocka_run_group_tests_name("pg_mirrors", tests, NULL, NULL);
}
