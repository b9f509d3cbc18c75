/* tests/unit/storage/test_pg_migrations.c - every schema that ever was gets into PostgreSQL.
 *
 * A file of each version, with rows in all its tables, is copied by what `feedmill migrate` calls,
 * which brings it to the newest schema first; then both sides are compared, table by table.
 * test_migrations.c says that the file has lost nothing. Older schemas of PostgreSQL itself are in
 * tests/fixtures/schema/pg/: what was made of schema.sql when it had that version. */
#include "old_schema.h"
#include "pg_server.h"

#include <inttypes.h>

#include "base/arena.h"
#include "base/digest.h"
#include "storage/migrate.h"
#include "storage/migrations.h"
#include "storage/pg/schema.h"

static struct arena arena = ARENA_INIT;
static char path[128];

static int set_up(void **state UNUSED)
{
    const char *top = getenv("TMPDIR");

    digest_init();
    snprintf(path, sizeof path, "%s/feedmill-pg-migrations-%d.db", top != NULL ? top : "/tmp",
             (int)getpid());
    return 0;
}

static void remove_files(void)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};

    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        unlink(arena_printf(&arena, "%s%s", path, ends[i]));
}

static int tear_down(void **state UNUSED)
{
    remove_files();
    arena_release(&arena);
    return 0;
}

static void empty(void)
{
    struct server_link super = connected(SUPER);

    script_ok(super.l, "DROP SCHEMA public CASCADE; CREATE SCHEMA public AUTHORIZATION mill");
    link_end(&super);
}

/* ---- from a file ----------------------------------------------------------------------------- */

struct counted {
    int64_t n_rows;
};

static void on_table(void *ctx, const char *table, int64_t n_rows, bool same)
{
    struct counted *c = ctx;

    c->n_rows += n_rows;
    if (!same)
        fail_msg("%s differs", table);
}

static struct counted migrate_ok(bool check)
{
    struct migrate_cfg cfg = {.from = path, .to = getenv(PLAIN), .check = check};
    struct counted c = {0};
    struct err err = ERR_INIT;

    if (migrate_run(&cfg, on_table, &c, &err) != RC_OK)
        fail_msg("%s", err.text);
    return c;
}

static void test_pg_migrations__a_file_of_every_version_gets_in(void **state UNUSED)
{
    int64_t n_before = 0;

    for (int version = 1; version < SCHEMA_VERSION; version++) {
        struct counted copied, compared;

        empty();
        remove_files();
        make_old(path, version, &arena);
        fill(path, &arena);
        copied = migrate_ok(false);
        compared = migrate_ok(true);
        assert_true(compared.n_rows >= copied.n_rows); /* it says something of the log, too */
        assert_true(copied.n_rows >= n_before && copied.n_rows >= 20); /* tables were added only */
        n_before = copied.n_rows;
    }
}

static void test_pg_migrations__a_newer_file_stays_out(void **state UNUSED)
{
    struct migrate_cfg cfg = {.from = path, .to = getenv(PLAIN)};
    struct err err = ERR_INIT;

    empty();
    remove_files();
    make_old(path, SCHEMA_VERSION - 1, &arena);
    run_sql(path, arena_printf(&arena, "PRAGMA user_version = %d", SCHEMA_VERSION + 1));
    assert_int_not_equal(RC_OK, migrate_run(&cfg, NULL, NULL, &err));
    assert_non_null(strstr(err.text, "newer Feedmill"));
}

/* ---- older schemas of PostgreSQL ------------------------------------------------------------- */

#define FIRST_VERSION 16 /* the first with which a daemon worked on PostgreSQL */

/* Make the tables as they were, with a log, and rows in some tables. */
static void make_old_tables(struct pg_link *l, int version)
{
    char name[16];

    empty();
    snprintf(name, sizeof name, "pg/v%d", version);
    script_ok(l, schema_file(name, &arena));
    script_ok(l, arena_printf(
                     &arena,
                     "INSERT INTO log (log_id, secret, schema_version, last_seq)"
                     " VALUES ('id', 'secret', %d, 3);"
                     "INSERT INTO feeds (url, version) VALUES ('http://a/', 1), ('http://b/', 2);"
                     "INSERT INTO heads (feed_id, head, ext) VALUES (1, '{}', '');"
                     "INSERT INTO aliases (url, credential, feed_id)"
                     " VALUES ('http://c/', '', 2);"
                     "INSERT INTO revisions (seq, entry_id, feed_id, batch, kind, initial, at_us,"
                     " sort_at, body) VALUES (1, 1, 1, 1, 0, 0, 1, 0, 1),"
                     " (2, 2, 1, 1, 0, 0, 2, 0, 2), (3, 1, 1, 1, 1, 0, 3, 0, 3)",
                     version));
}

