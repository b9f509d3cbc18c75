/* tests/unit/storage/test_open.c - the file: mode, lock, strangers, newer and older schemas. */
#include "fixture.h"
#include "tests/unit/cmocka_all.h"

#include <sys/stat.h>

#include "old_schema.h"
#include "storage/pushes.h"
#include "storage/migrations.h"
#include "storage/sqlite/db.h"
#include "storage/upkeep.h"

static enum rc try_open(const char *path, struct err *err)
{
    struct fixture f = {.store = NULL};
    struct store_cfg cfg;
    enum rc rc;

    snprintf(f.path, sizeof f.path, "%s", path);
    cfg = fixture_cfg(&f);
    rc = store_open(&cfg, &f.store, err);
    store_close(&f.store);
    return rc;
}

static void test_open__only_the_owner_can_read(void **state)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    struct fixture *f = *state;
    char path[128];
    struct stat st;
    size_t i;

    add_feed(f, "http://a.example/", "u:p");
    for (i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", f->path, ends[i]);
        assert_int_equal(0, stat(path, &st));
        assert_int_equal(0600, st.st_mode & 0777);
    }
}

static void test_open__one_process_at_a_time(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;

    assert_int_equal(RC_IO, try_open(f->path, &err));
    assert_non_null(strstr(err.text, "in use"));
}

static void test_open__strangers_are_refused(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    FILE *text;

    fixture_close(f);
    unlink(f->path);
    run_sql(f->path, "CREATE TABLE notes (x)");
    assert_int_equal(RC_UNSUPPORTED, try_open(f->path, &err));
    assert_non_null(strstr(err.text, "another program"));
    unlink(f->path);
    text = fopen(f->path, "w");
    fputs("These are the notes of somebody else, and no database at all. ............", text);
    fclose(text);
    assert_int_equal(RC_UNSUPPORTED, try_open(f->path, &err));
    assert_non_null(strstr(err.text, "not a database"));
    unlink(f->path);
    fixture_open(f);
}

static void test_open__newer_schema_is_refused(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;

    fixture_close(f);
    run_sql(f->path, "PRAGMA user_version = 1000");
    assert_int_equal(RC_UNSUPPORTED, try_open(f->path, &err));
    assert_non_null(strstr(err.text, "newer"));
    unlink(f->path);
    fixture_open(f);
}

/* A database of the first version becomes what a new one is, with what was in it. */
static void test_open__the_first_schema_is_brought_up_to_date(void **state)
{
    struct fixture *f = *state;
    struct view v = view_of(VIEW_NEWEST, NULL, 1);
    struct str fresh, old;
    struct feed_brief brief;
    struct feed *feed;
    size_t n;

    fixture_close(f);
    fresh = shape_of(f->path, &f->arena);
    unlink(f->path);
    make_old(f->path, 1, &f->arena);
    run_sql(f->path, "INSERT INTO meta VALUES ('last_seq', 2), ('version', 5), ('last_at_us', 9);"
                     "INSERT INTO feeds (id, url, title, fetched, state, version, n_entries)"
                     " VALUES (3, 'http://a.example/f', 'A', 1, 1, 5, 1);"
                     "INSERT INTO heads VALUES (3, '{\"title\":\"A\"}', '');"
                     "INSERT INTO entries VALUES (1, 3, 'u', 1, 1, 7, 1, 0, 0, x'00', x'00'),"
                     " (2, 3, 'gone', 2, 2, 7, 1, 1, 0, x'00', x'00');"
                     "INSERT INTO revisions (seq, entry_id, feed_id, batch, kind, initial, at_us,"
                     " sort_at, title, doc, ext) VALUES (1, 1, 3, 1, 0, 1, 8, 7, 'one', '{}', ''),"
                     " (2, 2, 3, 2, 2, 0, 9, 7, NULL, '', '');");
    fixture_open(f);
    assert_true(store_find_feed(f->store, STR("http://a.example/f"), STR_NULL, &brief));
    v.feed_ids = &brief.id;
    assert_string_equal("one", view_titles(f, &v));
    assert_int_equal(RC_OK,
                     reader_feeds_at(f->reader, &brief.id, 1, 1, &f->arena, &feed, &n, NULL));
    assert_true(str_eqz(feed->title, "A"));
    assert_int_equal(2, feed->n_items);
    assert_true(str_eqz(feed->id_url, "http://a.example/f"));
    assert_int_equal(IDENTITY_UNSET, feed->identity.rule);
    assert_int_equal(64, store_secret(f->store).len);
    fixture_close(f);
    old = shape_of(f->path, &f->arena);
    assert_string_equal(str_z(&f->arena, fresh), str_z(&f->arena, old));
    fixture_open(f);
}

