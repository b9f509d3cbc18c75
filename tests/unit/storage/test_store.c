/* tests/unit/storage/test_store.c - feeds, outcomes and views through the public calls. */
#include "fixture.h"
#include "tests/unit/cmocka_all.h"

#define DAY 86400

static void test_store__feed_is_made_once(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", NULL);
    struct feed_brief b;

    assert_int_equal(id, add_feed(f, "http://a.example/f", NULL));
    assert_int_not_equal(id, add_feed(f, "http://a.example/f", "u:p"));
    assert_true(store_find_feed(f->store, STR("http://a.example/f"), STR_NULL, &b));
    assert_int_equal(id, b.id);
    assert_int_equal(FEED_NEW, b.state);
    assert_false(b.fetched);
    assert_true(b.next_fetch_at <= clock_now_s());
    assert_false(store_find_feed(f->store, STR("http://b.example/f"), STR_NULL, &b));
}

/* D48: the credential, or the key that stands for it */
static void test_store__credential_and_access_key(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", "u:p");
    struct feed *feed;
    struct feed_brief b;
    struct str key, key_as_user;
    size_t n;

    assert_false(store_find_feed(f->store, STR("http://a.example/f"), STR_NULL, &b));
    assert_false(store_find_feed(f->store, STR("http://a.example/f"), STR("u:q"), &b));
    assert_true(store_find_feed(f->store, STR("http://a.example/f"), STR("u:p"), &b));
    assert_int_equal(RC_OK, reader_feeds(f->reader, &id, 1, &f->arena, &feed, &n, NULL));
    assert_int_equal(1, n);
    key = feed->access_key;
    assert_true(str_starts(key, STR("fm-")));
    assert_int_equal(35, key.len);
    assert_true(str_eqz(feed->credential, "u:p"));
    assert_true(store_find_feed(f->store, STR("http://a.example/f"), key, &b));
    assert_int_equal(id, b.id);
    key_as_user = str_concat(&f->arena, key, STR(":"));
    assert_true(store_find_feed(f->store, STR("http://a.example/f"), key_as_user, &b));
    assert_int_equal(id, add_feed(f, "http://a.example/f", str_z(&f->arena, key)));
    assert_int_equal(1, store_find_by_any_url(f->store, STR("http://a.example/f"), &id, 1));
}

/* REST-12: entry date, then arrival, document order for the undated */
static void test_store__newest_first(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", NULL);
    int64_t now = clock_now_s();
    struct entry_change c[] = {
        change(f, "1", "old", now - 3 * DAY),   change(f, "2", "first", TIME_UNKNOWN),
        change(f, "3", "second", TIME_UNKNOWN), change(f, "4", "newer", now - 2 * DAY),
        change(f, "5", "third", TIME_UNKNOWN),  change(f, "6", "newer2", now - 2 * DAY),
    };
    struct view v = view_of(VIEW_NEWEST, &id, 1);

    store_changes(f, id, c, 6);
    assert_string_equal("first second third newer newer2 old", view_titles(f, &v));
    v.order = VIEW_LOG; /* PUSH-04: oldest first */
    assert_string_equal("old newer2 newer third second first", view_titles(f, &v));
    v.order = VIEW_LOG_DESC;
    assert_string_equal("first second third newer newer2 old", view_titles(f, &v));
    v.order = VIEW_NEWEST;
    v.skip = 1;
    v.len = 2;
    assert_string_equal("second third", view_titles(f, &v));
}

static void test_store__far_future_is_clamped(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", NULL);
    struct entry_change c = change(f, "1", "far", INT64_C(4102444800));
    struct view v = view_of(VIEW_NEWEST, &id, 1);
    struct revision *rows;
    size_t n;

    store_changes(f, id, &c, 1);
    assert_int_equal(RC_OK, reader_rows(f->reader, &v, &f->arena, &rows, &n, NULL));
    assert_int_equal(1, n);
    assert_true(rows[0].sort_at <= clock_now_s() + DAY);
    assert_int_equal(4102444800, rows[0].published_at);
    assert_int_equal(TIME_UNKNOWN, rows[0].updated_at);
}

