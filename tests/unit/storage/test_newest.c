/* tests/unit/storage/test_newest.c - the keys of entries that are in memory after a start, and
 * those that a merge reads. */
#include "fixture.h"
#include "storage/newest.h"
#include "tests/unit/cmocka_all.h"

static struct key_run keys_in_memory(struct fixture *f, int64_t id)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct merge_range range = {0, INT64_MAX, 0, DIRECTORY_KEYS, true, false, 0};
    struct key_run run = {.n = 0};
    int64_t seqs[DIRECTORY_KEYS];
    struct unread_keys unread;

    while (run.n < DIRECTORY_KEYS) { /* the most that can be had without a further key */
        range.len = run.n + 1;
        if (!directory_merge(f->store->dir, &id, 1, &range, &a, seqs, &run.n, &unread))
            return run;
        if (run.n < range.len) {
            run.complete = true;
            return run;
        }
    }
    return run;
}

/* ETIQ-12: at the start no key of a feed is read, and those of a feed when a view reaches it. */
static void test_newest__start_reads_no_key_of_a_feed(void **state)
{
    struct fixture *f = *state;
    int64_t ids[] = {add_feed(f, "http://a.example/f", NULL),
                     add_feed(f, "http://b.example/f", NULL)};
    struct entry_change a[] = {change(f, "1", "one", 1000), change(f, "2", "two", 2000),
                               change(f, "3", "three", 3000)},
                        b[] = {change(f, "4", "four", 500), change(f, "5", "five", 600)};
    struct view v = view_of(VIEW_NEWEST, ids, 2);

    store_changes(f, ids[0], a, 3);
    store_changes(f, ids[1], b, 2);
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(0, keys_in_memory(f, ids[0]).n);
    assert_int_equal(0, keys_in_memory(f, ids[1]).n);
    v.len = 1;
    assert_string_equal("three", view_titles(f, &v));
    assert_int_equal(3, keys_in_memory(f, ids[0]).n);
    assert_int_equal(0, keys_in_memory(f, ids[1]).n); /* the view did not come so far */
    v.len = 10;
    assert_string_equal("three two one five four", view_titles(f, &v));
    assert_int_equal(2, keys_in_memory(f, ids[1]).n);
    assert_true(keys_in_memory(f, ids[1]).complete);
}

static int64_t one_key_of_three(struct fixture *f, const char *url)
{
    int64_t id = add_feed(f, url, NULL);
    struct entry_change c[] = {change(f, "1", "one", 1000), change(f, "2", "two", 2000),
                               change(f, "3", "three", 3000)};

    store_changes(f, id, c, 3);
    directory_bound_keys(f->store->dir, 0);
    assert_int_equal(1, keys_in_memory(f, id).n);
    directory_bound_keys(f->store->dir, 1000);
    return id;
}

/* ETIQ-12: the only key in memory is of the entry that changes. */
static void test_newest__edit_of_the_newest_entry(void **state)
{
    struct fixture *f = *state;
    int64_t id = one_key_of_three(f, "http://a.example/f");
    struct entry_change c = change(f, "3", "edited", 3000);
    struct view v = view_of(VIEW_NEWEST, &id, 1);

    store_changes(f, id, &c, 1);
    assert_int_equal(1, keys_in_memory(f, id).n);
    v.len = 1;
    assert_string_equal("edited", view_titles(f, &v));
    assert_int_equal(1, keys_in_memory(f, id).n); /* nothing had to be read */
    v.len = 10;
    assert_string_equal("edited two one", view_titles(f, &v));
    assert_true(keys_in_memory(f, id).complete);
}

static void test_newest__deletion_of_the_newest_entry(void **state)
{
    struct fixture *f = *state;
    int64_t id = one_key_of_three(f, "http://a.example/f");
    struct entry_change c = change(f, "3", "gone", 3000);
    struct view v = view_of(VIEW_NEWEST, &id, 1);

    c.kind = REV_DELETED;
    store_changes(f, id, &c, 1);
    assert_int_equal(0, keys_in_memory(f, id).n);
    v.len = 1;
    assert_string_equal("two", view_titles(f, &v));
    assert_int_equal(2, keys_in_memory(f, id).n);
}

/* ETIQ-12: the bound of a feed whose newest entry is gone is too late. So the feed is read earlier than it would be,
 * and the answer is right. */