/* A database of the second version gets the settings of feeds, at their safe values. */
static void test_open__the_second_schema_is_brought_up_to_date(void **state)
{
    struct fixture *f = *state;
    struct subscription *subs;
    struct feed *feeds;
    struct str fresh, old;
    size_t n;

    fixture_close(f);
    fresh = shape_of(f->path, &f->arena);
    unlink(f->path);
    make_old(f->path, 2, &f->arena);
    run_sql(f->path,
            "INSERT INTO feeds (url, version) VALUES ('http://a.example/', 1);"
            "INSERT INTO subscriptions (sink, position, created_at) VALUES ('xmlrpc', 0, 7);"
            "INSERT INTO sub_feeds (sub_id, feed_id, place, url) VALUES (1, 1, 0, 'http://A/')");
    fixture_open(f);
    assert_int_equal(RC_OK, reader_feeds(f->reader, NULL, 0, &f->arena, &feeds, &n, NULL));
    assert_int_equal(1, n);
    assert_false(feeds[0].raw_html);
    assert_int_equal(1, feeds[0].n_subscriptions);
    assert_int_equal(RC_OK, reader_subs(f->reader, NULL, 0, &f->arena, &subs, &n, NULL));
    assert_int_equal(1, n);
    assert_true(str_eqz(subs[0].feeds[0].url, "http://A/"));
    assert_true(str_is_null(subs[0].feeds[0].folder));
    fixture_close(f);
    old = shape_of(f->path, &f->arena);
    assert_string_equal(str_z(&f->arena, fresh), str_z(&f->arena, old));
    fixture_open(f);
}

/* What makes a file of schema 37 one of schema 36, and so on down to 10. */
#define FROM_37_TO_36 "ALTER TABLE feeds DROP COLUMN last_seq; ALTER TABLE feeds DROP COLUMN newest_at;"

#define FROM_36_TO_35 FROM_37_TO_36 "ALTER TABLE feeds DROP COLUMN validators_url;"

#define FROM_35_TO_34 FROM_36_TO_35 "DROP TABLE mirror_names;" /* mirrors goes as a whole, below */

#define FROM_34_TO_33 FROM_35_TO_34 "DROP INDEX feeds_highest;"

#define FROM_33_TO_32 FROM_34_TO_33 "DROP TABLE sealing;"

#define FROM_32_TO_31                                                                              \
    FROM_33_TO_32                                                                                  \
    "DROP INDEX feeds_horizon; ALTER TABLE feeds DROP COLUMN horizon;"                             \
    "ALTER TABLE feeds DROP COLUMN horizon_us; ALTER TABLE feeds DROP COLUMN n_taken;"             \
    "ALTER TABLE feeds DROP COLUMN shown; DROP INDEX entries_gone;"                                \
    "ALTER TABLE entries DROP COLUMN gone_at; DROP INDEX feeds_keep;"                              \
    "ALTER TABLE feeds DROP COLUMN keep_s; ALTER TABLE feeds DROP COLUMN keep_entries;"            \
    "DROP INDEX subscriptions_keep; ALTER TABLE subscriptions DROP COLUMN keep_s;"                 \
    "ALTER TABLE subscriptions DROP COLUMN keep_entries;"