/* REST-13: what a later document leaves out stays */
static void test_store__entries_stay(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", NULL), now = clock_now_s();
    struct entry_change one = change(f, "1", "one", now - 20), two = change(f, "2", "two", now);
    struct view v = view_of(VIEW_NEWEST, &id, 1);

    store_changes(f, id, &one, 1);
    store_changes(f, id, &two, 1);
    assert_string_equal("two one", view_titles(f, &v));
}

static void test_store__same_essence_is_no_event(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", NULL);
    struct entry_change c = change(f, "1", "one", 1000);
    struct feed_brief before, after;
    struct answer a = store_changes(f, id, &c, 1);

    assert_int_equal(1, a.res.n_new);
    assert_int_equal(1, a.res.last_seq);
    store_brief(f->store, id, &before);
    a = store_changes(f, id, &c, 1); /* as if two fetches had overlapped */
    assert_int_equal(0, a.res.n_new + a.res.n_changed);
    store_brief(f->store, id, &after);
    assert_int_equal(before.version, after.version);
    assert_int_equal(1, store_last_seq(f->store));
}

/* A document that carries an id twice does not flap: the first counts. */
static void test_store__id_twice_in_one_document(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", NULL);
    struct entry_change c[] = {change(f, "1", "one", 1000), change(f, "1", "uno", 2000)};
    struct view v = view_of(VIEW_LOG, &id, 1);

    assert_int_equal(1, store_changes(f, id, c, 2).res.n_new);
    assert_int_equal(0, store_changes(f, id, c, 2).res.n_changed);
    assert_string_equal("one", view_titles(f, &v));
}

/* D9: an edit is an event; the entry keeps its first seq */
static void test_store__changed_entry(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", NULL);
    struct entry_change c[] = {change(f, "1", "one", 1000), change(f, "2", "two", 2000)};
    struct entry_change edit = change(f, "1", "uno", 1000);
    struct view v = view_of(VIEW_LOG, &id, 1);
    struct feed_brief before, after;
    struct revision *rows;
    struct answer a;
    size_t n;

    store_changes(f, id, c, 2);
    store_brief(f->store, id, &before);
    a = store_changes(f, id, &edit, 1);
    assert_int_equal(1, a.res.n_changed);
    store_brief(f->store, id, &after);
    assert_true(after.version > before.version);
    assert_string_equal("one two uno", view_titles(f, &v));
    v.order = VIEW_MODIFIED;
    assert_string_equal("two uno", view_titles(f, &v));
    v.order = VIEW_CREATED;
    assert_string_equal("uno two", view_titles(f, &v));
    v.order = VIEW_NEWEST;
    assert_string_equal("two uno", view_titles(f, &v));
    v.order = VIEW_MODIFIED;
    v.after_seq = 2;
    assert_int_equal(RC_OK, reader_rows(f->reader, &v, &f->arena, &rows, &n, NULL));
    assert_int_equal(1, n);
    assert_int_equal(3, rows[0].seq);
    assert_int_equal(1, rows[0].first_seq);
    assert_int_equal(REV_CHANGED, rows[0].kind);
    assert_int_equal(3, rows[0].batch);
    assert_false(rows[0].initial);
    assert_true(str_eqz(rows[0].uid, "1"));
}

/* D9: an edit moves to the front; without a date that is the time it came in */
static void test_store__undated_edits_move_to_the_front(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", NULL);
    struct entry_change c = change(f, "1", "one", TIME_UNKNOWN);
    struct entry_change edit = change(f, "1", "uno", TIME_UNKNOWN);
    struct view v = view_of(VIEW_LOG, &id, 1);
    struct revision *rows;
    size_t n;

    clock_fake_us(INT64_C(1700000000) * 1000000);
    store_changes(f, id, &c, 1);
    clock_fake_us(INT64_C(1700009999) * 1000000);
    store_changes(f, id, &edit, 1);
    assert_int_equal(RC_OK, reader_rows(f->reader, &v, &f->arena, &rows, &n, NULL));
    assert_int_equal(2, n);
    assert_int_equal(1700000000, rows[0].sort_at);
    assert_int_equal(1700009999, rows[1].sort_at);
}

