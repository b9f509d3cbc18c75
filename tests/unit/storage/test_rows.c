/* tests/unit/storage/test_rows.c - the rows of a transaction in memory: undo, operations of one
 * transaction that see each other, and what an operation says that it will look at. */
#include "gate.h"
#include "random_ops.h"
#include "tests/unit/cmocka_all.h"

#include <sqlite3.h>

#include "base/buf.h"
#include "base/stats.h"
#include "storage/rows_past.h"
#include "storage/rows_places.h"
#include "storage/rows_subs.h"
#include "storage/rows_upstreams.h"
#include "storage/sqlite/stmt.h"
#include "storage/wants.h"

/* ---- rows in memory -------------------------------------------------------------------------- */

static void test_rows__undo_restores_what_was_there(void **state UNUSED)
{
    struct rows r = {.generation = 0};
    struct held_entry *known = rows_add_entry(&r, 7, STR("known")), *new;
    struct revision first = {.seq = 11, .updated_at = 100, .doc = STR("one")};
    struct revision second = {.seq = 12, .updated_at = 200, .doc = STR("two")};
    struct feed_row feed;
    struct rows_mark mark;

    digest_init();
    rows_add_feed(&r, 7)->row.feed.title = STR("before");
    rows_mark(&r); /* the first operation */
    rows_touch(&r, ROW_ENTRY, known);
    known->row.seq = 11;
    rows_append(&r, known, &first);
    mark = rows_mark(&r); /* the second one */
    rows_touch(&r, ROW_ENTRY, known);
    known->row.seq = 12;
    known->has_new_overlay = true;
    rows_append(&r, known, &second);
    new = rows_add_entry(&r, 7, STR("new"));
    rows_touch(&r, ROW_ENTRY, new);
    new->row.seq = 13;
    feed = rows_feed(&r, 7)->row;
    feed.feed.title = STR("after");
    rows_save_feed(&r, &feed);
    rows_add_head(&r, 12, &feed.feed);
    rows_add_event(&r, &(struct feed_event){.seq = 14});
    rows_add_upstream(&r, &(struct held_upstream){.feed_id = 7});
    rows_undo(&r, mark);

    assert_int_equal(11, known->row.seq);
    assert_int_equal(100, known->shown_at);
    assert_true(known->held.is_touched);
    assert_false(known->has_new_overlay);
    assert_int_equal(1, r.shelves[ROW_ENTRY].n_touched);
    assert_int_equal(1, r.n_revisions);
    assert_int_equal(0, r.shelves[ROW_FEED].n_touched);
    assert_int_equal(0, r.n_heads + r.n_events + r.n_upstreams);
    assert_ptr_equal(new, rows_entry(&r, 7, STR("new"))); /* it is still known: there is none */
    assert_int_equal(0, new->row.seq);
    assert_true(str_eqz(rows_feed(&r, 7)->row.feed.title, "before"));
    rows_release(&r);
}

static void test_rows__what_was_written_is_clean(void **state UNUSED)
{
    struct rows r = {.generation = 0};
    struct held_entry *e;
    struct rows_mark mark;

    digest_init();
    e = rows_add_entry(&r, 1, STR("a"));
    assert_null(rows_entry(&r, 2, STR("a")));
    assert_false(rows_is_dirty(&r));
    mark = rows_mark(&r);
    rows_touch(&r, ROW_ENTRY, e);
    rows_touch(&r, ROW_ENTRY, e);
    e->row.seq = 5;
    assert_int_equal(1, r.shelves[ROW_ENTRY].n_touched);
    assert_true(rows_is_dirty(&r));
    rows_written(&r);
    assert_false(rows_is_dirty(&r));
    assert_int_equal(5, e->was_seq);
    mark = rows_mark(&r);
    rows_touch(&r, ROW_ENTRY, e);
    e->row.seq = 6;
    rows_undo(&r, mark);
    assert_int_equal(5, e->row.seq);
    assert_false(rows_is_dirty(&r));
    rows_forget(&r);
    assert_null(rows_entry(&r, 1, STR("a")));
    rows_release(&r);
}