#define FROM_31_TO_30 FROM_32_TO_31 "ALTER TABLE feeds DROP COLUMN secrets;"

#define FROM_30_TO_29                                                                              \
    FROM_31_TO_30                                                                                  \
    "ALTER TABLE feeds DROP COLUMN pace; ALTER TABLE feeds DROP COLUMN need_class;"

#define FROM_29_TO_28                                                                              \
    FROM_30_TO_29                                                                                  \
    "ALTER TABLE feeds DROP COLUMN mirror_from; DROP TABLE mirrors; DROP TABLE mirrored;"

#define FROM_28_TO_27                                                                              \
    FROM_29_TO_28                                                                                  \
    "ALTER TABLE feeds DROP COLUMN move_to; ALTER TABLE feeds DROP COLUMN move_since;"             \
    "ALTER TABLE feeds DROP COLUMN n_moves;"

#define FROM_27_TO_26                                                                              \
    FROM_28_TO_27                                                                                  \
    "ALTER TABLE feeds DROP COLUMN n_gone; ALTER TABLE feeds DROP COLUMN gone_since;"              \
    "ALTER TABLE feeds DROP COLUMN gap_since;"

#define FROM_26_TO_25                                                                              \
    FROM_27_TO_26                                                                                  \
    "ALTER TABLE feeds DROP COLUMN is_paused; ALTER TABLE feeds DROP COLUMN history;"              \
    "ALTER TABLE tokens DROP COLUMN session_of;"

#define FROM_25_TO_24                                                                              \
    FROM_26_TO_25                                                                                  \
    "DROP INDEX subscriptions_asks; ALTER TABLE subscriptions DROP COLUMN asks;"                   \
    "ALTER TABLE hub_intents DROP COLUMN asks;"

#define FROM_24_TO_23                                                                              \
    FROM_25_TO_24                                                                                  \
    "ALTER TABLE feeds DROP COLUMN is_list; ALTER TABLE sub_feeds DROP COLUMN listed;"

#define FROM_23_TO_22 FROM_24_TO_23 "ALTER TABLE indexed DROP COLUMN cut;"

#define FROM_22_TO_21 FROM_23_TO_22 "DROP TABLE views;"

#define FROM_21_TO_20                                                                              \
    FROM_22_TO_21                                                                                  \
    "ALTER TABLE subscriptions DROP COLUMN filter; ALTER TABLE hub_intents DROP COLUMN filter;"

#define FROM_20_TO_19 FROM_21_TO_20 "DROP TABLE terms; DROP TABLE indexed;"

#define FROM_19_TO_18 FROM_20_TO_19 "DROP TABLE hosts;"

#define FROM_18_TO_17                                                                              \
    FROM_19_TO_18                                                                                  \
    "ALTER TABLE subscriptions DROP COLUMN owner; ALTER TABLE hub_intents DROP COLUMN owner;"      \
    "ALTER TABLE hub_intents DROP COLUMN by_admin; DROP TABLE tokens;"

#define FROM_17_TO_16 FROM_18_TO_17 "ALTER TABLE revisions DROP COLUMN prev_seq;"

#define FROM_16_TO_15 FROM_17_TO_16 "ALTER TABLE feeds DROP COLUMN n_subscriptions;"

#define FROM_15_TO_14                                                                              \
    FROM_16_TO_15                                                                                  \
    "ALTER TABLE subscriptions DROP COLUMN part_max;"                                              \
    "ALTER TABLE subscriptions DROP COLUMN part_until;"

#define FROM_14_TO_13                                                                              \
    FROM_15_TO_14                                                                                  \
    "ALTER TABLE upstreams DROP COLUMN protocol; ALTER TABLE upstreams DROP COLUMN procedure;"