/* D14: event times rise strictly, whatever the clock does */
static void test_store__times_rise(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", NULL), seq;
    struct entry_change c[] = {change(f, "1", "a", 1), change(f, "2", "b", 2),
                               change(f, "3", "c", 3)};
    struct entry_change later = change(f, "4", "d", 4);
    struct view v = view_of(VIEW_LOG, &id, 1);
    struct revision *rows;
    size_t n, i;

    clock_fake_us(INT64_C(1700000000) * 1000000);
    store_changes(f, id, c, 3);
    clock_fake_us(INT64_C(1600000000) * 1000000);
    fixture_close(f);
    fixture_open(f);
    store_changes(f, id, &later, 1);
    assert_int_equal(RC_OK, reader_rows(f->reader, &v, &f->arena, &rows, &n, NULL));
    assert_int_equal(4, n);
    for (i = 1; i < n; i++)
        assert_true(rows[i].at_us > rows[i - 1].at_us);
    for (i = 0; i < n; i++) {
        assert_int_equal(RC_OK, reader_seq_at(f->reader, rows[i].at_us, &seq, NULL));
        assert_int_equal(rows[i].seq, seq);
        assert_int_equal(RC_OK, reader_seq_at(f->reader, rows[i].at_us - 1, &seq, NULL));
        assert_int_equal(rows[i].seq - 1, seq);
    }
    assert_int_equal(RC_OK, reader_seq_at(f->reader, INT64_MAX, &seq, NULL));
    assert_int_equal(4, seq);
}

static void test_store__deletion(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", NULL);
    struct entry_change c[] = {change(f, "1", "one", 1000), change(f, "2", "two", 2000)};
    struct entry_change gone[] = {{.kind = REV_DELETED,
                                   .uid = STR("1"),
                                   .doc = STR(""),
                                   .published_at = TIME_UNKNOWN,
                                   .updated_at = TIME_UNKNOWN},
                                  {.kind = REV_DELETED,
                                   .uid = STR("never"),
                                   .doc = STR(""),
                                   .published_at = TIME_UNKNOWN,
                                   .updated_at = TIME_UNKNOWN}};
    struct view v = view_of(VIEW_NEWEST, &id, 1);
    struct feed *feed;
    struct known_entry *known;
    struct str uids[] = {STR("1"), STR("2"), STR("3")};
    struct answer a;
    size_t n;

    store_changes(f, id, c, 2);
    a = store_changes(f, id, gone, 2);
    assert_int_equal(1, a.res.n_deleted);
    assert_int_equal(0, store_changes(f, id, gone, 2).res.n_deleted);
    assert_string_equal("two", view_titles(f, &v));
    v.order = VIEW_LOG;
    assert_string_equal("one two", view_titles(f, &v));
    v.with_deleted = true;
    assert_string_equal("one two -", view_titles(f, &v));
    v.order = VIEW_MODIFIED;
    assert_string_equal("two -", view_titles(f, &v));
    v.order = VIEW_CREATED;
    v.with_deleted = false;
    assert_string_equal("two", view_titles(f, &v));
    assert_int_equal(RC_OK, reader_feeds(f->reader, &id, 1, &f->arena, &feed, &n, NULL));
    assert_int_equal(1, feed->n_entries);
    assert_int_equal(RC_OK,
                     reader_known(f->reader, id, uids, 3, NULL, 0, &f->arena, &known, &n, NULL));
    assert_int_equal(2, n);
    assert_true(str_eqz(known[0].identity.uid, "1") && known[0].deleted);
    assert_true(str_eqz(known[1].identity.uid, "2") && !known[1].deleted);
    assert_memory_equal(c[1].essence, known[1].identity.essence, 16);

    a = store_changes(f, id, c, 1); /* and back */
    assert_int_equal(1, a.res.n_changed);
    v = view_of(VIEW_NEWEST, &id, 1);
    assert_string_equal("two one", view_titles(f, &v));
}

