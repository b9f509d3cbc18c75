/* tests/unit/storage/test_made_together.c - operations of one transaction that make feeds and
 * subscriptions and find what the others have made; and the ids of what is made. */
#include "gate.h"

#include <sqlite3.h>

#include "base/stats.h"
#include "storage/sqlite/db.h"

/* Wait for n answers. */
static void wait_all(struct answer *answers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        answer_wait(&answers[i]);
}

static void push_add(struct fixture *f, const char *url, const char *credential, struct answer *a)
{
    struct feed_ref ref = {.url = str_from(url), .credential = str_from(credential)};

    *a = answer_init(1);
    assert_int_equal(RC_OK, store_add_feed(f->store, &ref, on_answer, a));
}

static void push_subscribe(struct fixture *f, const struct feed_ref *refs, size_t n, int level,
                           struct answer *a)
{
    struct sub_request req = {.sink = STR("xmlrpc"),
                              .endpoint = STR("http://end.example/"),
                              .feeds = refs,
                              .n_feeds = n,
                              .level = level};

    *a = answer_init(1);
    assert_int_equal(RC_OK, store_subscribe(f->store, &req, on_answer, a));
}

static const struct subscription *read_sub(struct fixture *f, int64_t id)
{
    struct subscription *subs;
    size_t n;

    assert_int_equal(RC_OK, reader_subs(f->reader, &id, 1, &f->arena, &subs, &n, NULL));
    return n == 0 ? NULL : subs;
}

static struct feed *read_feed(struct fixture *f, int64_t id)
{
    struct feed *feed;
    size_t n;

    assert_int_equal(RC_OK, reader_feeds(f->reader, &id, 1, &f->arena, &feed, &n, NULL));
    assert_int_equal(1, n);
    return feed;
}

/* Who adds a feed, and who subscribes to it in the same transaction, get the same feed. With
 * another credential it is another one. */
static void test_made_together__the_same_feed(void **state)
{
    struct fixture *f = *state;
    struct feed_ref refs[] = {
        {.url = STR("http://a.example/"), .shown_url = STR("http://A.example")},
        {.url = STR("http://a.example/"), .shown_url = STR("a.example")},
        {.url = STR("http://b.example/")}};
    int64_t commits;
    struct answer at, a[4];
    const struct subscription *sub;

    store_listen(f->store, wait_at_gate, NULL);
    close_gate(f, &at);
    commits = stats_get(STAT_store_commits_total);
    push_add(f, "http://a.example/", NULL, &a[0]);
    push_subscribe(f, refs, 3, 2, &a[1]);
    push_add(f, "http://b.example/", "", &a[2]);
    push_add(f, "http://a.example/", "user:password", &a[3]);
    open_gate(&at);
    wait_all(a, 4);
    assert_int_equal(1, stats_get(STAT_store_commits_total) - commits);
    sub = read_sub(f, a[1].res.id);
    assert_int_equal(2, sub->n_feeds);
    assert_int_equal(a[0].res.id, sub->feeds[0].feed_id);
    assert_true(str_eqz(sub->feeds[0].url, "http://A.example")); /* the first spelling */
    assert_int_equal(a[2].res.id, sub->feeds[1].feed_id);
    assert_true(a[3].res.id != a[0].res.id);
    assert_int_equal(1, read_feed(f, a[0].res.id)->n_subscriptions);
    assert_int_equal(2, read_feed(f, a[0].res.id)->level);
    assert_int_equal(0, read_feed(f, a[3].res.id)->n_subscriptions);
    assert_false(str_is_null(store_access_key(f->store, a[3].res.id, &f->arena)));
}

/* A feed moves; a feed that is added at its old URL in the same transaction is that feed. */
static void test_made_together__where_a_feed_was(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct entry_change c = change(f, "1", "one", 1);
    struct poll_outcome o = outcome(id, &c, 1);
    struct answer at, a[4];

    o.check.url = STR("http://new.example/");
    o.check.page_url = STR("http://page.example/");
    store_listen(f->store, wait_at_gate, NULL);
    close_gate(f, &at);
    push_add(f, "http://page.example/", NULL, &a[0]);
    a[1] = answer_init(1);
    assert_int_equal(RC_OK, store_poll_outcome(f->store, &o, 0, on_answer, &a[1]));
    push_add(f, "http://a.example/", NULL, &a[2]);
    push_add(f, "http://new.example/", NULL, &a[3]);
    open_gate(&at);
    wait_all(a, 4);
    assert_int_equal(RC_OK, a[1].rc);
    assert_true(a[0].res.id != id); /* it was not the page of a feed yet */
    assert_int_equal(id, a[2].res.id);
    assert_int_equal(id, a[3].res.id);
    o.check.url = STR_NULL;
    o.check.page_url = STR("http://other.example/");
    close_gate(f, &at);
    a[0] = answer_init(1);
    assert_int_equal(RC_OK, store_poll_outcome(f->store, &o, 0, on_answer, &a[0]));
    push_add(f, "http://other.example/", NULL, &a[1]);
    open_gate(&at);
    wait_all(a, 2);
    assert_int_equal(id, a[1].res.id);
}

/* A subscription is made, changed and ended in one transaction. Its id is not given out again, not
 * after a restart either. */