/* A subscription gets dead letters: what is undone is gone, what was written is stored. */
static void test_rows__undo_of_dead_letters(void **state UNUSED)
{
    struct rows r = {.generation = 0};
    struct held_sub *sub = rows_add_sub(&r, 3);
    struct dead_letter five = {.at = {5, 50}, .uid = STR("five"), .answer = STR("no")};
    struct dead_letter six = {.at = {6, 60}, .uid = STR("six"), .answer = STR("no")};
    struct delivery_note note = {.status = 400};
    struct rows_mark mark;

    digest_init();
    sub->held.exists = sub->held.is_stored = sub->has_dead = true;
    rows_mark(&r);
    rows_change(&r, ROW_SUB, sub, SUB_WRITES_PROGRESS);
    rows_dead_add(&r, sub, &five);
    rows_add_note(&r, sub, &note);
    mark = rows_mark(&r);
    rows_change(&r, ROW_SUB, sub, SUB_WRITES_PROGRESS);
    rows_dead_add(&r, sub, &six);
    rows_dead_delivered(&r, sub, 1, 5);
    rows_add_note(&r, sub, &note);
    assert_int_equal(1, rows_dead_want(&r, sub, 0));
    rows_undo(&r, mark);

    assert_int_equal(1, sub->row.n_calls);
    assert_int_equal(1, r.shelves[ROW_NOTE].n_touched);
    assert_int_equal(1, sub->n_dead);
    assert_true(sub->dead[0]->held.exists && !sub->dead[0]->row.wanted);
    rows_written(&r);
    assert_true(sub->dead[0]->held.is_stored && !rows_is_dirty(&r));
    mark = rows_mark(&r);
    assert_int_equal(1, rows_dead_drop(&r, sub, 0));
    assert_int_equal(0, rows_dead_drop(&r, sub, 0));
    assert_true(rows_is_dirty(&r));
    rows_undo(&r, mark);
    assert_true(sub->dead[0]->held.exists && !rows_is_dirty(&r));
    rows_release(&r);
}

/* A subscription that ends takes its feeds along, and these have one subscription less. */
static void test_rows__undo_of_an_end(void **state UNUSED)
{
    struct rows r = {.generation = 0};
    struct held_sub *sub = rows_add_sub(&r, 3);
    struct held_sub_feed *first, *second;
    struct rows_mark mark;

    digest_init();
    sub->held.exists = sub->held.is_stored = sub->has_feeds = true;
    first = rows_add_sub_feed(&r, sub, 7);
    second = rows_add_sub_feed(&r, sub, 8);
    first->held.exists = second->held.exists = true;
    rows_add_feed(&r, 7)->row.feed.n_subscriptions = 1;
    rows_add_feed(&r, 8)->row.feed.n_subscriptions = 5;
    rows_mark(&r);
    rows_rename_feeds(&r, sub, STR("name"), STR_NULL);
    mark = rows_mark(&r);
    rows_drop_sub_feed(&r, first);
    assert_null(rows_sub_feed(&r, 3, 7));
    assert_int_equal(1, rows_count_feeds(sub));
    rows_end_sub(&r, sub);
    assert_false(sub->held.exists);
    assert_false(second->held.exists); /* its new name is not written */
    assert_int_equal(0, rows_feed(&r, 7)->row.feed.n_subscriptions);
    assert_int_equal(4, rows_feed(&r, 8)->row.feed.n_subscriptions);
    rows_undo(&r, mark);

    assert_true(sub->held.exists && rows_sub_feed(&r, 3, 7) == first);
    assert_int_equal(2, rows_count_feeds(sub));
    assert_true(str_eqz(second->row.name, "name"));
    assert_int_equal(1, rows_feed(&r, 7)->row.feed.n_subscriptions);
    assert_int_equal(0, r.shelves[ROW_SUB].n_touched + r.shelves[ROW_FEED].n_touched);
    rows_release(&r);
}

/* A feed that is taken out and comes back in one transaction stands once among those of the subscription, so it counts once. */
static void test_rows__a_feed_that_comes_back(void **state UNUSED)
{
    struct rows r = {.generation = 0};
    struct held_sub *sub = rows_add_sub(&r, 3);
    struct sub_feed again = {.feed_id = 7, .url = STR("http://a.example/")};
    struct held_sub_feed *feed;

    digest_init();
    sub->held.exists = sub->held.is_stored = sub->has_feeds = true;
    feed = rows_add_sub_feed(&r, sub, 7);
    feed->held.exists = feed->held.is_stored = true;
    rows_add_feed(&r, 7)->row.feed.n_subscriptions = 1;
    rows_mark(&r);
    rows_change(&r, ROW_SUB, sub, SUB_WRITES_PROGRESS);
    rows_drop_sub_feed(&r, feed);
    assert_int_equal(0, rows_next_place(sub));
    rows_join_feed(&r, sub, 4, &again);

    assert_true(rows_sub_feed(&r, 3, 7) == feed);
    assert_int_equal(1, rows_count_feeds(sub));
    assert_int_equal(5, rows_next_place(sub));
    assert_int_equal(1, rows_feed(&r, 7)->row.feed.n_subscriptions);
    rows_release(&r);
}