/* TOMB-05: a tombstone older than the stored entry's own date does not delete it. */
static void test_store__newer_entry_outlives_tombstone(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", NULL);
    struct entry_change c = change(f, "1", "one", 1000);
    struct entry_change gone = {.kind = REV_DELETED,
                                .uid = STR("1"),
                                .doc = STR(""),
                                .published_at = TIME_UNKNOWN,
                                .updated_at = 1999};

    c.updated_at = 2000;
    store_changes(f, id, &c, 1);
    assert_int_equal(0, store_changes(f, id, &gone, 1).res.n_deleted);
    gone.updated_at = 2000;
    assert_int_equal(1, store_changes(f, id, &gone, 1).res.n_deleted);
}

/* Volatile values show at once, without an event and without touching the log. */
static void test_store__overlay(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", NULL);
    struct entry_change c = change(f, "1", "one", 1000), edit = change(f, "1", "uno", 1000);
    struct view newest = view_of(VIEW_NEWEST, &id, 1), log = view_of(VIEW_LOG, &id, 1);
    struct feed_brief before, after;
    struct revision *rows;
    struct str was = c.doc;
    struct answer a;
    size_t n;

    store_changes(f, id, &c, 1);
    store_brief(f->store, id, &before);
    c.doc = STR("{\"comments\":7}");
    c.volatile_only = true;
    a = store_changes(f, id, &c, 1);
    assert_int_equal(0, a.res.n_new + a.res.n_changed);
    store_brief(f->store, id, &after);
    assert_true(after.version > before.version);
    assert_int_equal(RC_OK, reader_rows(f->reader, &newest, &f->arena, &rows, &n, NULL));
    assert_true(str_eqz(rows[0].doc, "{\"comments\":7}"));
    assert_int_equal(RC_OK, reader_rows(f->reader, &log, &f->arena, &rows, &n, NULL));
    assert_int_equal(1, n);
    assert_true(str_eq(rows[0].doc, was));
    store_brief(f->store, id, &before);
    store_changes(f, id, &c, 1); /* the same again is nothing */
    store_brief(f->store, id, &after);
    assert_int_equal(before.version, after.version);
    store_changes(f, id, &edit, 1); /* a new revision shows its own document */
    assert_int_equal(RC_OK, reader_rows(f->reader, &newest, &f->arena, &rows, &n, NULL));
    assert_true(str_eq(rows[0].doc, edit.doc));
}

/* REST-19 */
static void test_store__same_iri_in_two_feeds(void **state)
{
    struct fixture *f = *state;
    int64_t ids[] = {add_feed(f, "http://a.example/f", NULL),
                     add_feed(f, "http://b.example/f", NULL)};
    struct entry_change in_a[] = {change(f, "urn:x:1", "a1", 1000), change(f, "7", "a7", 900)};
    struct entry_change in_b[] = {change(f, "urn:x:1", "b1", 2000), change(f, "7", "b7", 800)};
    struct view v = view_of(VIEW_NEWEST, ids, 2);

    store_changes(f, ids[0], in_a, 2);
    store_changes(f, ids[1], in_b, 2);
    assert_string_equal("b1 a7 b7", view_titles(f, &v));
    v.n_feeds = 1;
    assert_string_equal("a1 a7", view_titles(f, &v));
    v.all_feeds = true;
    assert_string_equal("b1 a7 b7", view_titles(f, &v));
    v.order = VIEW_LOG;
    assert_string_equal("a7 a1 b7 b1", view_titles(f, &v));
    v.order = VIEW_LOG_DESC;
    assert_string_equal("b1 b7 a1 a7", view_titles(f, &v));
    v.order = VIEW_MODIFIED;
    v.after_seq = 1;
    v.before_seq = 4;
    assert_string_equal("a1 b7", view_titles(f, &v));
    v.order = VIEW_CREATED;
    assert_string_equal("a1 b7", view_titles(f, &v));
}

