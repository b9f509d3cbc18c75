/* tests/unit/storage/test_retain.c - retention on a store (KEEP-01, KEEP-03, KEEP-04, D58): what
 * goes, what is noted of it, and that it does not come back as new. */
#include "fixture.h"
#include "model/shown.h"
#include "tests/unit/cmocka_all.h"

/* A document with these entries, of which each is its own text, shows just them. */
static struct answer show(struct fixture *f, int64_t id, const char *const *uids, size_t n,
                          const char *text)
{
    struct entry_change *c = ARENA_ARRAY(&f->arena, struct entry_change, n + 1);
    struct buf shown = BUF_INIT(BUF_ANY);
    struct poll_outcome o;
    struct answer a;

    for (size_t i = 0; i < n; i++) {
        c[i] = change(f, uids[i], arena_printf(&f->arena, "%s%s", uids[i], text), 100 + uids[i][0]);
        shown_add(&shown, str_from(uids[i]));
    }
    o = outcome(id, c, n);
    o.shown = str_dup(&f->arena, buf_view(&shown));
    buf_release(&shown);
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    return a;
}

/* Take all that may go. Returns how many revisions went. */
static int64_t sweep(struct fixture *f, int64_t id, int64_t limit)
{
    int64_t n = 0, after = 0;
    struct answer a;

    do {
        WRITE(a, store_retain(f->store, id, after, limit, 15000, on_answer, &a));
        assert_int_equal(RC_OK, a.rc);
        n += a.res.n_deleted;
        after = a.res.n_deleted > 0 ? 0 : a.res.last_seq;
    } while (a.res.has_more);
    return n;
}

static struct history_end end_of(struct fixture *f, int64_t id)
{
    struct history_end end;

    assert_int_equal(RC_OK, reader_history_end(f->reader, &id, 1, false, &end, NULL));
    return end;
}

/* A store that notes what documents show. */
static int setup(void **state)
{
    int rc = fixture_setup(state);
    struct fixture *f = *state;

    fixture_close(f);
    f->keep_s = 1;
    fixture_open(f);
    return rc;
}

static const char *const abc[] = {"a", "b", "c"}, *const de[] = {"d", "e"};

static void test_retain__old_entries_go(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL), total;
    struct view newest = view_of(VIEW_NEWEST, &id, 1), log = view_of(VIEW_LOG, &id, 1);

    show(f, id, abc, 3, "");
    show(f, id, de, 2, "");
    assert_int_equal(0, end_of(f, id).seq);
    assert_int_equal(2, sweep(f, id, 2)); /* 3 is too young */
    assert_int_equal(2, end_of(f, id).seq);
    assert_int_equal(1, sweep(f, id, 5)); /* 4 and 5 are shown */
    assert_int_equal(3, end_of(f, id).seq);
    assert_true(end_of(f, id).at_us > 0);
    assert_string_equal("e d", view_titles(f, &newest));
    assert_string_equal("d e", view_titles(f, &log));
    assert_int_equal(RC_OK, reader_count(f->reader, &id, 1, true, &total, NULL));
    assert_int_equal(2, total);
    assert_int_equal(0, sweep(f, id, 5));
}

/* The newest number of a feed stays when retention takes its revision, also over a restart: an ETag has it (ETIQ-12). */
static void test_retain__the_last_number_stays(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);

    show(f, id, abc, 3, "");
    assert_int_equal(3, store_seq_of(f->store, &id, 1));
    show(f, id, NULL, 0, "");
    assert_int_equal(3, sweep(f, id, 3));
    assert_int_equal(3, end_of(f, id).seq);
    assert_int_equal(3, store_seq_of(f->store, &id, 1));
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(3, store_seq_of(f->store, &id, 1));
    show(f, id, de, 1, "");
    assert_int_equal(4, store_seq_of(f->store, &id, 1));
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(4, store_seq_of(f->store, &id, 1));
}

static void test_retain__what_is_gone_is_not_new(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL), total;
    struct view log = view_of(VIEW_LOG, &id, 1), created = view_of(VIEW_CREATED, &id, 1);
    struct answer a;

    show(f, id, abc, 3, "");
    show(f, id, de, 2, "");
    assert_int_equal(3, sweep(f, id, 5));
    a = show(f, id, abc, 3, "");
    assert_int_equal(0, a.res.n_new + a.res.n_changed);
    assert_string_equal("d e", view_titles(f, &log));
    assert_int_equal(2, sweep(f, id, 5)); /* these are not shown any more */
    a = show(f, id, abc, 1, "2");
    assert_int_equal(0, a.res.n_new);
    assert_int_equal(1, a.res.n_changed);
    assert_string_equal("a2", view_titles(f, &log));
    assert_string_equal("a2", view_titles(f, &created));
    assert_int_equal(RC_OK, reader_count(f->reader, &id, 1, true, &total, NULL));
    assert_int_equal(1, total);
}