static void test_newest__the_newest_entry_was_deleted_before_the_start(void **state)
{
    struct fixture *f = *state;
    int64_t ids[] = {add_feed(f, "http://a.example/f", NULL), add_feed(f, "http://b.example/f", NULL),
                     add_feed(f, "http://c.example/f", NULL)};
    struct entry_change a[] = {change(f, "1", "one", 1000), change(f, "2", "two", 5000)}, gone = a[1],
                        b = change(f, "3", "three", 2000), only = change(f, "4", "four", 6000);
    struct view v = view_of(VIEW_NEWEST, ids, 3);

    store_changes(f, ids[0], a, 2);
    store_changes(f, ids[1], &b, 1);
    store_changes(f, ids[2], &only, 1);
    gone.kind = only.kind = REV_DELETED;
    store_changes(f, ids[0], &gone, 1);
    store_changes(f, ids[2], &only, 1);
    fixture_close(f);
    fixture_open(f);
    v.len = 1;
    assert_string_equal("three", view_titles(f, &v));
    v.len = 5;
    assert_string_equal("three one", view_titles(f, &v));
    assert_int_equal(0, keys_in_memory(f, ids[2]).n);
    assert_true(keys_in_memory(f, ids[2]).complete);
}

/* ETIQ-12: what comes in after a start, before somebody reads the feed. */
static void test_newest__news_of_a_feed_that_nobody_has_read(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", NULL);
    struct entry_change old[] = {change(f, "1", "one", 1000), change(f, "2", "two", 2000)},
                        news[] = {change(f, "3", "three", 3000), change(f, "1", "edited", 1000)};
    struct view v = view_of(VIEW_NEWEST, &id, 1);

    store_changes(f, id, old, 2);
    fixture_close(f);
    fixture_open(f);
    store_changes(f, id, news, 2);
    v.len = 10;
    assert_string_equal("three two edited", view_titles(f, &v));
    fixture_close(f);
    fixture_open(f);
    assert_string_equal("three two edited", view_titles(f, &v));
}

static void add_feeds(struct fixture *f, int64_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct entry_change c[] = {change(f, "1", "one", 1000), change(f, "2", "two", 2000)};

        ids[i] = add_feed(f, str_printf(&f->arena, "http://%zu.example/f", i).ptr, NULL);
        store_changes(f, ids[i], c, 2);
    }
    fixture_close(f);
    fixture_open(f);
}

static bool find(struct fixture *f, const int64_t *ids, size_t n, const struct merge_range *range,
                 size_t most, size_t *n_out)
{
    int64_t *seqs = ARENA_ARRAY(&f->arena, int64_t, range->len);
    struct reader *r = f->reader;
    bool found;

    assert_int_equal(RC_OK, r->db->reads->snapshot(r->db, NULL));
    assert_int_equal(
        RC_OK, newest_in_memory(r, ids, n, range, most, &f->arena, seqs, n_out, &found, NULL));
    r->db->reads->snapshot_end(r->db);
    return found;
}

/* ETIQ-12: a view that begins in the past would have the keys of all feeds read, for nothing. */
static void test_newest__ranges_with_an_upper_date_fill_few_feeds(void **state)
{
    enum { FEEDS = 70, FEW = 60 };
    struct fixture *f = *state;
    struct merge_range range = {0, INT64_MAX, 0, FEEDS, true, true, 1500};
    int64_t ids[FEEDS];
    size_t n;

    add_feeds(f, ids, FEEDS);
    assert_false(find(f, ids, FEEDS, &range, NEWEST_READ_MOST, &n));
    for (size_t i = 0; i < FEEDS; i++)
        assert_int_equal(0, keys_in_memory(f, ids[i]).n);
    assert_true(find(f, ids, FEW, &range, NEWEST_READ_MOST, &n));
    assert_int_equal(FEW, n);
    assert_int_equal(2, keys_in_memory(f, ids[0]).n);
    range.before_at = INT64_MAX; /* as with a filter that names no date */
    range.len = 2 * FEEDS;
    assert_true(find(f, ids, FEEDS, &range, NEWEST_READ_MOST, &n));
    assert_int_equal(2 * FEEDS, n);
}

/* ETIQ-12: of more feeds than one answer may read, each answer reads some, until it is found. */
static void test_newest__more_feeds_than_one_answer_reads(void **state)
{
    enum { FEEDS = 150, MOST = 70 };
    struct fixture *f = *state;
    struct merge_range range = {0, INT64_MAX, 0, 2 * FEEDS, true, false, 0};
    int64_t ids[FEEDS];
    size_t n = 0;

    add_feeds(f, ids, FEEDS);
    for (size_t answer = 1; answer <= 3; answer++) {
        size_t n_read = 0;

        assert_int_equal(answer == 3, find(f, ids, FEEDS, &range, MOST, &n));
        for (size_t i = 0; i < FEEDS; i++)
            n_read += keys_in_memory(f, ids[i]).complete;
        assert_int_equal(answer == 3 ? FEEDS : answer * MOST, n_read);
    }
    assert_int_equal(2 * FEEDS, n);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_newest__##name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(start_reads_no_key_of_a_feed),     T(edit_of_the_newest_entry),
        T(deletion_of_the_newest_entry),     T(ranges_with_an_upper_date_fill_few_feeds),
        T(more_feeds_than_one_answer_reads), T(the_newest_entry_was_deleted_before_the_start),
        T(news_of_a_feed_that_nobody_has_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