static struct held_upstream_row *add_upstream(struct rows *r, const char *token, bool exists)
{
    struct held_upstream_row *u = rows_add_upstream_row(r, str_from(token));

    u->held.exists = u->held.is_stored = exists;
    u->row = (struct upstream){.token = str_from(token),
                               .hub = str_from(token),
                               .feed_id = 7,
                               .is_current = exists,
                               .trust = exists ? 5 : 0,
                               .delivered_at = exists ? 50 : TIME_UNKNOWN};
    return u;
}

/* One takes the place of another; the row of the feed shows it at once, and what is delivered goes
 * to it. All of this can be taken back. */
static void test_rows__upstreams_of_a_feed(void **state UNUSED)
{
    struct rows r = {.generation = 0};
    struct held_upstream_row *old, *new;
    struct upstream u = {.token = STR("new"), .hub = STR("h"), .feed_id = 7, .is_current = true};
    struct upstream kept;
    const struct upstream *shown;
    struct rows_mark mark;

    digest_init();
    old = add_upstream(&r, "old", true);
    new = add_upstream(&r, "new", false);
    kept = old->row;
    shown = &rows_add_feed(&r, 7)->row.feed.upstream;
    rows_feed(&r, 7)->row.feed.upstream = old->row;
    rows_mark(&r);
    kept.n_errors = 3;
    kept.trust = 0; /* not known to those who store it */
    rows_put_upstream(&r, &kept);
    assert_int_equal(3, shown->n_errors);
    assert_int_equal(5, shown->trust);
    mark = rows_mark(&r);
    rows_put_upstream(&r, &u);
    assert_false(old->row.is_current);
    assert_true(new->row.is_current &&new->held.exists &&str_eqz(shown->hub, "h"));
    rows_add_upstream(&r, &(struct held_upstream){.feed_id = 7, .delivered_at = 90});
    assert_int_equal(90, new->row.delivered_at);
    assert_int_equal(TRUST_FULL, new->row.trust);
    assert_int_equal(UPSTREAM_WRITES_TRUST | UPSTREAM_TAKES_CURRENT, new->held.changes);
    assert_int_equal(50, old->row.delivered_at);
    assert_int_equal(0, r.n_upstreams);
    rows_drop_upstream(&r, STR("new"));
    assert_true(str_is_null(shown->hub));
    rows_undo(&r, mark);

    assert_true(old->row.is_current && !new->held.exists);
    assert_true(str_eqz(shown->hub, "old"));
    assert_int_equal(3, shown->n_errors);
    assert_int_equal(1, r.shelves[ROW_UPSTREAM].n_touched);
    rows_release(&r);
}

/* ---- the past and places in memory ----------------------------------------------------------- */

static struct held_archive *add_archive(struct rows *r, const char *url)
{
    return rows_add_archive(r, 7, str_from(url));
}

static void test_rows__the_past_of_a_feed(void **state UNUSED)
{
    struct rows r = {.generation = 0};
    struct held_past *p;
    struct held_archive *one, *two;
    struct rows_mark mark;

    digest_init();
    p = rows_add_past(&r, 7);
    p->loaded->counts = p->loaded->n_graves = true;
    p->n_archives = p->last_read = 4; /* four were read before */
    one = add_archive(&r, "1");
    two = add_archive(&r, "2");
    rows_add_grave(&r, 7, STR("gone"))->when_us = TIME_UNKNOWN;
    assert_false(past_is_pending(&r, 7, STR_NULL));
    rows_mark(&r); /* the first operation */
    past_want(&r, 7, STR("1"), 0);
    past_want(&r, 7, STR("1"), 0);
    past_want(&r, 7, STR("2"), 0);
    assert_true(past_is_pending(&r, 7, STR("1")) && !past_was_read(&r, 7, STR("1"), -1));
    past_bury(&r, 7, STR("gone"), 50);
    past_bury(&r, 7, STR("gone"), 40);
    assert_int_equal(6, p->n_archives);
    assert_int_equal(5, one->row.order);
    assert_ptr_equal(two, past_next(&r, 7, 1000));
    past_failed(&r, two, 1001, false);
    assert_ptr_equal(one, past_next(&r, 7, 1000));
    mark = rows_mark(&r); /* the second one */
    past_read(&r, one);
    past_forget(&r, 7, INT64_MAX);
    past_drop_graves(&r, 7);
    assert_false(past_is_pending(&r, 7, STR_NULL));
    assert_int_equal(5, p->n_archives);
    assert_int_equal(0, p->n_graves);
    rows_undo(&r, mark);
    assert_int_equal(6, p->n_archives);
    assert_true(archive_is_open(one));
    assert_true(past_is_pending(&r, 7, STR_NULL) && !p->drops_graves);
    assert_int_equal(50, rows_grave(&r, 7, STR("gone"))->when_us);
    rows_release(&r);
}