/* A step ends when its time is over, however much there is to be taken; the next one goes on there.
 * KEEP-03 */
static void test_retain__a_step_has_little_time(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    const char *uids[100];
    struct answer a;

    for (int i = 0; i < 100; i++)
        uids[i] = arena_printf(&f->arena, "u%d", i);
    show(f, id, uids, 100, "");
    show(f, id, de, 2, "");
    WRITE(a, store_retain(f->store, id, 0, 102, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    assert_true(a.res.has_more);
    assert_int_equal(16, a.res.n_deleted);
    assert_int_equal(16, a.res.last_seq);
    assert_int_equal(16, end_of(f, id).seq);
    WRITE(a, store_retain(f->store, id, 16, 102, 3600 * INT64_C(1000000), on_answer, &a));
    assert_int_equal(84, a.res.n_deleted);
    assert_int_equal(0, a.res.last_seq);
    assert_int_equal(0, sweep(f, id, 102));
}

static void test_retain__what_is_shown_is_not_known(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct entry_change c = change(f, "a", "a", 100);
    struct view log = view_of(VIEW_LOG, &id, 1);

    store_changes(f, id, &c, 1);
    c = change(f, "a", "a2", 100);
    store_changes(f, id, &c, 1);
    c = change(f, "a", "a3", 100);
    store_changes(f, id, &c, 1);
    assert_int_equal(1, sweep(f, id, 3));
    assert_string_equal("a a3", view_titles(f, &log));
    assert_int_equal(2, end_of(f, id).seq);
}

static void test_retain__what_a_subscription_was_not_given_stays(void **state)
{
    struct fixture *f = *state;
    struct sub_request req = {
        .sink = STR("xmlrpc"),
        .endpoint = STR("http://e.example/"),
        .feeds = &(struct feed_ref){.url = STR("http://a.example/"), .credential = STR_NULL},
        .n_feeds = 1,
        .level = LEVEL_KEEP};
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct answer a;

    show(f, id, abc, 3, "");
    WRITE(a, store_subscribe(f->store, &req, on_answer, &a)); /* it has everything up to here */
    assert_int_equal(RC_OK, a.rc);
    show(f, id, de, 2, "");
    show(f, id, abc, 0, "");
    assert_int_equal(3, sweep(f, id, 5));
    assert_int_equal(3, end_of(f, id).seq);
}

/* Two feeds of which one becomes part of the other. What that one still has of an entry stays, also
 * if retention has taken all that the other one had of it. D58 KEEP-02 */
static void test_retain__a_merger_loses_nothing(void **state)
{
    struct fixture *f = *state;
    int64_t old = add_feed(f, "http://old.example/", NULL), id, total;
    struct view log = view_of(VIEW_LOG, &id, 1), newest = view_of(VIEW_NEWEST, &id, 1);
    struct entry_change c[] = {change(f, "x", "x", 300)};
    struct poll_outcome o;
    struct answer a;

    id = add_feed(f, "http://new.example/", NULL);
    show(f, id, abc, 3, "");
    show(f, id, de, 2, "");
    assert_int_equal(3, sweep(f, id, 5));
    show(f, old, abc, 2, ""); /* it has a and b still */
    show(f, old, de, 1, "");
    o = outcome(old, c, 1);
    o.check.url = STR("http://new.example/");
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    assert_int_equal(id, a.res.id);
    assert_string_equal("d e a b x", view_titles(f, &log));
    assert_string_equal("x e d b a", view_titles(f, &newest));
    assert_int_equal(RC_OK, reader_count(f->reader, &id, 1, true, &total, NULL));
    assert_int_equal(5, total); /* without c, which nobody has any more */
    assert_int_equal(3, end_of(f, id).seq);
    a = show(f, id, abc, 3, "");
    assert_int_equal(0, a.res.n_new + a.res.n_changed);
}

/* The feed shows this one entry, which is told by its marks. */
static void show_marked(struct fixture *f, int64_t id, const char *uid)
{
    struct entry_change c = change(f, uid, uid, 100);
    struct buf shown = BUF_INIT(BUF_ANY);
    struct poll_outcome o;
    struct answer a;

    c.marks = (struct entry_marks){.guid = 77, .guid_strong = 77, .guid_weak = 77, .title = 5};
    shown_add(&shown, str_from(uid));
    o = outcome(id, &c, 1);
    o.shown = str_dup(&f->arena, buf_view(&shown));
    buf_release(&shown);
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
}

/* Of an entry of the other feed, this one has a live twin and one that retention has taken. The
 * live one is the entry then, and who the other one was stays known. KEEP-04 */
static void test_retain__a_merger_finds_a_live_and_a_gone_twin(void **state)
{
    struct fixture *f = *state;
    int64_t old = add_feed(f, "http://old.example/", NULL), id;
    struct view log = view_of(VIEW_LOG, &id, 1);
    struct entry_change x = change(f, "x", "x", 300);
    static const char *const p[] = {"p"};
    struct poll_outcome o;
    struct answer a;

    id = add_feed(f, "http://new.example/", NULL);
    show_marked(f, id, "p");
    show_marked(f, id, "q");
    assert_int_equal(1, sweep(f, id, 1));
    show_marked(f, old, "y");
    o = outcome(old, &x, 1);
    o.check.url = STR("http://new.example/");
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    assert_int_equal(id, a.res.id);
    assert_string_equal("q x", view_titles(f, &log));
    a = show(f, id, p, 1, "");
    assert_int_equal(0, a.res.n_new);
}

#define DAY_US INT64_C(86400000000)

/* KEEP-04 */
static void test_retain__who_it_was_is_forgotten_at_last(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL), ids[4], now = clock_now_us();
    struct answer a;
    size_t n;

    show(f, id, abc, 3, "");
    show(f, id, de, 2, "");
    assert_int_equal(3, sweep(f, id, 5));
    assert_int_equal(RC_OK,
                     reader_gone_feeds(f->reader, 0, now / 1000000 - 86400, 4, ids, &n, NULL));
    assert_int_equal(0, n);
    clock_fake_us(now + 20 * DAY_US);
    show(f, id, abc, 1, ""); /* a is shown again, for a while */
    WRITE(a, store_end_entries(f->store, id, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    assert_int_equal(0, a.res.n_deleted);
    show(f, id, de, 2, "");
    clock_fake_us(now + 32 * DAY_US);
    assert_int_equal(RC_OK,
                     reader_gone_feeds(f->reader, 0, clock_now_s() - 86400, 4, ids, &n, NULL));
    assert_int_equal(1, n);
    WRITE(a, store_end_entries(f->store, id, on_answer, &a));
    assert_int_equal(2, a.res.n_deleted); /* b and c */
    a = show(f, id, abc, 3, "");
    assert_int_equal(2, a.res.n_new);
}

/* A file that has lost most of its rows gets smaller; nothing is free on PostgreSQL. KEEP-03 */
static void test_retain__space_is_given_back(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL), before, after;
    char *text = arena_alloc(&f->arena, 1 << 20);
    struct answer a;

    memset(text, 'x', (1 << 20) - 1);
    text[(1 << 20) - 1] = '\0';
    show(f, id, abc, 3, text);
    show(f, id, de, 2, "");
    assert_int_equal(RC_OK, reader_free_bytes(f->reader, &before, NULL));
    assert_int_equal(3, sweep(f, id, 5));
    assert_int_equal(RC_OK, reader_free_bytes(f->reader, &after, NULL));
    WRITE(a, store_give_back(f->store, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    if (on_postgresql()) {
        assert_int_equal(0, after + a.res.n_deleted);
        return;
    }
    assert_true(after >= before + (2 << 20));
    assert_true(a.res.n_deleted > 0);
    assert_int_equal(RC_OK, reader_free_bytes(f->reader, &before, NULL));
    assert_true(before < after);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_retain__##name, setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(old_entries_go),
        T(the_last_number_stays),
        T(what_is_gone_is_not_new),
        T(a_step_has_little_time),
        T(what_is_shown_is_not_known),
        T(what_a_subscription_was_not_given_stays),
        T(a_merger_loses_nothing),
        T(a_merger_finds_a_live_and_a_gone_twin),
        T(who_it_was_is_forgotten_at_last),
        T(space_is_given_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