#define FROM_13_TO_12                                                                              \
    FROM_14_TO_13                                                                                  \
    "DROP TABLE deliveries;"                                                                       \
    "CREATE TABLE deliveries (sub_id INTEGER NOT NULL REFERENCES subscriptions (id)"               \
    " ON DELETE CASCADE, slot INTEGER NOT NULL, at_us INTEGER NOT NULL, n_try INTEGER NOT NULL,"   \
    " n_entries INTEGER NOT NULL, first_seq INTEGER NOT NULL, first_at_us INTEGER NOT NULL,"       \
    " last_seq INTEGER NOT NULL, last_at_us INTEGER NOT NULL, status INTEGER NOT NULL,"            \
    " ms INTEGER NOT NULL, verdict INTEGER NOT NULL, error TEXT, PRIMARY KEY (sub_id, slot))"      \
    " STRICT, WITHOUT ROWID;"

#define FROM_12_TO_11                                                                              \
    FROM_13_TO_12                                                                                  \
    "DROP TABLE hub_intents; DROP TABLE hub_leases;"                                               \
    "CREATE TABLE hub_intents (id INTEGER PRIMARY KEY AUTOINCREMENT, mode INTEGER NOT NULL,"       \
    " topic TEXT NOT NULL, callback TEXT NOT NULL, credential TEXT, secret TEXT,"                  \
    " verify_token TEXT, reason TEXT, legacy INTEGER NOT NULL, renews INTEGER NOT NULL,"           \
    " waits INTEGER NOT NULL, lease_s INTEGER NOT NULL, feeds TEXT NOT NULL) STRICT;"              \
    "CREATE TABLE hub_leases (sub_id INTEGER PRIMARY KEY REFERENCES subscriptions (id)"            \
    " ON DELETE CASCADE, topic TEXT NOT NULL, callback TEXT NOT NULL, secret TEXT,"                \
    " verify_token TEXT, legacy INTEGER NOT NULL, renews INTEGER NOT NULL,"                        \
    " lease_s INTEGER NOT NULL, ends_at INTEGER NOT NULL, renew_at INTEGER,"                       \
    " UNIQUE (callback, topic)) STRICT;"                                                           \
    "CREATE INDEX hub_leases_end ON hub_leases (ends_at);"                                         \
    "CREATE INDEX hub_leases_renew ON hub_leases (renew_at) WHERE renew_at IS NOT NULL;"

#define FROM_11_TO_10                                                                              \
    FROM_12_TO_11                                                                                  \
    "ALTER TABLE feeds DROP COLUMN is_broken;"                                                     \
    "ALTER TABLE subscriptions DROP COLUMN sink_settings;"                                         \
    "ALTER TABLE subscriptions DROP COLUMN events;"                                                \
    "ALTER TABLE subscriptions DROP COLUMN batch;"                                                 \
    "ALTER TABLE subscriptions DROP COLUMN generation;"                                            \
    "ALTER TABLE subscriptions DROP COLUMN chain_seq;"                                             \
    "ALTER TABLE subscriptions DROP COLUMN chain_at_us;"                                           \
    "ALTER TABLE subscriptions DROP COLUMN n_calls;"                                               \
    "ALTER TABLE subscriptions DROP COLUMN refused_seq;"                                           \
    "ALTER TABLE subscriptions DROP COLUMN n_refusals;"                                            \
    "DROP TABLE deliveries; DROP TABLE dead_letters; DROP TABLE feed_events;"

/* DELIV-10: the first delivery after the migration names the position as the end of the one before
 */
static void test_open__positions_of_an_older_schema_begin_the_chain(void **state)
{
    struct fixture *f = *state;
    struct subscription *sub;

    fixture_close(f);
    run_sql(f->path, FROM_11_TO_10 "PRAGMA user_version = 10;");
    run_sql(f->path,
            "INSERT INTO feeds (id, url, version) VALUES (1, 'http://a/', 1);"
            "INSERT INTO revisions (seq, entry_id, feed_id, batch, kind, initial, at_us, sort_at,"
            " doc, ext) VALUES (3, 1, 1, 3, 0, 0, 333, 0, '{}', '');"
            "INSERT INTO subscriptions (id, endpoint, sink, position, created_at)"
            " VALUES (5, 'http://e/', 'xmlrpc', 4, 0);");
    fixture_open(f);
    assert_int_equal(RC_OK, reader_sub(f->reader, 5, &f->arena, &sub, NULL));
    assert_int_equal(4, sub->chain.seq);
    assert_int_equal(333, sub->chain.at_us);
    assert_int_equal(SUB_EVENTS_DEFAULT, sub->events);
    assert_int_equal(0, sub->batch);
}