static void test_made_together__a_short_life(void **state)
{
    struct fixture *f = *state;
    struct feed_ref ref = {.url = STR("http://a.example/")};
    struct sub_change rename = {.name = STR("mine"), .level = LEVEL_KEEP};
    int64_t commits, id;
    struct answer at, a[3];

    push_subscribe(f, &ref, 1, 1, &at);
    answer_wait(&at);
    id = rename.sub_id = at.res.id + 1; /* the next one */
    store_listen(f->store, wait_at_gate, NULL);
    close_gate(f, &at);
    commits = stats_get(STAT_store_commits_total);
    push_subscribe(f, &ref, 1, 2, &a[0]);
    a[1] = a[2] = answer_init(1);
    assert_int_equal(RC_OK, store_change_sub(f->store, &rename, on_answer, &a[1]));
    assert_int_equal(RC_OK, store_unsubscribe(f->store, id, NULL, 0, on_answer, &a[2]));
    open_gate(&at);
    wait_all(a, 3);
    assert_int_equal(1, stats_get(STAT_store_commits_total) - commits);
    assert_int_equal(id, a[0].res.id);
    assert_int_equal(RC_OK, a[1].rc);
    assert_int_equal(RC_OK, a[2].rc);
    assert_int_equal(1, a[2].res.n_deleted);
    assert_null(read_sub(f, id));
    assert_int_equal(1, read_feed(f, read_sub(f, id - 1)->feeds[0].feed_id)->n_subscriptions);
    fixture_close(f);
    fixture_open(f);
    push_subscribe(f, &ref, 1, 1, &at);
    answer_wait(&at);
    assert_int_equal(id + 1, at.res.id);
}

/* An operation that fails makes nothing, and takes no id from the others. */
static void test_made_together__one_fails(void **state)
{
    struct fixture *f = *state;
    struct feed_ref good = {.url = STR("http://a.example/")},
                    bad = {.url = STR("http://b.example/")};
    struct feed_brief b;
    struct answer at, a[3];

    store_listen(f->store, wait_at_gate, NULL);
    close_gate(f, &at);
    push_subscribe(f, &good, 1, 1, &a[0]);
    push_subscribe(f, &bad, 1, 9, &a[1]);
    push_subscribe(f, &good, 1, 1, &a[2]);
    open_gate(&at);
    wait_all(a, 3);
    assert_int_equal(RC_OK, a[0].rc);
    assert_int_equal(RC_INPUT, a[1].rc);
    assert_int_equal(a[0].res.id + 1, a[2].res.id);
    assert_false(store_find_feed(f->store, bad.url, STR_NULL, &b));
}

/* The database refuses one subscription: nothing of it is there, and the others are. */
static void test_made_together__one_is_refused(void **state)
{
    struct fixture *f = *state;
    struct feed_ref good = {.url = STR("http://a.example/")},
                    bad = {.url = STR("http://b.example/")};
    struct feed_brief b;
    struct answer at, a[3];

    ONLY_ON_SQLITE();
    store_listen(f->store, wait_at_gate, NULL);
    close_gate(f, &at);
    assert_int_equal(SQLITE_OK,
                     sqlite3_exec(db_handle(storer_db(f->store->storer)),
                                  "CREATE TEMP TRIGGER refuse BEFORE INSERT ON sub_feeds WHEN"
                                  " new.url = 'http://b.example/' BEGIN SELECT raise(ABORT, 'no');"
                                  " END",
                                  NULL, NULL, NULL));
    push_subscribe(f, &good, 1, 1, &a[0]);
    push_subscribe(f, &bad, 1, 1, &a[1]);
    push_subscribe(f, &good, 1, 1, &a[2]);
    open_gate(&at);
    wait_all(a, 3);
    assert_int_equal(RC_OK, a[0].rc);
    assert_int_equal(RC_IO, a[1].rc);
    assert_int_equal(RC_OK, a[2].rc);
    assert_false(store_find_feed(f->store, bad.url, STR_NULL, &b));
    assert_int_equal(2, read_feed(f, read_sub(f, a[2].res.id)->feeds[0].feed_id)->n_subscriptions);
}

/* What the last row of all had is not given to a new one. */
static void test_made_together__ids_are_not_used_again(void **state)
{
    struct fixture *f = *state;
    struct feed_ref ref = {.url = STR("http://a.example/")};
    int64_t first = add_feed(f, "http://a.example/", NULL), second, sub, id;
    struct entry_change c = change(f, "1", "one", 1);
    struct poll_outcome o;
    struct answer a;

    second = add_feed(f, "http://b.example/", NULL);
    o = outcome(second, &c, 1);
    o.check.url = ref.url; /* so it becomes a part of the first one */
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(first, a.res.id);
    push_subscribe(f, &ref, 1, 1, &a);
    answer_wait(&a);
    sub = a.res.id;
    WRITE(a, store_unsubscribe(f->store, sub, NULL, 0, on_answer, &a));
    for (int i = 0; i < 2; i++) {
        id = add_feed(f, arena_printf(&f->arena, "http://%d.example/", i), NULL);
        assert_true(id > second);
        second = id;
        push_subscribe(f, &ref, 1, 1, &a);
        answer_wait(&a);
        assert_true(a.res.id > sub);
        sub = a.res.id;
        fixture_close(f);
        fixture_open(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_made_together__the_same_feed, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_made_together__where_a_feed_was, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_made_together__a_short_life, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_made_together__one_fails, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_made_together__one_is_refused, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_made_together__ids_are_not_used_again, fixture_setup,
                                        fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