/* Deeper than the keys in memory: the index takes over, without a seam. */
static void test_store__deep_views(void **state)
{
    enum { N = DIRECTORY_KEYS + 40 };
    struct fixture *f = *state;
    int64_t ids[] = {add_feed(f, "http://a.example/f", NULL),
                     add_feed(f, "http://b.example/f", NULL)};
    struct view v = view_of(VIEW_NEWEST, ids, 2);
    struct entry_change c[N], same;
    struct revision *rows;
    size_t n, i;

    for (i = 0; i < N; i++)
        c[i] = change(f, str_printf(&f->arena, "urn:x:%zu", i).ptr, "x", (int64_t)(1000 + i));
    store_changes(f, ids[0], c, N);
    same = change(f, "urn:x:0", "y", 5000); /* hides the oldest of the other feed */
    store_changes(f, ids[1], &same, 1);
    v.len = 2 * N;
    assert_int_equal(RC_OK, reader_rows(f->reader, &v, &f->arena, &rows, &n, NULL));
    assert_int_equal(N, n);
    assert_int_equal(5000, rows[0].sort_at);
    for (i = 1; i < n; i++)
        assert_int_equal(1000 + N - i, rows[i].sort_at);
    v.skip = N - 2;
    v.len = 2;
    assert_int_equal(RC_OK, reader_rows(f->reader, &v, &f->arena, &rows, &n, NULL));
    assert_int_equal(2, n);
    assert_int_equal(1001, rows[1].sort_at);
}

/* Have the index asked: memory has as many keys as it may, and none of them is of a view. */
static void hide_keys(struct fixture *f, const int64_t *ids, size_t n)
{
    struct merge_key keys[DIRECTORY_KEYS];

    for (size_t i = 0; i < DIRECTORY_KEYS; i++)
        keys[i] = (struct merge_key){INT64_MAX, INT64_MAX, 0};
    directory_lock(f->store->dir);
    for (size_t i = 0; i < n; i++)
        directory_set_keys(f->store->dir, ids[i], keys, DIRECTORY_KEYS, false);
    directory_unlock(f->store->dir);
}

static void forget_keys(struct fixture *f, const int64_t *ids, size_t n)
{
    struct feed *feeds;

    assert_int_equal(RC_OK, reader_feeds(f->reader, ids, n, &f->arena, &feeds, &n, NULL));
    directory_lock(f->store->dir);
    for (size_t i = 0; i < n; i++)
        directory_forget_keys(f->store->dir, feeds[i].id, feeds[i].newest_at);
    directory_unlock(f->store->dir);
}

/* Keys in memory give the same answer as the index after changes of every kind, and so do those
 * that are read when a merge reaches them (ETIQ-12). */
static void test_store__memory_agrees_with_index(void **state)
{
    struct fixture *f = *state;
    int64_t ids[3] = {0};
    uint32_t x = 1;
    struct view v = view_of(VIEW_NEWEST, ids, 3);
    const char *from_memory, *from_index, *from_read;
    size_t i, round;

    for (i = 0; i < 3; i++)
        ids[i] = add_feed(f, str_printf(&f->arena, "http://%zu.example/f", i).ptr, NULL);
    for (round = 0; round < 60; round++) {
        struct entry_change c[20];

        for (i = 0; i < 20; i++) {
            x = x * 1664525 + 1013904223;
            c[i] = change(f, str_printf(&f->arena, "urn:x:%u", (x >> 10) % 150).ptr,
                          str_printf(&f->arena, "r%zue%zu", round, i).ptr, (x >> 6) % 1000);
            if ((x >> 20) % 3 == 0)
                c[i].kind = REV_DELETED;
        }
        store_changes(f, ids[round % 3], c, 20);
        from_memory = view_titles(f, &v);
        hide_keys(f, ids, 3);
        from_index = view_titles(f, &v);
        assert_string_equal(from_index, from_memory);
        forget_keys(f, ids, 3);
        v.len = 1 + round % 9; /* first a short page, which needs few feeds */
        from_read = view_titles(f, &v);
        assert_int_equal(0, strncmp(from_index, from_read, strlen(from_read)));
        v.len = 50;
        from_read = view_titles(f, &v);
        assert_string_equal(from_index, from_read);
        if (round % 2 == 0) { /* go on without keys, or with those read */
            fixture_close(f);
            fixture_open(f);
        }
    }
}