/* ETIQ-12: up to where the entries of a feed go is read from them once; what retention took counts. */
static void test_open__feeds_of_an_older_schema_know_how_far_they_go(void **state)
{
    struct fixture *f = *state;
    int64_t ids[] = {1, 2, 3};
    struct view v = view_of(VIEW_NEWEST, ids, 3);
    struct entry_change c[] = {change(f, "1", "one", 1000), change(f, "2", "two", 2000), change(f, "3", "three", 3000)},
                        gone = c[2];
    int64_t seqs[3];
    struct feed *feeds;
    size_t n;

    for (size_t i = 0; i < 3; i++)
        assert_int_equal(ids[i], add_feed(f, str_printf(&f->arena, "http://%zu/", i).ptr, NULL));
    store_changes(f, 1, c, 3);
    gone.kind = REV_DELETED;
    store_changes(f, 1, &gone, 1);
    store_changes(f, 2, c, 1);
    for (size_t i = 0; i < 3; i++)
        seqs[i] = store_seq_of(f->store, &ids[i], 1);
    fixture_close(f);
    run_sql(f->path, FROM_37_TO_36 "PRAGMA user_version = 36; UPDATE feeds SET horizon = 9 WHERE id = 2;"
                                   "UPDATE meta SET value = 9 WHERE name = 'last_seq';");
    fixture_open(f);
    assert_int_equal(seqs[0], store_seq_of(f->store, &ids[0], 1));
    assert_int_equal(9, store_seq_of(f->store, &ids[1], 1));
    assert_int_equal(0, store_seq_of(f->store, &ids[2], 1));
    assert_int_equal(RC_OK, reader_feeds(f->reader, ids, 3, &f->arena, &feeds, &n, NULL));
    assert_int_equal(2000, feeds[0].newest_at); /* the later one is deleted */
    assert_int_equal(1000, feeds[1].newest_at);
    assert_int_equal(TIME_UNKNOWN, feeds[2].newest_at);
    v.len = 10;
    assert_string_equal("two one one", view_titles(f, &v));
}

/* CLOUD-07: upstream subscriptions of an older schema are those at hubs, and feeds that name a
 * cloud are read whole the next time. */
static void test_open__clouds_of_an_older_schema_are_found(void **state)
{
    struct fixture *f = *state;
    struct upstream *all;
    struct feed *feed;
    size_t n;

    fixture_close(f);
    run_sql(f->path,
            FROM_14_TO_13 "PRAGMA user_version = 13;"
                          "INSERT INTO feeds (id, url, version, etag, fetched) VALUES"
                          " (1, 'http://a/', 1, 'x', 1), (2, 'http://b/', 1, 'y', 1);"
                          "INSERT INTO heads VALUES (1, '{\"cloud\":{\"port\":\"80\"}}', ''),"
                          " (2, '{\"title\":\"cloud\"}', '');"
                          "INSERT INTO upstreams (token, base_url, secret, hub, topic, feed_id,"
                          " is_current, from_page, for_subs, state, n_errors)"
                          " VALUES ('t', '', 's', 'http://h/', 'http://b/', 2, 1, 0, 1, 0, 0);");
    fixture_open(f);
    assert_int_equal(RC_OK, reader_feeds(f->reader, NULL, 0, &f->arena, &feed, &n, NULL));
    assert_int_equal(2, n);
    assert_true(str_is_null(feed[0].etag));
    assert_true(str_eqz(feed[1].etag, "y"));
    assert_int_equal(RC_OK, reader_upstreams(f->reader, &f->arena, &all, &n, NULL));
    assert_int_equal(1, n);
    assert_int_equal(HUB_WEBSUB, all->protocol);
    assert_true(str_is_null(all->procedure));
}

