/* tests/unit/storage/test_pg_replica.c - documents are read from a copy of the database, when it
 * has all that the directory knows. The copies here are second databases, so they are as late as a
 * test wants them to be. */
#include "pg_server.h"
#include "tests/unit/cmocka_all.h"

#include "base/buf.h"
#include "base/stats.h"
#include "fixture.h"

struct world {
    struct fixture f;
    struct server_link sql;     /* the superuser's */
    char copy[256], super[256]; /* addresses of the copy */
};

/* The address of another database of the same server. */
static void address_of(const char *uri, const char *name, char *out, size_t cap)
{
    size_t end = strcspn(uri, "?"), slash = end;

    while (uri[slash - 1] != '/')
        slash--;
    snprintf(out, cap, "%.*s%s%s", (int)slash, uri, name, uri + end);
}

static void set_up(struct world *w)
{
    *w = (struct world){.sql = connected(SUPER)};
    digest_init();
    log_set_level(LOG_LEVEL_ERROR);
    script_ok(w->sql.l, "DROP SCHEMA public CASCADE; CREATE SCHEMA public AUTHORIZATION mill");
    snprintf(w->f.path, sizeof w->f.path, "%s", getenv(PLAIN));
    address_of(getenv(PLAIN), "copy", w->copy, sizeof w->copy);
    address_of(getenv(SUPER), "copy", w->super, sizeof w->super);
    fixture_open(&w->f);
}

/* Close the store, copy its database as it is now, and open it with the copy. */
static void copy_now(struct world *w)
{
    AUTO(buf_release) struct buf sql = BUF_INIT(BUF_ANY);
    struct pg_answer a;

    fixture_close(&w->f);
    pg_queue(w->sql.l, "SELECT current_database()::text", NULL, "s", &a);
    run_ok(w->sql.l);
    buf_printf(&sql, "CREATE DATABASE copy TEMPLATE \"%.*s\" OWNER mill",
               STR_ARG(pg_get_bytes(&a, 0, 0)));
    link_end(&w->sql); /* a template has no other connections */
    address_of(getenv(SUPER), "postgres", w->super, sizeof w->super);
    w->sql = link_to(w->super, 0);
    assert_int_equal(RC_OK, pg_connect(w->sql.l, NULL));
    script_ok(w->sql.l, "DROP DATABASE IF EXISTS copy WITH (FORCE)");
    script_ok(w->sql.l, sql.ptr);
    w->f.replica = w->copy;
    fixture_open(&w->f);
}

static void tear_down(struct world *w)
{
    fixture_close(&w->f);
    arena_release(&w->f.arena);
    link_end(&w->sql);
}

static void add_entry(struct world *w, int64_t feed_id, const char *uid)
{
    struct entry_change c = change(&w->f, uid, uid, 1);

    store_changes(&w->f, feed_id, &c, 1);
}

/* Titles of the log of feed 1, as a document would have them. */
static const char *titles(struct world *w)
{
    static const int64_t id = 1;
    struct view v = view_of(VIEW_LOG, &id, 1);
    const char *text;

    (void)reader_allow_replica(w->f.reader, true);
    text = view_titles(&w->f, &v);
    (void)reader_allow_replica(w->f.reader, false);
    return text;
}

static int64_t n_reads(void)
{
    return stats_get(STAT_replica_reads_total);
}

static void test_pg_replica__answers_when_it_has_all(void **state UNUSED)
{
    struct world w;
    int64_t before = n_reads();

    set_up(&w);
    add_feed(&w.f, "http://1.example/", "");
    add_entry(&w, 1, "one");
    copy_now(&w);
    assert_string_equal("one", titles(&w));
    assert_true(n_reads() > before);
    before = n_reads();
    assert_false(reader_allow_replica(w.f.reader, false));
    view_titles(&w.f, &(struct view){.all_feeds = true, .len = 1}); /* it is not allowed */
    assert_int_equal(before, n_reads());
    tear_down(&w);
}

/* What the directory knows is in each document. */
static void test_pg_replica__is_not_used_when_it_is_late(void **state UNUSED)
{
    struct world w;
    int64_t before, late = stats_get(STAT_replica_late_total);

    set_up(&w);
    add_feed(&w.f, "http://1.example/", "");
    add_entry(&w, 1, "one");
    copy_now(&w);
    add_entry(&w, 1, "two");
    before = n_reads();
    assert_string_equal("one two", titles(&w));
    assert_int_equal(before, n_reads());
    assert_true(stats_get(STAT_replica_late_total) > late);
    tear_down(&w);
}

/* A snapshot that began at the copy goes on there, or ends. */
static void test_pg_replica__a_snapshot_stays_where_it_began(void **state UNUSED)
{
    struct world w;
    struct db *db;
    int64_t seq;

    set_up(&w);
    add_feed(&w.f, "http://1.example/", "");
    add_entry(&w, 1, "one");
    copy_now(&w);
    db = w.f.reader->db;
    (void)reader_allow_replica(w.f.reader, true);
    assert_int_equal(RC_OK, db->reads->snapshot(db, NULL));
    assert_int_equal(RC_OK, db->reads->last_seq(db, &seq, NULL));
    assert_int_equal(1, seq);
    add_entry(&w, 1, "two");
    assert_int_equal(RC_OK, db->reads->last_seq(db, &seq, NULL));
    assert_int_equal(1, seq);
    script_ok(w.sql.l, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                       " WHERE datname = 'copy'");
    assert_int_equal(RC_AGAIN, db->reads->last_seq(db, &seq, NULL));
    db->reads->snapshot_end(db);
    assert_true(reader_allow_replica(w.f.reader, true));
    assert_int_equal(RC_OK, db->reads->last_seq(db, &seq, NULL)); /* of the database itself */
    assert_int_equal(2, seq);
    tear_down(&w);
}

static void test_pg_replica__need_not_be_there(void **state UNUSED)
{
    struct world w;

    set_up(&w);
    add_feed(&w.f, "http://1.example/", "");
    add_entry(&w, 1, "one");
    fixture_close(&w.f);
    w.f.replica = "postgresql://mill@127.0.0.1:1/copy";
    fixture_open(&w.f);
    assert_string_equal("one", titles(&w));
    tear_down(&w);
}

static void refused(struct fixture *f, enum rc rc, const char *words)
{
    struct store_cfg cfg = fixture_cfg(f);
    struct store *store = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(rc, store_open(&cfg, &store, &err));
    assert_non_null(strstr(err.text, words));
}

static void test_pg_replica__another_log_is_refused(void **state UNUSED)
{
    struct world w;
    struct server_link copy;

    set_up(&w);
    copy_now(&w);
    fixture_close(&w.f);
    address_of(getenv(SUPER), "copy", w.super, sizeof w.super);
    copy = link_to(w.super, 0);
    assert_int_equal(RC_OK, pg_connect(copy.l, NULL));
    script_ok(copy.l, "UPDATE log SET log_id = 'ffffffff'");
    link_end(&copy);
    refused(&w.f, RC_CONFLICT, "is not a copy of the database");
    w.f.replica = NULL;
    fixture_open(&w.f);
    tear_down(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pg_replica__answers_when_it_has_all),
        cmocka_unit_test(test_pg_replica__is_not_used_when_it_is_late),
        cmocka_unit_test(test_pg_replica__a_snapshot_stays_where_it_began),
        cmocka_unit_test(test_pg_replica__need_not_be_there),
        cmocka_unit_test(test_pg_replica__another_log_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
