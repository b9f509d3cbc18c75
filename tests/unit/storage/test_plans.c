/* tests/unit/storage/test_plans.c - no statement that runs often walks a whole table.
 *
 * Every call is made once; then the plans of all statements that the connections have prepared are
 * looked at. Those that may scan are named here. */
#include "fixture.h"
#include "storage/pushes.h"
#include "storage/sqlite/db.h"
#include "tests/unit/cmocka_all.h"

#include <sqlite3.h>

/* Start of the text; run at start, or for "all of it". */
static const char *const may_scan[] = {
    "SELECT id, next_fetch_at, next_reason FROM feeds",
    "SELECT id, iif(last_check_at > ?1, ?1, next_fetch_at), next_reason FROM feeds",
    "SELECT id FROM subscriptions ORDER BY id",
    "SELECT DISTINCT feed_id FROM contents",
    "SELECT seq FROM sqlite_sequence", /* it has a row for each of a few tables */
};

static bool is_allowed(const char *sql)
{
    size_t i;

    for (i = 0; i < ARRAY_LEN(may_scan); i++)
        if (strncmp(sql, may_scan[i], strlen(may_scan[i])) == 0)
            return true;
    return false;
}

static int check_plan(sqlite3 *sq, const char *sql)
{
    char *explain = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql);
    sqlite3_stmt *st;
    int lines = 0;

    assert_int_equal(SQLITE_OK, sqlite3_prepare_v2(sq, explain, -1, &st, NULL));
    while (sqlite3_step(st) == SQLITE_ROW) {
        const char *line = (const char *)sqlite3_column_text(st, 3);

        lines++;
        if (strncmp(line, "SCAN ", 5) == 0 && strstr(line, "json_each") == NULL &&
            strstr(line, "CONSTANT ROW") == NULL && strstr(line, "(subquery") == NULL)
            fail_msg("%s\n  in: %s", line, sql);
    }
    sqlite3_finalize(st);
    sqlite3_free(explain);
    return lines;
}

static int check_connection(struct db *db)
{
    sqlite3 *sq = db_handle(db);
    sqlite3_stmt *st = NULL;
    int n = 0;

    while ((st = sqlite3_next_stmt(sq, st)) != NULL) {
        const char *sql = sqlite3_sql(st);

        if (strncmp(sql, "EXPLAIN", 7) == 0 || is_allowed(sql))
            continue;
        n += check_plan(sq, sql) > 0;
    }
    return n;
}