/* Leases of an older schema are those of WebSub. */
static void test_open__leases_of_an_older_schema_stay(void **state)
{
    struct fixture *f = *state;
    struct hub_lease lease;

    fixture_close(f);
    run_sql(f->path, FROM_12_TO_11
            "PRAGMA user_version = 11;"
            "INSERT INTO subscriptions (id, endpoint, sink, position, created_at)"
            " VALUES (5, 'http://s/', 'websub', 4, 0);"
            "INSERT INTO hub_leases VALUES (5, 'http://t/', 'http://s/', 'k', NULL, 0, 1, 100,"
            " 4000000000, 3999999999);");
    fixture_open(f);
    assert_int_equal(RC_OK, reader_hub_lease(f->reader, 5, &f->arena, &lease, NULL));
    assert_int_equal(HUB_WEBSUB, lease.protocol);
    assert_true(str_is_null(lease.procedure));
    assert_true(str_eqz(lease.topic, "http://t/"));
    assert_true(str_eqz(lease.secret, "k"));
    assert_int_equal(3999999999, lease.renew_at);
}

/* DELIV-04: the delivery log of an older schema stays, and ends with its subscription. */
static void test_open__the_delivery_log_of_an_older_schema_stays(void **state)
{
    struct fixture *f = *state;
    struct delivery_note *notes;
    struct answer a;
    size_t n;

    fixture_close(f);
    run_sql(f->path, FROM_13_TO_12
            "PRAGMA user_version = 12;"
            "INSERT INTO subscriptions (id, endpoint, sink, position, created_at, n_calls)"
            " VALUES (5, 'http://s/', 'xmlrpc', 4, 0, 2), (6, 'http://s/', 'xmlrpc', 4, 0, 1);"
            "INSERT INTO deliveries VALUES (5, 0, 100, 1, 2, 3, 4, 5, 6, 200, 7, 0, NULL),"
            " (5, 1, 101, 1, 2, 3, 4, 5, 6, 503, 7, 1, 'no'),"
            " (6, 0, 102, 1, 2, 3, 4, 5, 6, 200, 7, 0, NULL);");
    fixture_open(f);
    assert_int_equal(RC_OK, reader_deliveries(f->reader, 5, 9, &f->arena, &notes, &n, NULL));
    assert_int_equal(2, n);
    assert_int_equal(101, notes[0].at_us);
    assert_true(str_eqz(notes[0].error, "no"));
    assert_int_equal(6, notes[1].last.at_us);
    WRITE(a, store_unsubscribe(f->store, 5, NULL, 0, on_answer, &a));
    assert_int_equal(RC_OK, reader_deliveries(f->reader, 5, 9, &f->arena, &notes, &n, NULL));
    assert_int_equal(0, n);
    assert_int_equal(RC_OK, reader_deliveries(f->reader, 6, 9, &f->arena, &notes, &n, NULL));
    assert_int_equal(1, n);
}