/* Tables, columns and indexes, without regard to the order of columns. */
static struct str shape(struct pg_link *l)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct pg_answer a;

    pg_queue(
        l,
        "SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable,"
        " column_default) FROM information_schema.columns"
        " WHERE table_schema = current_schema() UNION ALL SELECT indexdef::text FROM pg_indexes"
        " WHERE schemaname = current_schema() ORDER BY 1",
        NULL, "s", &a);
    run_ok(l);
    for (size_t i = 0; i < a.n; i++)
        buf_printf(&out, "%.*s\n", STR_ARG(pg_get_bytes(&a, i, 0)));
    return str_dup(&arena, buf_view(&out));
}

static void test_pg_migrations__every_schema_becomes_the_newest(void **state UNUSED)
{
    struct server_link s = connected(PLAIN);
    struct str fresh;

    empty();
    assert_int_equal(RC_OK, pg_schema_ready(s.l, NULL));
    fresh = shape(s.l);
    for (int version = FIRST_VERSION; version < SCHEMA_VERSION; version++) {
        make_old_tables(s.l, version);
        assert_int_equal(RC_OK, pg_schema_ready(s.l, NULL));
        assert_string_equal(str_z(&arena, fresh), str_z(&arena, shape(s.l)));
        assert_int_equal(SCHEMA_VERSION, number_of(s.l, "SELECT schema_version FROM log"));
        assert_int_equal(2, number_of(s.l, "SELECT count(*) FROM feeds JOIN log ON log.last_seq = 3"));
    }
    link_end(&s);
}

static const struct migration steps[] = {
    {FIRST_VERSION, 1001, "", "ALTER TABLE feeds ADD COLUMN colour bigint NOT NULL DEFAULT 7"},
    {1001, 1002, "",
     "CREATE TABLE added (x bigint); INSERT INTO added SELECT sum(colour) FROM feeds"},
    {1002, 1003, "", "CREATE TABLE half (x bigint); THIS IS NO SQL"},
    {1003, 1004, "", NULL},
};

static enum rc bring_to(struct pg_link *l, int target, struct err *err)
{
    return pg_schema_migrate(l, steps, ARRAY_LEN(steps), target, err);
}

static void test_pg_migrations__all_steps_or_none(void **state UNUSED)
{
    struct server_link s = connected(PLAIN);
    struct err err = ERR_INIT;

    make_old_tables(s.l, FIRST_VERSION);
    assert_int_not_equal(RC_OK, bring_to(s.l, 1003, &err));
    assert_non_null(strstr(err.text, "from version 1002 to 1003"));
    assert_int_equal(FIRST_VERSION, number_of(s.l, "SELECT schema_version FROM log"));
    assert_int_equal(1, number_of(s.l, "SELECT (to_regclass('added') IS NULL)::int::bigint"));
    assert_int_equal(RC_OK, bring_to(s.l, 1002, NULL));
    assert_int_equal(14, number_of(s.l, "SELECT x FROM added"));
    assert_int_equal(RC_OK, bring_to(s.l, 1002, NULL)); /* nothing to do */
    assert_int_equal(14, number_of(s.l, "SELECT sum(x)::bigint FROM added"));
    script_ok(s.l, "UPDATE log SET schema_version = 1003");
    assert_int_equal(RC_UNSUPPORTED, bring_to(s.l, 1004, &err)); /* no way leads on */
    assert_non_null(strstr(err.text, "cannot bring to 1004"));
    assert_int_equal(RC_UNSUPPORTED, bring_to(s.l, 1002, &err));
    assert_non_null(strstr(err.text, "newer Feedmill"));
    link_end(&s);
}

static void *bring_on(void *arg)
{
    return bring_to(arg, 1002, NULL) == RC_OK ? arg : NULL;
}