static void write_everything(struct fixture *f)
{
    int64_t id = add_feed(f, "http://a.example/", NULL),
            other UNUSED = add_feed(f, "http://b.example/", "fm-x:");
    struct entry_change c[] = {change(f, "1", "one", 1), change(f, "2", "two", 2)};
    struct entry_change edit = change(f, "1", "uno", 1);
    struct entry_change gone = {.kind = REV_DELETED, .uid = STR("2"), .doc = STR("")};
    struct str url = STR("http://a.example/");
    struct feed_ref ref = {.url = url};
    struct sub_request req = {
        .sink = STR("xmlrpc"), .feeds = &ref, .n_feeds = 1, .level = 1, .endpoint = url};
    struct push_outcome push = {.position = 1,
                                .next_try_at = TIME_UNKNOWN,
                                .is_dead = true,
                                .dead = {.at = {1, 1}, .uid = STR("u"), .answer = STR("no")},
                                .has_note = true,
                                .note = {.at_us = 1}};
    struct sub_change rename = {.name = STR("n"), .level = LEVEL_KEEP};
    struct poll_outcome o = outcome(id, c, 2);
    struct content_outcome content = {
        .feed_id = id, .entry_id = 1, .seq = 1, .answer = ANSWER_GONE, .n_forms = 1};
    struct str alias = STR("http://alias.example/");
    struct answer a;

    c[0].is_metadata = true;
    c[0].updated_at = 9;
    o.past = (struct doc_past){.older = STR_NULL, .metadata = true, .oldest = 9, .newest = 9};
    o.check.aliases = &alias;
    o.check.n_aliases = 1;
    o.check.url = STR("http://moved.example/");
    o.check.page_url = STR("http://page.example/");
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    WRITE(a, store_content_outcome(f->store, &content, 0, on_answer, &a));
    store_changes(f, id, &edit, 1);
    edit.doc = STR("{}");
    store_changes(f, id, &edit, 1);
    store_changes(f, id, &gone, 1);
    WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
    push.sub_id = push.dead.sub_id = rename.sub_id = a.res.id;
    WRITE(a, store_push_outcomes(f->store, &push, 1, on_answer, &a));
    push.dead.id = 1;
    WRITE(a, store_push_outcomes(f->store, &push, 1, on_answer, &a));
    WRITE(a, store_resume(f->store, push.sub_id, 0, on_answer, &a));
    WRITE(a, store_change_sub(f->store, &rename, on_answer, &a));
    WRITE(a, store_dead_retry(f->store, push.sub_id, 0, on_answer, &a));
    WRITE(a, store_dead_drop(f->store, push.sub_id, 0, on_answer, &a));
    store_touch(f->store, &id, 1);
    ref.url = STR("http://moved.example/");
    WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
    WRITE(a, store_unsubscribe(f->store, a.res.id, &url, 1, on_answer, &a));
    o = outcome(add_feed(f, "http://c.example/", NULL), c, 2);
    o.check.url = STR("http://moved.example/");
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
}

static void on_due(void *ctx UNUSED, int64_t feed_id UNUSED, int64_t next_fetch_at UNUSED,
                   enum fetch_reason reason UNUSED)
{
}

static void on_content(void *ctx UNUSED, int64_t feed_id UNUSED)
{
}

/* The calls that name several rows of a view. */
static void read_by_sets(struct fixture *f, int64_t feed_id)
{
    struct view v = view_of(VIEW_MODIFIED, &feed_id, 1);
    struct revision *rows;
    struct feed *feeds;
    int64_t at_us[9], first, newest, n_deleted;
    bool elders[9];
    size_t n, n_feeds;

    v.len = 9;
    assert_int_equal(RC_OK, reader_rows(f->reader, &v, &f->arena, &rows, &n, NULL));
    assert_true(n > 0);
    assert_int_equal(RC_OK, reader_created(f->reader, rows, n, at_us, NULL));
    assert_int_equal(RC_OK, reader_elders(f->reader, &feed_id, 1, rows, n, elders, NULL));
    assert_int_equal(RC_OK, reader_sources(f->reader, rows, n, &f->arena, &feeds, NULL));
    assert_int_equal(feed_id, feeds[0].id);
    assert_int_equal(RC_OK, reader_feeds_at(f->reader, &feed_id, 1, rows[0].seq, &f->arena, &feeds,
                                            &n_feeds, NULL));
    assert_int_equal(
        RC_OK, reader_oldest_of_uid(f->reader, &feed_id, 1, rows[0].uid, &first, &newest, NULL));
    assert_int_equal(rows[0].seq, newest);
    assert_int_equal(RC_OK,
                     reader_changed_since(f->reader, &feed_id, 1, 0, &first, &n_deleted, NULL));
    assert_int_equal(RC_OK, reader_without_doubles(f->reader, &feed_id, 1, 0, rows, &n, NULL));
}