/* DELIV-04: a log that is full, and has begun to write over its oldest lines, goes on doing so. */
static void test_open__a_full_delivery_log_of_an_older_schema_goes_on(void **state)
{
    struct fixture *f = *state;
    struct push_outcome o = {.sub_id = 7,
                             .state = SUB_ACTIVE,
                             .next_try_at = TIME_UNKNOWN,
                             .has_note = true,
                             .note = {.at_us = 251, .status = 204}};
    struct delivery_note *notes;
    struct answer a;
    size_t n;

    fixture_close(f);
    run_sql(f->path, FROM_13_TO_12
            "PRAGMA user_version = 12;"
            "WITH RECURSIVE s (i) AS (SELECT 5 UNION ALL SELECT i + 1 FROM s WHERE i < 14)"
            " INSERT INTO subscriptions (id, endpoint, sink, position, created_at, n_calls)"
            " SELECT i, 'http://s/' || i, 'webhook', 4, 0, 250 FROM s;"
            "WITH RECURSIVE c (i) AS (SELECT 150 UNION ALL SELECT i + 1 FROM c WHERE i < 249)"
            " INSERT INTO deliveries SELECT s.id, c.i % 100, c.i, 1, 2, 3, 4, 5, 6, 200, s.id, 0,"
            " NULL FROM c, subscriptions s;");
    fixture_open(f);
    for (int64_t id = 5; id < 15; id++) {
        assert_int_equal(RC_OK,
                         reader_deliveries(f->reader, id, 1000, &f->arena, &notes, &n, NULL));
        assert_int_equal(100, n);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(249 - (int64_t)i, notes[i].at_us);
            assert_int_equal(id, notes[i].ms);
        }
    }
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(RC_OK, reader_deliveries(f->reader, 7, 1000, &f->arena, &notes, &n, NULL));
    assert_int_equal(100, n);
    assert_int_equal(251, notes[0].at_us);
    assert_int_equal(249, notes[1].at_us);
    assert_int_equal(151, notes[99].at_us); /* the oldest one made room */
    assert_int_equal(RC_OK, reader_deliveries(f->reader, 8, 1000, &f->arena, &notes, &n, NULL));
    assert_int_equal(150, notes[99].at_us);
}

/* A Smart Feed that was stored as an ordinary one is read whole, which shows its cursor; others are
 * not fetched for it. */
static void test_open__streams_of_an_older_schema_are_read_again(void **state)
{
    struct fixture *f = *state;
    struct feed *feed;
    size_t n;

    fixture_close(f);
    run_sql(f->path, FROM_11_TO_10);
    run_sql(
        f->path,
        "ALTER TABLE feeds DROP COLUMN cursor; ALTER TABLE feeds DROP COLUMN cursor_state;"
        "PRAGMA user_version = 9;"
        "INSERT INTO feeds (id, url, version, etag, fetched) VALUES (1, 'http://a/', 1, 'x', 1),"
        " (2, 'http://b/', 1, 'y', 1);"
        "INSERT INTO heads VALUES (1, '{\"namespaces\":{\"fo\":"
        "\"http://fanout.org/protocol/atom\"}}', ''), (2, '{\"title\":\"t\"}', '');");
    fixture_open(f);
    assert_int_equal(RC_OK, reader_feeds(f->reader, NULL, 0, &f->arena, &feed, &n, NULL));
    assert_int_equal(2, n);
    assert_true(str_is_null(feed[0].etag));
    assert_true(str_is_null(feed[0].cursor));
    assert_int_equal(0, feed[0].cursor_state);
    assert_true(str_eqz(feed[1].etag, "y"));
}

static void test_open__no_such_directory(void **state UNUSED)
{
    struct err err = ERR_INIT;

    assert_int_equal(RC_IO, try_open("/nonexistent/dir/f.db", &err));
    assert_non_null(strstr(err.text, "/nonexistent/dir/f.db"));
}

static void test_open__bad_memcached_address(void **state)
{
    struct fixture *f = *state;
    struct store_cfg cfg = fixture_cfg(f);
    struct store *s = NULL;
    struct err err = ERR_INIT;

    fixture_close(f);
    cfg.memcached = STR("nowhere");
    assert_int_equal(RC_INPUT, store_open(&cfg, &s, &err));
    assert_null(s);
    assert_non_null(strstr(err.text, "HOST:PORT"));
    fixture_open(f);
}

static const struct migration steps[] = {
    {1000, 1001, "CREATE TABLE added (x); INSERT INTO added SELECT count(*) FROM feeds", NULL},
    {1001, 1002, "ALTER TABLE added ADD COLUMN y; UPDATE added SET y = x + 1", NULL},
    {1002, 1003, "CREATE TABLE half (x); THIS IS NO SQL", NULL},
};