static void test_rows__whose_a_url_is(void **state UNUSED)
{
    struct rows r = {.generation = 0};
    struct feed one = {.id = 1, .url = STR("http://1/")}, two = {.id = 2, .url = STR("http://2/")};
    struct held_place *p;
    struct rows_mark mark;

    digest_init();
    p = rows_add_place(&r, one.url, STR_NULL);
    p->owner = 1;
    rows_add_place(&r, two.url, STR_NULL)->owner = 2;
    rows_add_place(&r, STR("http://new/"), STR_NULL);
    rows_add_names(&r, 1);
    rows_add_names(&r, 2);
    assert_null(rows_place(&r, one.url, STR("user:word")));
    mark = rows_mark(&r);
    place_add_alias(&r, &two, one.url, 10); /* it is the own URL of a feed */
    assert_int_equal(0, p->alias_of);
    place_move(&r, &one, STR("http://new/"));
    one.url = STR("http://new/");
    place_add_alias(&r, &one, STR("http://1/"), 0); /* too many */
    assert_int_equal(0, p->alias_of);
    place_add_alias(&r, &one, STR("http://1/"), 10);
    assert_int_equal(1, p->alias_of);
    place_add_alias(&r, &two, STR("http://1/"), 10); /* it means this one from now on */
    assert_int_equal(2, p->alias_of);
    assert_int_equal(0, rows_names(&r, 1)->n);
    assert_int_equal(1, rows_names(&r, 2)->n);
    assert_int_equal(1, rows_place(&r, one.url, STR_NULL)->owner);
    rows_undo(&r, mark);
    assert_int_equal(1, p->owner);
    assert_int_equal(0, p->alias_of);
    rows_release(&r);
}

/* ---- wants ----------------------------------------------------------------------------------- */

static struct op poll_op(const struct poll_outcome *o)
{
    return (struct op){.kind = OP_POLL_OUTCOME, .as.poll = *o};
}

static void test_rows__wants_of_a_poll(void **state)
{
    struct fixture *f = *state;
    struct entry_change c[] = {change(f, "1", "one", 1), change(f, "2", "two", 2)};
    struct poll_outcome o = outcome(4, c, 2);
    int64_t ids[] = {5, 6};
    struct op with = poll_op(&o), without;
    struct op touch = {.kind = OP_TOUCH, .as.touch = {.ids = ids, .n = 2}};
    struct wants w = {.feeds = NULL};

    op_wants(&with, &w);
    assert_int_equal(1, w.n_feeds);
    assert_int_equal(4, w.feeds[0].id);
    assert_true(w.feeds[0].with_head);
    assert_int_equal(1, w.n_pasts);
    assert_int_equal(2, w.entries.n);
    assert_true(str_eqz(w.entries.at[1].text, "2"));
    wants_reset(&w);
    o.has_document = false;
    without = poll_op(&o);
    op_wants(&without, &w);
    op_wants(&touch, &w);
    assert_int_equal(3, w.n_feeds);
    assert_int_equal(6, w.feeds[2].id);
    assert_false(w.feeds[0].with_head);
    assert_int_equal(0, w.entries.n);
    wants_release(&w);
}

/* ---- operations of one transaction ----------------------------------------------------------- */

static void push(struct fixture *f, int64_t feed_id, const struct entry_change *c, size_t n,
                 struct answer *a)
{
    struct poll_outcome o = outcome(feed_id, c, n);

    *a = answer_init(1);
    assert_int_equal(RC_OK, store_poll_outcome(f->store, &o, 0, on_answer, a));
}

/* Two outcomes of one feed in one transaction: the second finds the entries and the row of the
 * first; one between them that fails leaves nothing. */