/* REST-36 */
static void test_store__survives_restart(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", "u:p");
    struct entry_change c[] = {change(f, "1", "one", 1000), change(f, "2", "two", 2000)};
    struct view v = view_of(VIEW_NEWEST, &id, 1);
    struct feed_brief before, after;
    char log_id[64];

    store_changes(f, id, c, 2);
    store_brief(f->store, id, &before);
    snprintf(log_id, sizeof log_id, "%.*s", STR_ARG(store_log_id(f->store)));
    assert_int_equal(36, strlen(log_id));
    fixture_close(f);
    fixture_open(f);
    assert_true(str_eqz(store_log_id(f->store), log_id));
    assert_int_equal(2, store_last_seq(f->store));
    assert_true(store_brief(f->store, id, &after));
    assert_int_equal(before.version, after.version);
    assert_int_equal(before.state, after.state);
    assert_int_equal(before.next_fetch_at, after.next_fetch_at);
    assert_true(after.fetched);
    assert_int_equal(after.version, store_version(f->store, &id, 1));
    assert_true(store_find_feed(f->store, STR("http://a.example/f"), STR("u:p"), &after));
    assert_string_equal("two one", view_titles(f, &v));
    assert_true(add_feed(f, "http://b.example/", NULL) > id);
}

/* A publisher gets its own bytes back, whatever they are. */
static void test_store__validators_of_any_bytes(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", NULL);
    struct poll_outcome o = outcome(id, NULL, 0);
    struct feed *feed;
    struct answer a;
    size_t n;

    o.check.etag = STR("\"\xff\xc3\"");
    o.check.last_modified = STR("\x01\xe4");
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(RC_OK, reader_feeds(f->reader, NULL, 0, &f->arena, &feed, &n, NULL));
    assert_int_equal(1, n);
    assert_true(str_eqz(feed->etag, "\"\xff\xc3\""));
    assert_true(str_eqz(feed->last_modified, "\x01\xe4"));
}

static void test_store__outcome_fields(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", NULL);
    struct poll_outcome o = outcome(id, NULL, 0);
    struct feed *feed;
    struct answer a;
    size_t n;

    o.check.etag = STR("\"v1\"");
    o.check.last_modified = STR("yesterday");
    o.head.hints = (struct doc_hint_row){1, 2, 3, 0x800001, 0x41};
    o.has_body_hash = true;
    memset(o.body_hash, 7, 16);
    o.check.checked_at = 1000;
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    o = outcome(id, NULL, 0); /* a failure: keeps what it does not know */
    o.check.ok = o.has_document = false;
    o.check.state = FEED_FAILING;
    o.check.status = 500;
    o.check.error = STR("no luck");
    o.check.n_errors = 3;
    o.check.checked_at = 2000;
    o.check.etag = STR("");
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(RC_OK, reader_feeds(f->reader, NULL, 0, &f->arena, &feed, &n, NULL));
    assert_int_equal(1, n);
    assert_true(str_is_null(feed->etag));
    assert_true(str_eqz(feed->last_modified, "yesterday"));
    assert_true(str_eqz(feed->title, "T"));
    assert_true(str_eqz(feed->head, "{\"title\":\"T\"}"));
    assert_true(str_eqz(feed->last_error, "no luck"));
    assert_int_equal(FEED_FAILING, feed->state);
    assert_int_equal(500, feed->last_status);
    assert_int_equal(3, feed->n_errors);
    assert_int_equal(2000, feed->last_check_at);
    assert_int_equal(1000, feed->last_success_at);
    assert_int_equal(1000,
                     feed->last_change_at); /* the first document, without entries (ATOM-14) */
    assert_true(feed->has_body_hash);
    assert_int_equal(7, feed->body_hash[15]);
    assert_int_equal(0x800001, feed->hints.skip_hours);
    assert_int_equal(0x41, feed->hints.skip_days);
    assert_int_equal(1, feed->level);
}