/* A made-up old file, brought up step by step; a step that fails leaves the file at the last. */
static void test_open__migrations(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct db *db = NULL;

    add_feed(f, "http://a.example/", NULL);
    fixture_close(f);
    assert_int_equal(RC_OK, db_open_writer(f->path, &db, &err));
    sqlite3_exec(db_handle(db), "PRAGMA user_version = 1000", NULL, NULL, NULL);
    assert_int_equal(RC_OK, db_migrate(db, steps, 3, 1002, &err));
    assert_int_equal(SQLITE_OK,
                     sqlite3_exec(db_handle(db), "INSERT INTO added (x, y) SELECT x, y FROM added",
                                  NULL, NULL, NULL));
    assert_int_equal(1, sqlite3_changes(db_handle(db)));
    assert_int_equal(RC_OK, db_migrate(db, steps, 3, 1002, &err)); /* nothing to do */
    assert_int_equal(RC_IO, db_migrate(db, steps, 3, 1003, &err));
    assert_non_null(strstr(err.text, "from version 1002 to 1003"));
    assert_int_equal(SQLITE_ERROR,
                     sqlite3_exec(db_handle(db), "SELECT * FROM half", NULL, NULL, NULL));
    assert_int_equal(RC_UNSUPPORTED, db_migrate(db, steps, 2, 1003, &err)); /* no way leads on */
    assert_int_equal(RC_UNSUPPORTED, db_migrate(db, steps, 3, 1001, &err)); /* newer */
    db_close(&db);
    unlink(f->path);
    fixture_open(f);
}

struct beginner {
    pthread_t thread;
    const char *part;
    int n_begun, n_lost; /* lost: another one has the name */
};

/* Begin a backup, and end it or be killed in the middle, again and again. */
static void *begin_backups(void *arg)
{
    struct beginner *b = arg;

    for (int i = 0; i < 2000; i++) {
        struct err err = ERR_INIT;
        struct stat made, named;
        int fd = -1;

        if (upkeep_make_part(b->part, &fd, &err) != RC_OK)
            continue;
        b->n_begun++;
        b->n_lost += fstat(fd, &made) != 0 || stat(b->part, &named) != 0 || made.st_ino != named.st_ino;
        if (i % 2 == 0)
            unlink(b->part);
        close(fd);
    }
    return NULL;
}

/* OPS-05: of several backups to one file that begin at once, those that go on have its name. */
static void test_open__a_part_has_one_writer(void **state)
{
    struct fixture *f = *state;
    struct beginner list[4] = {{.n_begun = 0}};
    char part[160];
    int n_begun = 0;

    snprintf(part, sizeof part, "%s/copy.part", f->dir);
    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        list[i].part = part;
        assert_int_equal(0, pthread_create(&list[i].thread, NULL, begin_backups, &list[i]));
    }
    for (size_t i = 0; i < ARRAY_LEN(list); i++)
        pthread_join(list[i].thread, NULL);
    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        n_begun += list[i].n_begun; /* one that others never let run may have none */
        assert_int_equal(0, list[i].n_lost);
    }
    assert_int_not_equal(0, n_begun);
    unlink(part);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_open__##name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(only_the_owner_can_read),
        T(one_process_at_a_time),
        T(strangers_are_refused),
        T(newer_schema_is_refused),
        T(the_first_schema_is_brought_up_to_date),
        T(the_second_schema_is_brought_up_to_date),
        T(feeds_of_an_older_schema_know_how_far_they_go),
        T(leases_of_an_older_schema_stay),
        T(the_delivery_log_of_an_older_schema_stays),
        T(a_full_delivery_log_of_an_older_schema_goes_on),
        T(clouds_of_an_older_schema_are_found),
        T(streams_of_an_older_schema_are_read_again),
        T(positions_of_an_older_schema_begin_the_chain),
        T(no_such_directory),
        T(bad_memcached_address),
        T(migrations),
        T(a_part_has_one_writer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