static void test_pg_migrations__one_of_several_nodes_does_it(void **state UNUSED)
{
    struct server_link nodes[4];
    pthread_t threads[ARRAY_LEN(nodes)];
    void *done;

    for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
        nodes[i] = connected(PLAIN);
    make_old_tables(nodes[0].l, FIRST_VERSION);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
        assert_int_equal(0, pthread_create(&threads[i], NULL, bring_on, nodes[i].l));
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        pthread_join(threads[i], &done);
        assert_non_null(done);
    }
    assert_int_equal(1, number_of(nodes[0].l, "SELECT count(*) FROM added"));
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
        link_end(&nodes[i]);
}

/* A writer of the older program is waited for. */
static void test_pg_migrations__a_writer_may_end(void **state UNUSED)
{
    struct server_link old = connected(PLAIN), new = connected(PLAIN), super = connected(SUPER);
    pthread_t thread;
    void *done;

    make_old_tables(old.l, FIRST_VERSION);
    pg_queue_begin(old.l);
    pg_queue(old.l, "UPDATE feeds SET title = 'old' WHERE id = 1", NULL, "", NULL);
    run_ok(old.l);
    assert_int_equal(0, pthread_create(&thread, NULL, bring_on, new.l));
    wait_for(super.l, "SELECT count(*) FROM pg_locks WHERE NOT granted");
    pg_queue(old.l, "UPDATE log SET last_seq = last_seq + 1", NULL, "", NULL);
    assert_int_equal(RC_OK, pg_commit(old.l, NULL));
    pthread_join(thread, &done);
    assert_non_null(done);
    assert_int_equal(4, number_of(old.l, "SELECT last_seq FROM log WHERE schema_version = 1002"));
    link_end(&old);
    link_end(&new);
    link_end(&super);
}

/* ---- nodes of the older program, which go on after the step ------------------------------------ */

#define OLDER_REVISION(seq, entry, feed, kind, sort_at)                                            \
    "INSERT INTO revisions (seq, entry_id, feed_id, batch, kind, initial, at_us, sort_at, body)"   \
    " VALUES (" #seq ", " #entry ", " #feed ", " #seq ", " #kind ", 0, 9, " #sort_at ", " #seq ");"

static void bounds_are(struct pg_link *l, int64_t feed, int64_t last_seq, int64_t newest_at)
{
    assert_int_equal(last_seq,
                     number_of(l, arena_printf(&arena, "SELECT last_seq FROM feeds WHERE id = %d",
                                               (int)feed)));
    assert_int_equal(newest_at,
                     number_of(l, arena_printf(&arena, "SELECT newest_at FROM feeds WHERE id = %d",
                                               (int)feed)));
}

/* NODE-01 ETIQ-12: what a program before 37 writes has bounds as well. */
static void test_pg_migrations__what_an_older_node_writes_is_bounded(void **state UNUSED)
{
    struct server_link older = connected(PLAIN), newer = connected(PLAIN);

    make_old_tables(older.l, 36);
    assert_int_equal(RC_OK, pg_schema_ready(newer.l, NULL));
    script_ok(older.l, "SET feedmill.schema = ''"); /* it does not say what it knows */
    script_ok(older.l, "BEGIN;" OLDER_REVISION(4, 4, 1, 0, 80) OLDER_REVISION(5, 5, 1, 0, 70) "COMMIT");
    bounds_are(newer.l, 1, 5, 80);
    script_ok(older.l, OLDER_REVISION(6, 5, 1, 2, 70)); /* it rises, and does not fall */
    bounds_are(newer.l, 1, 6, 80);
    script_ok(older.l, "BEGIN;" OLDER_REVISION(7, 7, 9, 0, -5) /* its feed comes after it */
              "INSERT INTO feeds (id, url, version) VALUES (9, 'http://new/', 3); COMMIT");
    bounds_are(newer.l, 9, 7, -5);
    script_ok(older.l, "UPDATE revisions SET feed_id = 9 WHERE feed_id = 1"); /* they become one */
    bounds_are(newer.l, 9, 7, 80);
    script_ok(newer.l, OLDER_REVISION(8, 8, 9, 0, 90)); /* a newer program does it by itself */
    bounds_are(newer.l, 9, 7, 80);
    link_end(&older);
    link_end(&newer);
}

#define T(name) cmocka_unit_test(test_pg_migrations__##name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_file_of_every_version_gets_in), T(a_newer_file_stays_out),
        T(every_schema_becomes_the_newest), T(all_steps_or_none),
        T(one_of_several_nodes_does_it),    T(a_writer_may_end),
        T(what_an_older_node_writes_is_bounded),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