static void test_rows__operations_of_one_transaction(void **state)
{
    struct fixture *f = *state;
    struct entry_change one[] = {change(f, "1", "one", 1), change(f, "2", "two", 2)};
    struct entry_change two[] = {change(f, "1", "uno", 1), change(f, "3", "three", 3)};
    struct entry_change gone = change(f, "2", "two", 2);
    struct answer at, first, none, second, third;
    struct feed_brief before, after;
    int64_t id, commits;
    struct view v = view_of(VIEW_LOG, &id, 1);

    store_listen(f->store, wait_at_gate, NULL);
    id = add_feed(f, "http://a.example/", NULL);
    close_gate(f, &at);
    commits = stats_get(STAT_store_commits_total);
    store_brief(f->store, id, &before);
    gone.kind = REV_DELETED;
    push(f, id, one, 2, &first);
    push(f, id + 100, one, 2, &none);
    push(f, id, two, 2, &second);
    push(f, id, &gone, 1, &third);
    open_gate(&at);
    answer_wait(&first);
    answer_wait(&none);
    answer_wait(&second);
    answer_wait(&third);
    assert_int_equal(1, stats_get(STAT_store_commits_total) - commits);
    assert_int_equal(2, first.res.n_new);
    assert_int_equal(RC_NOT_FOUND, none.rc);
    assert_int_equal(0, none.res.n_new);
    assert_int_equal(1, second.res.n_new);
    assert_int_equal(1, second.res.n_changed);
    assert_int_equal(1, third.res.n_deleted);
    assert_int_equal(5, third.res.last_seq);
    assert_string_equal("one two uno three", view_titles(f, &v));
    v.order = VIEW_NEWEST;
    assert_string_equal("three uno", view_titles(f, &v));
    store_brief(f->store, id, &after);
    assert_true(after.fetched && after.version > before.version);
}

static void push_move(struct fixture *f, int64_t feed_id, const char *url, const struct str *alias,
                      struct answer *a)
{
    struct entry_change c = change(f, "1", "one", 1);
    struct poll_outcome o = outcome(feed_id, &c, 1);

    o.check.url = str_from(url);
    o.check.aliases = alias;
    o.check.n_aliases = alias != NULL;
    *a = answer_init(1);
    assert_int_equal(RC_OK, store_poll_outcome(f->store, &o, 0, on_answer, a));
}

static int64_t find(struct fixture *f, const char *url)
{
    struct feed_brief b = {.id = 0};

    return store_find_feed(f->store, str_from(url), STR_NULL, &b) ? b.id : 0;
}

/* Two feeds move to one URL in one transaction: the second becomes a part of the first. A URL that
 * a third one takes over is not the first one's any more. */
static void test_rows__feeds_that_move_in_one_transaction(void **state)
{
    struct fixture *f = *state;
    int64_t one = add_feed(f, "http://a.example/", NULL),
            two = add_feed(f, "http://b.example/", NULL),
            three = add_feed(f, "http://c.example/", NULL), commits;
    struct str alias = STR("http://a.example/");
    struct answer at, first, second, third;

    store_listen(f->store, wait_at_gate, NULL);
    close_gate(f, &at);
    commits = stats_get(STAT_store_commits_total);
    push_move(f, one, "http://new.example/", NULL, &first);
    push_move(f, two, "http://new.example/", NULL, &second);
    push_move(f, three, "http://c.example/", &alias, &third);
    open_gate(&at);
    answer_wait(&first);
    answer_wait(&second);
    answer_wait(&third);
    if (!on_postgresql()) /* there, feeds become one in a transaction of their own */
        assert_int_equal(1, stats_get(STAT_store_commits_total) - commits);
    assert_int_equal(one, second.res.id);
    for (int i = 0; i < 2; i++) { /* without a query, and from the database */
        assert_int_equal(one, find(f, "http://new.example/"));
        assert_int_equal(one, find(f, "http://b.example/"));
        assert_int_equal(three, find(f, "http://a.example/"));
        fixture_close(f);
        fixture_open(f);
    }
}

/* A subscription is renamed and ends in one transaction: its feeds are told, and keep nothing of
 * it. */
static void test_rows__renamed_and_ended_in_one_transaction(void **state)
{
    struct fixture *f = *state;
    struct sub_change rename = {.name = STR("mine"), .level = LEVEL_KEEP};
    struct feed_ref ref = {.url = STR("http://a.example/")};
    struct sub_request req = {.feeds = &ref, .n_feeds = 1, .level = 2};
    int64_t id = add_feed(f, "http://a.example/", NULL), commits;
    struct answer at, renamed, ended;
    struct feed_brief b;
    struct feed *feed;
    size_t n;

    WRITE(at, store_subscribe(f->store, &req, on_answer, &at));
    rename.sub_id = at.res.id;
    store_listen(f->store, wait_at_gate, NULL);
    close_gate(f, &at);
    commits = stats_get(STAT_store_commits_total);
    renamed = ended = answer_init(1);
    assert_int_equal(RC_OK, store_change_sub(f->store, &rename, on_answer, &renamed));
    assert_int_equal(RC_OK, store_unsubscribe(f->store, rename.sub_id, NULL, 0, on_answer, &ended));
    open_gate(&at);
    answer_wait(&renamed);
    answer_wait(&ended);
    assert_int_equal(1, stats_get(STAT_store_commits_total) - commits);
    assert_int_equal(RC_OK, ended.rc);
    assert_true(store_brief(f->store, id, &b));
    assert_int_equal(0, b.n_subscriptions);
    assert_int_equal(RC_OK, reader_feeds(f->reader, &id, 1, &f->arena, &feed, &n, NULL));
    assert_int_equal(1, feed->level);
    assert_int_equal(0, feed->n_subscriptions);
}