static void test_store__head_change_is_visible(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", NULL), versions[4];
    struct poll_outcome o = outcome(id, NULL, 0);
    struct answer a;

    versions[0] = store_version(f->store, &id, 1);
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    versions[1] = store_version(f->store, &id, 1);
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    versions[2] = store_version(f->store, &id, 1);
    o.head.json = STR("{\"title\":\"other\"}");
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    versions[3] = store_version(f->store, &id, 1);
    assert_true(versions[1] > versions[0]);
    assert_int_equal(versions[1], versions[2]);
    assert_true(versions[3] > versions[2]);
}

static void test_store__unknown_feed(void **state)
{
    struct fixture *f = *state;
    struct poll_outcome o = outcome(77, NULL, 0);
    struct subscription *sub;
    struct feed *feed;
    struct answer a;

    assert_int_equal(RC_NOT_FOUND, reader_feed(f->reader, 77, &f->arena, &feed, NULL));
    assert_int_equal(RC_NOT_FOUND, reader_sub(f->reader, 77, &f->arena, &sub, NULL));
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(RC_NOT_FOUND, a.rc);
    assert_non_null(strstr(a.text, "77"));
}

/* A head is kept beside the revisions that came with it, and the first one for good. */
static void test_store__heads_of_the_past(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", NULL), gone = 77;
    struct entry_change one = change(f, "1", "one", 100), two = change(f, "2", "two", 200);
    struct poll_outcome o;
    struct feed *feed;
    struct answer a;
    size_t n;

    store_changes(f, id, &one, 1);
    o = outcome(id, &two, 1);
    o.head.title = STR("T2");
    o.head.json = STR("{\"title\":\"T2\"}");
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    o = outcome(id, NULL, 0); /* its dates alone are new: no entry in the log of heads */
    o.head.title = STR("T2");
    o.head.json = STR("{\"title\":\"T2\",\"updated\":\"later\"}");
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    for (int64_t seq = 0; seq <= 3; seq++) {
        assert_int_equal(RC_OK,
                         reader_feeds_at(f->reader, &id, 1, seq, &f->arena, &feed, &n, NULL));
        assert_int_equal(1, n);
        assert_true(str_eqz(feed->title, seq < 2 ? "T" : "T2"));
        assert_true(str_eqz(feed->head, seq < 2 ? "{\"title\":\"T\"}" : "{\"title\":\"T2\"}"));
        assert_true(str_eqz(feed->url, "http://a.example/f"));
    }
    assert_int_equal(RC_OK, reader_feeds_at(f->reader, &gone, 1, 1, &f->arena, &feed, &n, NULL));
    assert_int_equal(0, n);
}

/* SMART-03: deleted entries count, and count once */
static void test_store__counts(void **state)
{
    struct fixture *f = *state;
    int64_t ids[] = {add_feed(f, "http://a.example/f", NULL),
                     add_feed(f, "http://b.example/f", NULL)};
    struct entry_change c[] = {change(f, "1", "one", 100), change(f, "2", "two", 200)};
    int64_t n;

    store_changes(f, ids[0], c, 2);
    store_changes(f, ids[1], c, 1);
    c[0].kind = REV_DELETED;
    store_changes(f, ids[0], c, 1);
    assert_int_equal(RC_OK, reader_count(f->reader, ids, 2, true, &n, NULL));
    assert_int_equal(3, n);
    assert_int_equal(RC_OK, reader_count(f->reader, ids, 2, false, &n, NULL));
    assert_int_equal(2, n);
    c[0].kind = REV_NEW;
    store_changes(f, ids[0], c, 1); /* it returns */
    assert_int_equal(RC_OK, reader_count(f->reader, ids, 1, true, &n, NULL));
    assert_int_equal(2, n);
}