static void read_everything(struct fixture *f)
{
    struct history_end end;
    static const enum view_order orders[] = {VIEW_NEWEST,   VIEW_LOG,     VIEW_LOG_DESC,
                                             VIEW_MODIFIED, VIEW_CREATED, VIEW_RECEIVED,
                                             VIEW_CHANGED};
    int64_t id = 1, seq;
    struct str uid = STR("1"), text;
    struct pending_content content;
    struct known_entry *known;
    int64_t key = 4;
    struct feed *feeds;
    struct subscription *subs;
    struct sub_summary *listed;
    struct delivery_note *notes;
    struct dead_letter *dead;
    struct push_next next;
    struct sub_lag lag;
    size_t n, i;

    directory_lock(f->store->dir);
    directory_forget_keys(f->store->dir, id, INT64_MAX); /* so that the index is asked */
    directory_unlock(f->store->dir);
    for (i = 0; i < ARRAY_LEN(orders); i++) {
        struct view v = view_of(orders[i], &id, 1);

        view_titles(f, &v);
        v.all_feeds = true;
        view_titles(f, &v);
    }
    assert_int_equal(RC_OK, reader_feeds(f->reader, NULL, 0, &f->arena, &feeds, &n, NULL));
    assert_int_equal(RC_OK, reader_subs(f->reader, NULL, 0, &f->arena, &subs, &n, NULL));
    assert_true(n > 0);
    assert_int_equal(RC_OK, reader_subs_listed(f->reader, 0, 9, &f->arena, &listed, &n, NULL));
    subs[0].position = 0;
    subs[0].events |= SUB_FEED;
    assert_int_equal(RC_OK, reader_next_push(f->reader, &subs[0], 9, &f->arena, &next, NULL));
    assert_int_equal(RC_OK, reader_lag(f->reader, &subs[0], &lag, NULL));
    assert_int_equal(RC_OK,
                     reader_deliveries(f->reader, subs[0].id, 9, &f->arena, &notes, &n, NULL));
    assert_int_equal(RC_OK, reader_dead_letters(f->reader, subs[0].id, &f->arena, &dead, &n, NULL));
    assert_int_equal(RC_OK, reader_sink_settings(f->reader, subs[0].id, &f->arena, &text, NULL));
    assert_int_equal(RC_OK, reader_feed_name(f->reader, id, &f->arena, &text, &text, NULL));
    (void)endpoint_credential(f, subs[0].id);
    assert_int_equal(RC_OK,
                     reader_known(f->reader, id, &uid, 1, &key, 1, &f->arena, &known, &n, NULL));
    assert_int_equal(RC_OK, reader_oldest(f->reader, id, &seq, NULL));
    read_by_sets(f, id);
    assert_int_equal(RC_OK, reader_pending_content(f->reader, id, 9, &f->arena, &content, NULL));
    assert_int_equal(RC_OK, reader_content_feeds(f->reader, on_content, NULL, NULL));
    assert_int_equal(RC_OK, reader_due(f->reader, on_due, NULL, NULL));
    assert_int_equal(RC_OK, reader_seq_at(f->reader, clock_now_us(), &seq, NULL));
    assert_int_equal(RC_OK, reader_history_end(f->reader, &id, 1, false, &end, NULL));
    assert_int_equal(RC_OK, reader_history_end(f->reader, NULL, 0, true, &end, NULL));
}

static void test_plans__no_full_scan(void **state)
{
    struct fixture *f = *state;

    write_everything(f);
    read_everything(f);
    assert_true(check_connection(storer_db(f->store->storer)) >= 30);
    assert_true(check_connection(f->reader->db) >= 24);
}

/* The check itself can fail. */
static void test_plans__a_scan_is_seen(void **state)
{
    struct fixture *f = *state;
    sqlite3_stmt *st;
    int lines = 0;

    assert_int_equal(SQLITE_OK,
                     sqlite3_prepare_v2(db_handle(f->reader->db),
                                        "EXPLAIN QUERY PLAN SELECT * FROM entries WHERE seq = 1",
                                        -1, &st, NULL));
    while (sqlite3_step(st) == SQLITE_ROW)
        lines += strncmp((const char *)sqlite3_column_text(st, 3), "SCAN ", 5) == 0;
    sqlite3_finalize(st);
    assert_int_equal(1, lines);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_plans__##name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(no_full_scan),
        T(a_scan_is_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