/* The database refuses entries with the uid "bad". */
static void refuse_bad(struct fixture *f)
{
    assert_int_equal(SQLITE_OK, sqlite3_exec(db_handle(storer_db(f->store->storer)),
                                             "CREATE TEMP TRIGGER refuse BEFORE INSERT ON entries"
                                             " WHEN new.uid = 'bad' BEGIN"
                                             " SELECT raise(ABORT, 'refused'); END",
                                             NULL, NULL, NULL));
}

/* A transaction that the database refuses is carried out again, one operation at a time: only the
 * bad one fails. */
static void test_rows__a_bad_operation_fails_alone(void **state)
{
    struct fixture *f = *state;
    struct entry_change c = change(f, "1", "one", 1), bad = change(f, "bad", "bad", 1);
    struct answer at, first, second, third;
    int64_t ids[] = {add_feed(f, "http://a.example/", NULL), add_feed(f, "http://b.example/", NULL),
                     add_feed(f, "http://c.example/", NULL)};
    struct view v = view_of(VIEW_LOG, ids, 3);

    ONLY_ON_SQLITE();
    store_listen(f->store, wait_at_gate, NULL);
    close_gate(f, &at);
    refuse_bad(f);
    push(f, ids[0], &c, 1, &first);
    push(f, ids[1], &bad, 1, &second);
    push(f, ids[2], &c, 1, &third);
    open_gate(&at);
    answer_wait(&first);
    answer_wait(&second);
    answer_wait(&third);
    assert_int_equal(RC_OK, first.rc);
    assert_int_equal(RC_IO, second.rc);
    assert_int_equal(RC_OK, third.rc);
    assert_string_equal("one one", view_titles(f, &v));
    assert_int_equal(2, store_last_seq(f->store));
}

/* Rows are loaded before the operation runs: what the database says then is not lost. */
static void test_rows__a_row_that_cannot_be_read_says_why(void **state)
{
    struct fixture *f = *state;
    struct entry_change c = change(f, "1", "one", 1);
    struct answer a;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    sqlite3 *other;

    ONLY_ON_SQLITE();
    assert_int_equal(SQLITE_OK, sqlite3_open(f->path, &other));
    assert_int_equal(SQLITE_OK, sqlite3_exec(other, "ALTER TABLE upstreams RENAME TO elsewhere",
                                             NULL, NULL, NULL));
    sqlite3_close(other);
    push(f, id, &c, 1, &a);
    answer_wait(&a);
    assert_int_equal(RC_IO, a.rc);
    assert_non_null(strstr(a.text, "upstreams"));
}

/* A transaction with more rows than are held at a time writes and forgets them in between. */
static void test_rows__more_than_are_held(void **state)
{
    enum { N = 8200 };
    struct fixture *f = *state;
    struct entry_change *many = ARENA_ARRAY(&f->arena, struct entry_change, N);
    struct entry_change changed = change(f, "5", "other", 5);
    struct answer at, first, second;
    int64_t id = add_feed(f, "http://a.example/", NULL), commits;
    struct view v = view_of(VIEW_LOG, &id, 1);

    for (int i = 0; i < N; i++)
        many[i] = change(f, arena_printf(&f->arena, "%d", i), "one", i);
    store_listen(f->store, wait_at_gate, NULL);
    close_gate(f, &at);
    commits = stats_get(STAT_store_commits_total);
    push(f, id, many, N, &first);
    push(f, id, &changed, 1, &second);
    open_gate(&at);
    answer_wait(&first);
    answer_wait(&second);
    if (!on_postgresql()) /* there, so many are a transaction of their own */
        assert_int_equal(1, stats_get(STAT_store_commits_total) - commits);
    assert_int_equal(N, first.res.n_new);
    assert_int_equal(1, second.res.n_changed);
    v.order = VIEW_LOG_DESC;
    v.len = 1;
    assert_string_equal("other", view_titles(f, &v));
}

/* ---- merges in one transaction --------------------------------------------------------------- */

static const char *url_of(struct fixture *f, int i)
{
    return arena_printf(&f->arena, "http://%d.example/", i);
}