/* XMPP-03: the index of a page is the number of items before it. */
static void test_store__counts_between(void **state)
{
    struct fixture *f = *state;
    int64_t ids[] = {add_feed(f, "http://a.example/f", NULL),
                     add_feed(f, "http://b.example/f", NULL)};
    struct entry_change c[] = {change(f, "1", "one", 100), change(f, "2", "two", 200),
                               change(f, "3", "three", 300)};
    const struct {
        bool by_creation;
        int64_t from, to, max;
        int64_t n;
    } rows[] = {
        {false, 0, INT64_MAX, 100, 5}, {true, 0, INT64_MAX, 100, 5}, {false, 0, INT64_MAX, 2, 2},
        {false, 0, 3, 100, 2},         {true, 0, 3, 100, 3},         {false, 6, 6, 100, 1},
        {true, 6, 6, 100, 0},          {true, 3, 1, 100, 0},
    };
    int64_t n;

    store_changes(f, ids[0], c, 3); /* 1, 2, 3 */
    store_changes(f, ids[1], c, 2); /* 4, 5 */
    c[0].kind = REV_DELETED;
    store_changes(f, ids[0], c, 1); /* 6: of the first entry */
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(RC_OK,
                         reader_count_between(f->reader, ids, 2, rows[i].by_creation, rows[i].from,
                                              rows[i].to, rows[i].max, &n, NULL));
        assert_int_equal(rows[i].n, n);
    }
    assert_int_equal(RC_OK, reader_count_between(f->reader, ids, 1, false, 0, 6, 100, &n, NULL));
    assert_int_equal(3, n);
}

/* The hosts that rest, once so many do. */
static struct host_rest *rests(struct fixture *f, size_t wanted)
{
    struct host_rest *list;
    size_t n;

    do
        assert_int_equal(RC_OK, reader_host_rests(f->reader, &f->arena, &list, &n, NULL));
    while (n != wanted);
    return list;
}

/* SCHED-14, NODE-04, ETIQ-03: a rest outlives the daemon. A shorter one changes nothing, and one that is over is still
 * told for a day. */
static void test_store__rests_of_hosts(void **state)
{
    struct fixture *f = *state;
    const struct host_rest long_one = {STR("a:80"), 100000, 200000};
    const struct host_rest shorter = {STR("a:80"), 50000, 60000};
    const struct host_rest over = {STR("b:80"), 1, 50};
    const struct host_rest impossible = {STR("c:80"), INT64_C(1) << 40, INT64_C(1) << 40};
    struct host_rest *list, nameless = {STR_NULL, 1000, 2000};
    int at;

    nameless.host = str_printf(&f->arena, "%0*d", HOST_REST_LEN + 1, 0); /* no host has this name */
    assert_int_equal(RC_OK, store_host_rest(f->store, &long_one));
    assert_int_equal(RC_OK, store_host_rest(f->store, &shorter));
    assert_int_equal(RC_OK, store_host_rest(f->store, &over));
    assert_int_equal(RC_OK, store_host_rest(f->store, &impossible)); /* by a wrong clock: void */
    assert_int_equal(RC_OK, store_host_rest(f->store, &nameless));
    add_feed(f, "http://a.example/", ""); /* they are stored before it */
    assert_int_equal(RC_OK, store_host_rest(f->store, &shorter));
    add_feed(f, "http://b.example/", "");
    for (int i = 0; i < 2; i++) {
        list = rests(f, 2);
        at = str_eqz(list[1].host, "a:80"); /* in no order */
        assert_true(str_eqz(list[at].host, "a:80"));
        assert_true(str_eqz(list[!at].host, "b:80"));
        assert_true(list[!at].gentle_ms <= 50);
        assert_in_range(list[at].cool_ms, 61000, 100000);
        assert_in_range(list[at].gentle_ms, 161000, 200000);
        fixture_close(f);
        fixture_open(f);
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_store__##name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(feed_is_made_once),
        T(credential_and_access_key),
        T(newest_first),
        T(far_future_is_clamped),
        T(entries_stay),
        T(same_essence_is_no_event),
        T(id_twice_in_one_document),
        T(changed_entry),
        T(undated_edits_move_to_the_front),
        T(times_rise),
        T(deletion),
        T(newer_entry_outlives_tombstone),
        T(overlay),
        T(same_iri_in_two_feeds),
        T(heads_of_the_past),
        T(counts),
        T(counts_between),
        T(deep_views),
        T(memory_agrees_with_index),
        T(survives_restart),
        T(outcome_fields),
        T(validators_of_any_bytes),
        T(head_change_is_visible),
        T(unknown_feed),
        T(rests_of_hosts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