/* Pairs of feeds, all of which have a head of so many bytes. */
static void add_pairs(struct fixture *f, int n, size_t head_bytes)
{
    struct buf json = BUF_INIT(BUF_ANY);
    struct answer a;

    buf_printf(&json, "{\"title\":\"%0*d\"}", (int)head_bytes, 1);
    for (int i = 0; i < 2 * n; i++) {
        int64_t id = add_feed(f, url_of(f, i), NULL);
        struct poll_outcome o = outcome(id, NULL, 0);

        o.head.json = buf_view(&json);
        WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
        assert_int_equal(RC_OK, a.rc);
    }
    buf_release(&json);
}

static atomic_int n_statements; /* of the storer */

static int count_statement(unsigned what UNUSED, void *ctx UNUSED, void *p UNUSED, void *x UNUSED)
{
    atomic_fetch_add(&n_statements, 1);
    return 0;
}

/* The feeds of each of n pairs become one, at the same time. Returns how many commits this takes.
 */
static int64_t merge_pairs(struct fixture *f, int first, int n)
{
    struct answer *answers = ARENA_ARRAY(&f->arena, struct answer, n), at;
    sqlite3 *sq = db_handle(storer_db(f->store->storer));
    int64_t commits;

    close_gate(f, &at);
    commits = stats_get(STAT_store_commits_total);
    atomic_store(&n_statements, 0);
    assert_int_equal(SQLITE_OK, sqlite3_trace_v2(sq, SQLITE_TRACE_STMT, count_statement, NULL));
    for (int i = 0; i < n; i++)
        push_move(f, find(f, url_of(f, 2 * (first + i) + 1)), url_of(f, 2 * (first + i)), NULL,
                  &answers[i]);
    open_gate(&at);
    for (int i = 0; i < n; i++) {
        answer_wait(&answers[i]);
        assert_int_equal(RC_OK, answers[i].rc);
        assert_int_equal(find(f, url_of(f, 2 * (first + i))), answers[i].res.id);
        assert_int_equal(1, answers[i].res.n_new);
    }
    return stats_get(STAT_store_commits_total) - commits;
}

/* A merge makes the others forget their rows. Each of many loads few of them again, so four times
 * as many take about four times as many statements. */
static void test_rows__merges_load_few_rows_again(void **state)
{
    struct fixture *f = *state;
    int few, many;

    ONLY_ON_SQLITE(); /* it counts statements */
    store_listen(f->store, wait_at_gate, NULL);
    add_pairs(f, 60, 1);
    assert_int_equal(1, merge_pairs(f, 0, 12));
    few = atomic_load(&n_statements);
    assert_int_equal(1, merge_pairs(f, 12, 48));
    many = atomic_load(&n_statements);
    assert_in_range(many, 3 * few, 5 * few);
}

/* Rows that were forgotten keep their memory until the transaction ends. It ends before they take
 * too much, and the rest is done in others. */
static void test_rows__a_transaction_has_a_bound_in_bytes(void **state)
{
    struct fixture *f = *state;

    ONLY_ON_SQLITE(); /* there, each merge is a transaction */
    store_listen(f->store, wait_at_gate, NULL);
    add_pairs(f, 12, 2 << 20);
    assert_in_range(merge_pairs(f, 0, 12), 2, 6);
}

/* ---- groups and single operations ------------------------------------------------------------ */

#define OUTCOMES 120

/* A row as text, for each row of each table that outcomes change. */
static int add_row(void *ctx, int n, char **values, char **names UNUSED)
{
    struct buf *b = ctx;

    for (int i = 0; i < n; i++)
        buf_printf(b, "%s|", values[i] == NULL ? "NULL" : values[i]);
    buf_printf(b, "\n");
    return 0;
}

static char *dump(struct fixture *f)
{
    static const char *const queries[] = {
        "SELECT * FROM feeds ORDER BY id",
        ("SELECT id, feed_id, uid, first_seq, seq, sort_at, dated, deleted, iri_hash, hex(essence),"
         " hex(doc_hash), hex(marks), updated_us, dead_at FROM entries ORDER BY id"),
        "SELECT * FROM entry_keys ORDER BY 1, 2, 3", "SELECT * FROM revisions ORDER BY seq",
        "SELECT * FROM overlays ORDER BY seq", "SELECT * FROM contents ORDER BY entry_id",
        "SELECT * FROM heads ORDER BY feed_id", "SELECT * FROM head_log ORDER BY 1, 2",
        "SELECT * FROM feed_events ORDER BY seq", "SELECT * FROM archives ORDER BY 1, 2",
        "SELECT * FROM graves ORDER BY 1, 2", "SELECT * FROM subscriptions ORDER BY id",
        "SELECT * FROM sub_feeds ORDER BY 1, 2", "SELECT * FROM upstreams ORDER BY token",
        "SELECT * FROM deliveries ORDER BY 1, 2",
        /* without ids: one that is made and dropped in one transaction takes none */
        "SELECT sub_id, seq, at_us, uid, at, status, answer, wanted FROM dead_letters ORDER BY id",
        "SELECT * FROM meta WHERE name NOT IN ('log_id', 'secret') ORDER BY 1"};
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);

    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++)
        assert_int_equal(SQLITE_OK, sqlite3_exec(db_handle(storer_db(f->store->storer)), queries[i],
                                                 add_row, &b, NULL));
    return arena_copy(&f->arena, buf_view(&b).ptr, buf_view(&b).len);
}

/* What is known without a query is what a restart finds in the database. */
static void check_directory(struct fixture *f, const int64_t *feeds)
{
    struct feed_brief before[FEEDS], after;
    bool is_there[FEEDS];
    int64_t n;

    for (int i = 0; i < FEEDS; i++)
        is_there[i] = store_brief(f->store, feeds[i], &before[i]);
    fixture_close(f);
    fixture_open(f);
    for (int i = 0; i < FEEDS; i++) {
        assert_int_equal(is_there[i], store_brief(f->store, feeds[i], &after));
        if (!is_there[i])
            continue;
        assert_int_equal(before[i].version, after.version);
        assert_int_equal(before[i].state, after.state);
        assert_int_equal(before[i].level, after.level);
        assert_int_equal(before[i].next_fetch_at, after.next_fetch_at);
        assert_int_equal(before[i].wanted_at, after.wanted_at);
        assert_int_equal(before[i].content_at, after.content_at);
        assert_int_equal(before[i].n_subscriptions, after.n_subscriptions);
        assert_int_equal(RC_OK,
                         stmt_number(storer_db(f->store->storer),
                                     stmt_start(storer_db(f->store->storer), NULL,
                                                "SELECT count(*) FROM sub_feeds WHERE feed_id = ?1",
                                                "i", feeds[i]),
                                     &n, NULL));
        assert_int_equal(n, after.n_subscriptions);
    }
}

/* Store the same outcomes; `alone`: each in a transaction of its own. */
static char *store_random(struct fixture *f, uint32_t seed, bool alone)
{
    struct store_cfg cfg = fixture_cfg(f);
    struct answer a = answer_init(OUTCOMES), at;
    int64_t feeds[FEEDS];
    bool refuses = seed % 2 == 0; /* then transactions fail, and are repeated one by one */

    fixture_close(f);
    unlink(f->path);
    cfg.batch_ops = alone ? 1 : 64;
    assert_int_equal(RC_OK, store_open(&cfg, &f->store, NULL));
    clock_fake_us(2000000000);
    store_listen(f->store, wait_at_gate, NULL);
    for (int i = 0; i < FEEDS; i++)
        feeds[i] = add_feed(f, arena_printf(&f->arena, "http://%d.example/", i), NULL);
    close_gate(f, &at);
    for (int i = 0; i < OUTCOMES; i++) {
        if (i == OUTCOMES / 2)
            store_touch(f->store, feeds, FEEDS);
        push_random(f, feeds, &seed, &a);
    }
    if (refuses)
        refuse_bad(f);
    open_gate(&at);
    answer_wait(&a);
    f->reader = reader_open(f->store);
    check_directory(f, feeds);
    return dump(f);
}

static void test_rows__groups_store_what_single_operations_store(void **state)
{
    struct fixture *f = *state;

    ONLY_ON_SQLITE(); /* test_pg_write compares the engines in this way */
    for (uint32_t seed = 1; seed <= 16; seed++) {
        const char *alone = store_random(f, seed, true);

        assert_string_equal(alone, store_random(f, seed, false));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows__undo_restores_what_was_there),
        cmocka_unit_test(test_rows__what_was_written_is_clean),
        cmocka_unit_test(test_rows__undo_of_dead_letters),
        cmocka_unit_test(test_rows__undo_of_an_end),
        cmocka_unit_test(test_rows__a_feed_that_comes_back),
        cmocka_unit_test(test_rows__upstreams_of_a_feed),
        cmocka_unit_test(test_rows__the_past_of_a_feed),
        cmocka_unit_test(test_rows__whose_a_url_is),
        cmocka_unit_test_setup_teardown(test_rows__feeds_that_move_in_one_transaction,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_rows__renamed_and_ended_in_one_transaction,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_rows__wants_of_a_poll, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_rows__operations_of_one_transaction, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_rows__a_bad_operation_fails_alone, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_rows__a_row_that_cannot_be_read_says_why,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_rows__more_than_are_held, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_rows__merges_load_few_rows_again, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_rows__a_transaction_has_a_bound_in_bytes,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_rows__groups_store_what_single_operations_store,
                                        fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
