/* tests/unit/storage/test_feeds.c - one row per feed: aliases, moves, pages, merges, levels,
 * and who is found by which URL. */
#include "fixture.h"
#include "tests/unit/cmocka_all.h"

static struct answer send_outcome(struct fixture *f, const struct poll_outcome *o)
{
    struct answer a;

    WRITE(a, store_poll_outcome(f->store, o, 0, on_answer, &a));
    if (a.rc != RC_OK)
        fail_msg("outcome: %s", a.text);
    return a;
}

static int64_t found(struct fixture *f, const char *url)
{
    struct feed_brief b;

    return store_find_feed(f->store, str_from(url), STR_NULL, &b) ? b.id : 0;
}

static size_t found_any(struct fixture *f, const char *url)
{
    int64_t ids[8];

    return store_find_by_any_url(f->store, str_from(url), ids, 8);
}

static int64_t subscribe(struct fixture *f, const char *url, int level, int64_t period_s)
{
    struct feed_ref ref = {.url = str_from(url)};
    struct sub_request req = {.endpoint = STR("http://sink.example/"),
                              .sink = STR("xmlrpc"),
                              .feeds = &ref,
                              .n_feeds = 1,
                              .level = level,
                              .period_s = period_s};
    struct answer a;

    WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    return a.res.id;
}

static struct feed *feed_of(struct fixture *f, int64_t id)
{
    struct feed *feed;

    assert_int_equal(RC_OK, reader_feed(f->reader, id, &f->arena, &feed, NULL));
    return feed;
}

/* DISC-07, DISC-09: a row made from a page's URL becomes the feed's, found by both */
static void test_feeds__page_becomes_feed(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://p.example/", NULL);
    struct poll_outcome o = outcome(id, NULL, 0);

    o.check.url = STR("http://p.example/feed.xml");
    o.check.page_url = STR("http://p.example/");
    send_outcome(f, &o);
    assert_int_equal(id, found(f, "http://p.example/"));
    assert_int_equal(id, found(f, "http://p.example/feed.xml"));
    assert_int_equal(id, add_feed(f, "http://p.example/", NULL));
    assert_int_equal(id, add_feed(f, "http://p.example/feed.xml", NULL));
    assert_true(str_eqz(feed_of(f, id)->page_url, "http://p.example/"));
    assert_true(str_eqz(feed_of(f, id)->url, "http://p.example/feed.xml"));
    assert_int_equal(1, found_any(f, "http://p.example/"));
    o.check.url = STR_NULL;
    o.check.page_url = STR("");
    send_outcome(f, &o);
    assert_int_equal(0, found(f, "http://p.example/"));
    assert_true(str_is_null(feed_of(f, id)->page_url));
}

/* DISC-08: after a permanent move the old URL still leads there */
static void test_feeds__move_leaves_an_alias(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/1", NULL);
    struct poll_outcome o = outcome(id, NULL, 0);
    struct str alias = STR("http://a.example/side");
    int64_t version = store_version(f->store, &id, 1);

    o.check.url = STR("http://a.example/2");
    o.check.aliases = &alias;
    o.check.n_aliases = 1;
    send_outcome(f, &o);
    assert_int_equal(id, found(f, "http://a.example/1"));
    assert_int_equal(id, found(f, "http://a.example/2"));
    assert_int_equal(id, found(f, "http://a.example/side"));
    assert_true(store_version(f->store, &id, 1) > version);
    o.check.url = STR("http://a.example/1"); /* and back: its own again, no alias of itself */
    o.check.n_aliases = 0;
    send_outcome(f, &o);
    assert_int_equal(id, found(f, "http://a.example/1"));
    assert_int_equal(id, found(f, "http://a.example/2"));
    assert_int_equal(1, found_any(f, "http://a.example/1"));
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(id, found(f, "http://a.example/2"));
    assert_int_equal(id, found(f, "http://a.example/side"));
}

static void test_feeds__own_url_comes_before_alias(void **state)
{
    struct fixture *f = *state;
    int64_t a = add_feed(f, "http://a.example/", NULL), b = add_feed(f, "http://b.example/", NULL);
    struct poll_outcome o = outcome(a, NULL, 0);
    struct str alias = STR("http://b.example/");

    o.check.aliases = &alias;
    o.check.n_aliases = 1;
    send_outcome(f, &o); /* is refused: the URL has a feed */
    assert_int_equal(b, found(f, "http://b.example/"));
    o = outcome(b, NULL, 0);
    o.check.page_url = STR("http://a.example/");
    send_outcome(f, &o);
    assert_int_equal(a, found(f, "http://a.example/"));
    assert_int_equal(2, found_any(f, "http://a.example/"));
}

/* SCHED-08: change logs name sites */
static void test_feeds__found_by_site(void **state)
{
    struct fixture *f = *state;
    int64_t a = add_feed(f, "http://a.example/", NULL), b = add_feed(f, "http://b.example/", "u:p");
    int64_t ids[1];
    struct poll_outcome o = outcome(a, NULL, 0);

    send_outcome(f, &o);
    o = outcome(b, NULL, 0);
    send_outcome(f, &o);
    assert_int_equal(0, found(f, "http://site.example/"));
    assert_int_equal(2, found_any(f, "http://site.example/"));
    assert_int_equal(2, store_find_by_any_url(f->store, STR("http://site.example/"), ids, 1));
    o.head.site_url = STR("http://other.example/");
    send_outcome(f, &o);
    assert_int_equal(1, found_any(f, "http://site.example/"));
    assert_int_equal(1, store_find_by_any_url(f->store, STR("http://other.example/"), ids, 1));
    assert_int_equal(b, ids[0]);
}

struct merge_seen {
    int64_t old, into, sub;
    size_t n_subs;
};

static void on_notice(void *ctx, const struct commit_notice *notice)
{
    struct merge_seen *m = ctx;
    size_t i;

    for (i = 0; i < notice->n_feeds; i++) {
        if (notice->feeds[i].merged_into != 0) {
            m->old = notice->feeds[i].feed_id;
            m->into = notice->feeds[i].merged_into;
            m->n_subs = notice->n_subs;
            m->sub = notice->n_subs > 0 ? notice->sub_ids[0] : 0;
        }
    }
}

/* DISC-09: what turns out to be a known feed becomes part of it */
static void test_feeds__merge(void **state)
{
    struct fixture *f = *state;
    int64_t old, id, both[2], sub;
    struct entry_change in_old[] = {change(f, "1", "old1", 100), change(f, "2", "old2", 200)};
    struct entry_change in_new[] = {change(f, "2", "new2", 200), change(f, "3", "new3", 300)};
    struct entry_change found_now[] = {change(f, "3", "new3", 300), change(f, "4", "new4", 400)};
    struct poll_outcome o;
    struct view v = view_of(VIEW_NEWEST, &id, 1);
    struct merge_seen seen = {0};
    struct subscription *subs;
    struct feed_brief b;
    struct answer a;
    size_t n;

    store_listen(f->store, on_notice, &seen);
    old = add_feed(f, "http://old.example/", NULL);
    id = add_feed(f, "http://new.example/f", NULL);
    both[0] = old;
    both[1] = id;
    sub = subscribe(f, "http://old.example/", LEVEL_EXACT, 10);
    o = outcome(old, in_old, 2);
    o.check.page_url = STR("http://old.example/page");
    o.check.aliases = &(struct str){"http://older.example/", 21};
    o.check.n_aliases = 1;
    send_outcome(f, &o);
    store_changes(f, id, in_new, 2);
    o = outcome(old, found_now, 2);
    o.check.url = STR("http://new.example/f");
    o.check.page_url = STR("http://page.example/");
    o.check.level = 0;
    a = send_outcome(f, &o);
    assert_int_equal(id, a.res.id);
    assert_int_equal(1, a.res.n_new); /* "3" was known there */
    assert_int_equal(old, seen.old);
    assert_int_equal(id, seen.into);
    assert_int_equal(1, seen.n_subs);
    assert_int_equal(sub, seen.sub);
    assert_false(store_brief(f->store, old, &b));
    assert_true(store_brief(f->store, id, &b));
    assert_true(store_is_merged(f->store, old));
    assert_false(store_is_merged(f->store, id));
    assert_int_equal(1, b.n_subscriptions);
    assert_string_equal("new4 new3 new2 old1", view_titles(f, &v));
    assert_int_equal(4, feed_of(f, id)->n_entries);
    assert_int_equal(LEVEL_EXACT, feed_of(f, id)->level);
    assert_int_equal(10, feed_of(f, id)->period_s);
    assert_int_equal(id, found(f, "http://old.example/"));
    assert_int_equal(id, found(f, "http://older.example/"));
    assert_int_equal(id, found(f, "http://old.example/page"));
    assert_int_equal(id, found(f, "http://page.example/"));
    assert_int_equal(RC_OK, reader_subs(f->reader, &sub, 1, &f->arena, &subs, &n, NULL));
    assert_int_equal(1, subs[0].n_feeds);
    assert_int_equal(id, subs[0].feeds[0].feed_id);
    assert_true(str_eqz(subs[0].feeds[0].url, "http://old.example/")); /* PUSH-07 */
    v.order = VIEW_LOG;
    assert_string_equal("old1 new2 new3 new4", view_titles(f, &v));
    v.n_feeds = 2;
    v.feed_ids = both;
    assert_string_equal("old1 new2 new3 new4", view_titles(f, &v));
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(id, found(f, "http://older.example/"));
    v = view_of(VIEW_NEWEST, &id, 1);
    assert_string_equal("new4 new3 new2 old1", view_titles(f, &v));
    assert_int_equal(5, store_last_seq(f->store)); /* numbers of what went are not given again */
    assert_int_equal(5, store_seq_of(f->store, &id, 1));
    assert_int_equal(400, feed_of(f, id)->newest_at);
    assert_true(store_is_merged(f->store, old));
    WRITE(a, store_forget_feed(f->store, id, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    assert_false(store_is_merged(f->store, old)); /* what it had is gone, too */
}

static void test_feeds__merge_without_double_subscriptions(void **state)
{
    struct fixture *f = *state;
    struct feed_ref refs[] = {{.url = STR("http://old.example/")},
                              {.url = STR("http://new.example/")},
                              {.url = STR("http://third.example/")}};
    struct sub_request req = {
        .sink = STR("xmlrpc"), .feeds = refs, .n_feeds = 3, .level = LEVEL_KEEP};
    struct subscription *subs;
    struct poll_outcome o;
    struct answer a;
    int64_t sub, old;
    size_t n;

    WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
    sub = a.res.id;
    old = found(f, "http://old.example/");
    o = outcome(old, NULL, 0);
    o.check.url = STR("http://new.example/");
    send_outcome(f, &o);
    assert_int_equal(RC_OK, reader_subs(f->reader, &sub, 1, &f->arena, &subs, &n, NULL));
    assert_int_equal(2, subs[0].n_feeds);
    assert_int_equal(found(f, "http://new.example/"), subs[0].feeds[0].feed_id);
    assert_int_equal(found(f, "http://third.example/"), subs[0].feeds[1].feed_id);
}

/* The taker has never been fetched and this fetch brought no document: it takes the old one. */
static void test_feeds__merge_inherits_document(void **state)
{
    struct fixture *f = *state;
    int64_t old = add_feed(f, "http://old.example/", NULL);
    int64_t id = add_feed(f, "http://new.example/", NULL);
    struct entry_change c = change(f, "1", "one", 100), d = change(f, "2", "two", 200);
    struct poll_outcome o;
    struct view v = view_of(VIEW_NEWEST, &id, 1);
    struct feed_brief b;
    struct revision *rows;
    size_t n;

    store_changes(f, old, &c, 1);
    o = outcome(old, NULL, 0);
    o.has_document = false;
    o.check.url = STR("http://new.example/");
    send_outcome(f, &o);
    assert_true(store_brief(f->store, id, &b) && b.fetched);
    assert_true(str_eqz(feed_of(f, id)->head, "{\"title\":\"T\"}"));
    assert_string_equal("one", view_titles(f, &v));
    store_changes(f, id, &d, 1);
    assert_int_equal(RC_OK, reader_rows(f->reader, &v, &f->arena, &rows, &n, NULL));
    assert_false(rows[0].initial); /* it is news, not what was there before */
}

/* What was compared was the feed that is gone: validators and hash must not keep the taker from
 * reading what it holds in an older version. */
static void test_feeds__merge_forgets_validators(void **state)
{
    struct fixture *f = *state;
    int64_t old = add_feed(f, "http://old.example/", NULL);
    int64_t id = add_feed(f, "http://new.example/", NULL);
    struct entry_change c = change(f, "1", "one", 100);
    struct poll_outcome o = outcome(id, &c, 1);

    o.check.etag = STR("\"1\"");
    send_outcome(f, &o);
    c = change(f, "1", "one, edited", 100);
    store_changes(f, old, &c, 1);
    o = outcome(old, NULL, 0); /* the same as it has */
    o.has_document = false;
    o.check.url = STR("http://new.example/");
    o.check.etag = STR("\"2\"");
    o.check.last_modified = STR("Thu, 01 Jan 1970 00:00:00 GMT");
    o.has_body_hash = true;
    send_outcome(f, &o);
    assert_true(str_is_null(feed_of(f, id)->etag));
    assert_true(str_is_null(feed_of(f, id)->last_modified));
    assert_false(feed_of(f, id)->has_body_hash);
}

/* A web page that leads to a known feed was compared with nothing: what was read is all there, and
 * the feed has the validators of what was read. */
static void test_feeds__a_page_keeps_the_validators_of_its_feed(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/feed", NULL), page;
    struct entry_change c = change(f, "1", "one", 100);
    struct poll_outcome o = outcome(id, &c, 1);

    o.check.etag = STR("\"1\"");
    o.check.last_modified = STR("Thu, 01 Jan 1970 00:00:00 GMT");
    o.has_body_hash = true;
    send_outcome(f, &o);
    page = add_feed(f, "http://a.example/", NULL);
    o = outcome(page, &c, 1);
    o.check.url = STR("http://a.example/feed");
    o.check.page_url = STR("http://a.example/");
    o.check.etag = STR("\"2\"");
    o.has_body_hash = true;
    assert_int_equal(id, send_outcome(f, &o).res.id);
    assert_true(str_eqz(feed_of(f, id)->etag, "\"2\""));
    assert_true(str_eqz(feed_of(f, id)->last_modified, "Thu, 01 Jan 1970 00:00:00 GMT"));
    assert_true(feed_of(f, id)->has_body_hash);

    page = add_feed(f, "http://a.example/blog", NULL);
    o.check.feed_id = page;
    o.complete = true; /* what it does not show is deleted, which was not compared */
    send_outcome(f, &o);
    assert_true(str_is_null(feed_of(f, id)->etag));
    assert_false(feed_of(f, id)->has_body_hash);
}

/* A publisher who moves his feed with every answer does not fill the table of names; the ones that
 * somebody may know, the first, stay. */
static void test_feeds__aliases_are_bounded(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/0", NULL);
    struct poll_outcome o;
    int i, n = 0;

    for (i = 1; i <= 200; i++) {
        o = outcome(id, NULL, 0);
        o.check.url = str_printf(&f->arena, "http://a.example/%d", i);
        send_outcome(f, &o);
    }
    assert_int_equal(id, found(f, "http://a.example/0"));
    assert_int_equal(id, found(f, "http://a.example/200"));
    for (i = 0; i < 200; i++)
        n += found(f, arena_printf(&f->arena, "http://a.example/%d", i)) == id;
    assert_int_equal(64, n);
}

/* Feeds with other credentials are other feeds. */
static void test_feeds__no_merge_across_credentials(void **state)
{
    struct fixture *f = *state;
    int64_t open = add_feed(f, "http://x.example/", NULL);
    int64_t closed = add_feed(f, "http://y.example/", "u:p");
    struct poll_outcome o = outcome(closed, NULL, 0);
    struct feed_brief b;

    o.check.url = STR("http://x.example/");
    assert_int_equal(closed, send_outcome(f, &o).res.id);
    assert_int_equal(open, found(f, "http://x.example/"));
    assert_true(store_find_feed(f->store, STR("http://x.example/"), STR("u:p"), &b));
    assert_int_equal(closed, b.id);
    assert_int_equal(0, found(f, "http://y.example/"));
}

static void set_level(struct fixture *f, int64_t id, int level, int64_t period_s, enum rc wanted)
{
    struct feed_ref ref = {.url = feed_of(f, id)->url};
    struct sub_request req = {.feeds = &ref, .n_feeds = 1, .level = level, .period_s = period_s};
    struct answer a;

    WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
    assert_int_equal(wanted, a.rc);
}

/* SCHED-02 */
static void test_feeds__levels(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL), now = clock_now_s();
    struct poll_outcome o = outcome(id, NULL, 0);

    send_outcome(f, &o);
    set_level(f, id, LEVEL_EXACT, 10, RC_OK);
    assert_int_equal(LEVEL_EXACT, feed_of(f, id)->level);
    assert_true(feed_of(f, id)->next_fetch_at <= now + 12);
    set_level(f, id, 0, 0, RC_OK);
    assert_int_equal(0, feed_of(f, id)->period_s);
    assert_true(feed_of(f, id)->next_fetch_at >= now + 86400);
    set_level(f, id, 3, 0, RC_INPUT);
    set_level(f, id, LEVEL_EXACT, 0, RC_INPUT);
    assert_int_equal(0, feed_of(f, id)->level);
}

/* SCHED-14, SCHED-16: a subscriber's level does not overrule a publisher's refusal, and his wish
 * for longer pauses gives way to an exact period only */
static void test_feeds__levels_and_the_publisher(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL), later = clock_now_s() + 50000;
    struct poll_outcome o = outcome(id, NULL, 0);

    o.check.next_fetch_at = later;
    o.check.next_reason = REASON_BACKOFF;
    send_outcome(f, &o);
    set_level(f, id, LEVEL_EXACT, 10, RC_OK);
    assert_int_equal(later, feed_of(f, id)->next_fetch_at);
    o.check.next_reason = REASON_TTL;
    send_outcome(f, &o);
    set_level(f, id, 2, 0, RC_OK);
    assert_int_equal(later, feed_of(f, id)->next_fetch_at);
    set_level(f, id, LEVEL_EXACT, 10, RC_OK);
    assert_true(feed_of(f, id)->next_fetch_at < later);
    o.check.state = FEED_GONE;
    o.check.next_reason = REASON_GONE;
    send_outcome(f, &o);
    set_level(f, id, 2, 0, RC_OK);
    assert_int_equal(later, feed_of(f, id)->next_fetch_at);
}

/* ETIQ-10: a gap is kept until the past has been read that a document of the feed names. */
static void test_feeds__a_gap_is_kept_until_it_is_filled(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct poll_outcome o = outcome(id, NULL, 0);
    struct archive_outcome past = {
        .feed_id = id, .checked_at = 5000, .url = STR("http://a.example/1"), .ok = true};
    struct answer a;

    send_outcome(f, &o);
    assert_int_equal(TIME_UNKNOWN, feed_of(f, id)->gap_since);
    o.is_gap = true;
    o.check.checked_at = 3000;
    send_outcome(f, &o);
    o.check.checked_at = 4000;
    send_outcome(f, &o);
    assert_int_equal(3000, feed_of(f, id)->gap_since);
    o.is_gap = false;
    o.past.older = past.url;
    o.past.whole = true;
    send_outcome(f, &o);
    assert_int_equal(3000, feed_of(f, id)->gap_since);
    past.past.whole = true;
    past.past.older = STR("http://a.example/0");
    WRITE(a, store_archive_outcome(f->store, &past, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    assert_int_equal(3000, feed_of(f, id)->gap_since); /* it does not reach back */
    past.url = past.past.older;
    past.past.older = STR_NULL;
    past.past.reaches_back = true;
    WRITE(a, store_archive_outcome(f->store, &past, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    assert_int_equal(TIME_UNKNOWN, feed_of(f, id)->gap_since);
}

static void assert_pace(struct fixture *f, int64_t id, const char *pace, int64_t period_s, int class)
{
    const struct feed *feed = feed_of(f, id);
    struct feed_brief brief;

    assert_string_equal(pace, str_z(&f->arena, feed->pace));
    assert_int_equal(period_s, feed->period_s);
    assert_true(store_brief(f->store, id, &brief));
    assert_int_equal(class, brief.need_class);
    assert_int_equal(class != 0, store_n_needs(f->store));
}

/* ETIQ-01: what a fetch teaches is kept, also when a later one teaches nothing; the period that follows is that
 * of level 1 alone. */
static void test_feeds__a_pace_is_kept(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct poll_outcome o = outcome(id, NULL, 0);

    o.check.next_fetch_at = clock_now_s() + 600;
    o.check.pace = STR("1 2 3");
    o.check.own_period_s = 600;
    o.check.need_class = 7;
    send_outcome(f, &o);
    assert_pace(f, id, "1 2 3", 600, 7);
    set_level(f, id, 1, 0, RC_OK);
    assert_pace(f, id, "1 2 3", 600, 7);
    o.check.pace = STR_NULL;
    o.check.own_period_s = o.check.need_class = 0;
    send_outcome(f, &o);
    fixture_close(f);
    fixture_open(f);
    assert_pace(f, id, "1 2 3", 600, 7);
    set_level(f, id, 2, 0, RC_OK);
    assert_pace(f, id, "1 2 3", 0, 0);
    o.check.pace = STR("1 2 4");
    o.check.own_period_s = 700;
    o.check.need_class = 8;
    send_outcome(f, &o);
    assert_pace(f, id, "1 2 4", 0, 0);
    o.check.level = 1;
    send_outcome(f, &o);
    assert_pace(f, id, "1 2 4", 700, 8);
}

/* A pace that subscriptions asked for ends with the last of them. */
static void test_feeds__pace_ends_with_the_last_subscription(void **state)
{
    struct fixture *f = *state;
    int64_t one = subscribe(f, "http://a.example/", LEVEL_EXACT, 10),
            id = found(f, "http://a.example/");
    int64_t two = subscribe(f, "http://a.example/", LEVEL_KEEP, 0), now = clock_now_s();
    struct poll_outcome o = outcome(id, NULL, 0);
    struct answer a;

    send_outcome(f, &o);
    WRITE(a, store_unsubscribe(f->store, one, NULL, 0, on_answer, &a));
    assert_int_equal(LEVEL_EXACT, feed_of(f, id)->level);
    WRITE(a, store_unsubscribe(f->store, two, &(struct str){"http://a.example/", 17}, 1, on_answer,
                               &a));
    assert_int_equal(RC_OK, a.rc);
    assert_int_equal(1, feed_of(f, id)->level);
    assert_int_equal(0, feed_of(f, id)->period_s);
    assert_true(feed_of(f, id)->next_fetch_at >= now + 1700);
}

static void copy_file(const char *from, const char *to)
{
    char piece[65536];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    size_t n;

    assert_true(in != NULL && out != NULL);
    while ((n = fread(piece, 1, sizeof piece, in)) > 0)
        assert_int_equal(n, fwrite(piece, 1, n, out));
    fclose(in);
    assert_int_equal(0, fclose(out));
}

/* Tags and cached documents that were given out before a backup was restored mean nothing after it.
 */
static void test_feeds__versions_of_a_restored_backup_are_new(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL), lost[3];
    struct entry_change c;
    char backup[160];

    ONLY_ON_SQLITE();
    snprintf(backup, sizeof backup, "%s.backup", f->path);
    fixture_close(f);
    copy_file(f->path, backup);
    fixture_open(f);
    for (int i = 0; i < 3; i++) {
        c = change(f, "1", arena_printf(&f->arena, "lost %d", i), 100);
        store_changes(f, id, &c, 1);
        lost[i] = store_version(f->store, &id, 1);
    }
    fixture_close(f);
    copy_file(backup, f->path);
    unlink(backup);
    fixture_open(f);
    for (int i = 0; i < 3; i++) {
        c = change(f, "1", arena_printf(&f->arena, "other %d", i), 100);
        store_changes(f, id, &c, 1);
        for (int k = 0; k < 3; k++)
            assert_int_not_equal(lost[k], store_version(f->store, &id, 1));
    }
}

static void ping(struct fixture *f, int64_t id)
{
    struct answer a;

    WRITE(a, store_ping(f->store, &id, 1, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
}

static void open_with_quota(struct fixture *f, int64_t most)
{
    struct store_cfg cfg = fixture_cfg(f);

    fixture_close(f);
    cfg.feed_quota = most;
    assert_int_equal(RC_OK, store_open(&cfg, &f->store, NULL));
    f->reader = reader_open(f->store);
}

/* KEEP-05: what is over the bound waits, unless it was there before anyone looked */
static void test_feeds__a_quota(void **state)
{
    struct fixture *f = *state;
    struct entry_change c[] = {change(f, "1", "one", 100),  change(f, "2", "two", 200),
                               change(f, "3", "three", 300), change(f, "4", "four", 400),
                               change(f, "5", "five", 500), change(f, "6", "six", 600)};
    struct poll_outcome o;
    int64_t id;

    open_with_quota(f, 2);
    id = add_feed(f, "http://a.example/", NULL);
    assert_int_equal(3, store_changes(f, id, c, 3).res.n_new);
    assert_int_equal(FEED_OK, feed_of(f, id)->state);
    assert_int_equal(2, store_changes(f, id, c, 6).res.n_new);
    assert_int_equal(FEED_QUOTA, feed_of(f, id)->state);
    assert_int_equal(REASON_QUOTA, feed_of(f, id)->next_reason);
    o = outcome(id, NULL, 0); /* a failure is not hidden */
    o.has_document = o.check.ok = false;
    o.check.state = FEED_FAILING;
    o.check.error = STR("it does not answer");
    o.check.next_reason = REASON_BACKOFF;
    send_outcome(f, &o);
    assert_int_equal(FEED_FAILING, feed_of(f, id)->state);
    assert_str(feed_of(f, id)->last_error, "it does not answer");
    assert_int_equal(REASON_BACKOFF, feed_of(f, id)->next_reason);
    ping(f, id); /* it is fetched at once, although the day is not over */
    assert_int_equal(0, store_changes(f, id, c, 6).res.n_new);
    assert_int_equal(FEED_QUOTA, feed_of(f, id)->state);
    assert_int_equal(REASON_PING, feed_of(f, id)->next_reason);
}

/* SCHED-07: a ping makes due at once, whatever stood in the way, until a fetch that began after it
 * has ended; a new level does not take that back */
static void test_feeds__pings_stay_until_served(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL), now = clock_now_s();
    struct poll_outcome o = outcome(id, NULL, 0);

    o.check.state = FEED_GONE;
    o.check.next_fetch_at = TIME_UNKNOWN;
    o.check.next_reason = REASON_GONE;
    send_outcome(f, &o);
    ping(f, id);
    assert_in_range(feed_of(f, id)->next_fetch_at, now, now + 60);
    assert_int_equal(REASON_PING, feed_of(f, id)->next_reason);
    set_level(f, id, 0, 0, RC_OK);
    assert_int_equal(REASON_PING, feed_of(f, id)->next_reason);
    o = outcome(id, NULL, 0); /* of a fetch that began before the ping */
    send_outcome(f, &o);
    assert_int_equal(REASON_PING, feed_of(f, id)->next_reason);
    assert_in_range(feed_of(f, id)->next_fetch_at, now, now + 60);
    o.check.n_pings = feed_of(f, id)->n_pings;
    send_outcome(f, &o);
    assert_int_equal(REASON_PERIOD, feed_of(f, id)->next_reason);
    ping(f, 424242); /* gone: passed over */
}

/* NODE-06: a node was frozen during a fetch, and another one has stored a later fetch. */
static void test_feeds__a_fetch_that_another_has_overtaken(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct entry_change late = change(f, "late", "late", 100), now = change(f, "now", "now", 200);
    struct poll_outcome o = outcome(id, &now, 1), stale = outcome(id, &late, 1);

    o.check.after_check_at = stale.check.after_check_at = TIME_UNKNOWN;
    o.check.checked_at = 1700000100;
    stale.check.checked_at = 1700000050;
    assert_int_equal(1, send_outcome(f, &o).res.n_new);
    assert_int_equal(0, send_outcome(f, &stale).res.n_new);
    assert_int_equal(1700000100, feed_of(f, id)->last_check_at);
    stale.check.after_check_at = 1700000100;
    stale.check.checked_at = 1700000200;
    assert_int_equal(1, send_outcome(f, &stale).res.n_new);
    assert_int_equal(1700000200, feed_of(f, id)->last_check_at);
}

/* NODE-06: a node that was frozen stores its outcome while another one fetches the feed. */
static void test_feeds__a_stale_outcome_during_a_fetch(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct entry_change late = change(f, "late", "late", 100), now = change(f, "now", "now", 200);
    struct poll_outcome o = outcome(id, &now, 1), stale = outcome(id, &late, 1);

    o.check.after_check_at = stale.check.after_check_at = TIME_UNKNOWN;
    stale.check.began_at = 1700000100;
    stale.check.checked_at = 1700000105;
    o.check.began_at = 1700000120;
    o.check.checked_at = 1700000121;
    assert_int_equal(1, send_outcome(f, &stale).res.n_new);
    assert_int_equal(1, send_outcome(f, &o).res.n_new);
    assert_int_equal(1700000121, feed_of(f, id)->last_check_at);
    stale.check.checked_at = 1700000130;
    assert_true(send_outcome(f, &stale).res.is_overtaken);
    assert_int_equal(1700000121, feed_of(f, id)->last_check_at);
}

/* A ping of a feed that becomes part of another one is the other's. */
static void test_feeds__pings_survive_a_merge(void **state)
{
    struct fixture *f = *state;
    int64_t old = add_feed(f, "http://old.example/", NULL);
    int64_t id = add_feed(f, "http://new.example/", NULL);
    struct poll_outcome o = outcome(id, NULL, 0);

    send_outcome(f, &o);
    ping(f, old);
    o = outcome(old, NULL, 0);
    o.check.url = STR("http://new.example/");
    send_outcome(f, &o);
    assert_int_equal(REASON_PING, feed_of(f, id)->next_reason);
    o = outcome(add_feed(f, "http://third.example/", NULL), NULL, 0);
    o.check.url = STR("http://new.example/");
    send_outcome(f, &o);
    assert_int_equal(REASON_PING, feed_of(f, id)->next_reason); /* its own was not served */
}

static void flush(struct fixture *f)
{
    struct answer a;

    WRITE(a, store_resume(f->store, 424242, -1, on_answer, &a));
}

/* D49: asking for a feed keeps it swept; one that was left because nobody asked is due again */
static void test_feeds__touch(void **state)
{
    struct fixture *f = *state;
    int64_t ids[] = {add_feed(f, "http://a.example/", NULL), 99}, first = INT64_C(1700000000);
    struct poll_outcome o = outcome(ids[0], NULL, 0);
    struct feed_brief b;

    o.check.next_fetch_at = TIME_UNKNOWN;
    o.check.next_reason = REASON_GONE;
    send_outcome(f, &o);
    clock_fake_us(first * 1000000);
    store_touch(f->store, ids, 2);
    flush(f);
    assert_int_equal(first, feed_of(f, ids[0])->wanted_at);
    assert_int_equal(first, feed_of(f, ids[0])->next_fetch_at);
    assert_int_equal(REASON_READER, feed_of(f, ids[0])->next_reason);
    clock_fake_us((first + 3599) * 1000000);
    store_touch(f->store, ids, 2);
    flush(f);
    assert_int_equal(first, feed_of(f, ids[0])->wanted_at);
    clock_fake_us((first + 3601) * 1000000);
    store_touch(f->store, ids, 2);
    flush(f);
    assert_int_equal(first + 3601, feed_of(f, ids[0])->wanted_at);
    assert_true(store_brief(f->store, ids[0], &b));
    assert_int_equal(first + 3601, b.wanted_at);
}

static void collect_due(void *ctx, int64_t feed_id, int64_t next_fetch_at,
                        enum fetch_reason reason UNUSED)
{
    int64_t *out = ctx;

    out[feed_id] = next_fetch_at;
}

static void test_feeds__due(void **state)
{
    struct fixture *f = *state;
    int64_t a = add_feed(f, "http://a.example/", NULL), b = add_feed(f, "http://b.example/", NULL);
    int64_t due[8] = {0};
    struct poll_outcome o = outcome(a, NULL, 0);

    o.check.next_fetch_at = TIME_UNKNOWN;
    send_outcome(f, &o);
    assert_int_equal(RC_OK, reader_due(f->reader, collect_due, due, NULL));
    assert_int_equal(0, due[a]);
    assert_true(due[b] > 0);
}

/* A feed that was checked by a clock that ran ahead does not wait until time has caught up. */
static void test_feeds__due_after_a_wrong_clock(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL), now = clock_now_s();
    int64_t due[8] = {0};

    clock_fake_us((now + 365 * 86400) * 1000000);
    store_changes(f, id, NULL, 0);
    clock_fake_us(now * 1000000);
    assert_int_equal(RC_OK, reader_due(f->reader, collect_due, due, NULL));
    assert_int_equal(now, due[id]);
}

/* The ids of strays, as text. */
static const char *strays(struct fixture *f, int64_t before)
{
    int64_t ids[16];
    char *text = arena_printf(&f->arena, "%s", "");
    size_t at = 0, n = store_strays(f->store, before, &at, ids, 16);

    assert_int_equal(0, at);
    for (size_t i = 0; i < n; i++)
        text = arena_printf(&f->arena, "%s %lld", text, (long long)ids[i]);
    return text;
}

/* ACC-04: what never was a feed, and was neither subscribed nor asked for, is forgotten. */
static void test_feeds__strays(void **state)
{
    struct fixture *f = *state;
    int64_t first = clock_now_s(), ids[4];
    int64_t *feed = &ids[0], *subscribed = &ids[1], *asked_for = &ids[2], *stray = &ids[3];
    struct feed_ref ref = {.url = STR("http://stray.example/")};
    struct poll_outcome o;
    struct answer again;
    struct feed_brief brief;
    struct feed *row;

    *feed = add_feed(f, "http://feed.example/", NULL);
    subscribe(f, "http://subscribed.example/", LEVEL_KEEP, 0);
    *subscribed = found(f, "http://subscribed.example/");
    *asked_for = add_feed(f, "http://asked.example/", NULL);
    *stray = add_feed(f, "http://stray.example/", NULL);
    store_changes(f, *feed, NULL, 0);
    o = outcome(*stray, NULL, 0);
    o.has_document = o.check.ok = false;
    o.check.state = FEED_GONE; /* an event, which goes with it */
    send_outcome(f, &o);
    clock_fake_us((first + 5000) * 1000000);
    store_touch(f->store, asked_for, 1);
    flush(f);
    assert_string_equal("", strays(f, first - 10));
    assert_string_equal(arena_printf(&f->arena, " %lld", (long long)*stray), strays(f, first + 60));
    again = answer_init(1); /* perhaps in the same transaction */
    assert_int_equal(RC_OK, store_forget(f->store, ids, 4, first + 60));
    assert_int_equal(RC_OK, store_add_feed(f->store, &ref, on_answer, &again));
    answer_wait(&again);
    assert_int_equal(RC_OK, again.rc);
    assert_int_not_equal(*stray, again.res.id);
    assert_int_equal(again.res.id, found(f, "http://stray.example/"));
    assert_int_equal(RC_NOT_FOUND, reader_feed(f->reader, *stray, &f->arena, &row, NULL));
    assert_false(store_brief(f->store, *stray, &brief));
    WRITE(again, store_poll_outcome(f->store, &o, 0, on_answer, &again)); /* it came too late */
    assert_int_equal(RC_NOT_FOUND, again.rc);
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(*feed, found(f, "http://feed.example/"));
    assert_int_equal(*subscribed, found(f, "http://subscribed.example/"));
    assert_int_equal(*asked_for, found(f, "http://asked.example/"));
    assert_int_not_equal(*stray, found(f, "http://stray.example/"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_feeds__##name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(page_becomes_feed),
        T(move_leaves_an_alias),
        T(own_url_comes_before_alias),
        T(found_by_site),
        T(merge),
        T(merge_without_double_subscriptions),
        T(merge_inherits_document),
        T(merge_forgets_validators),
        T(a_page_keeps_the_validators_of_its_feed),
        T(aliases_are_bounded),
        T(no_merge_across_credentials),
        T(levels),
        T(levels_and_the_publisher),
        T(a_gap_is_kept_until_it_is_filled),
        T(a_pace_is_kept),
        T(pace_ends_with_the_last_subscription),
        T(versions_of_a_restored_backup_are_new),
        T(a_quota),
        T(pings_stay_until_served),
        T(pings_survive_a_merge),
        T(a_fetch_that_another_has_overtaken),
        T(a_stale_outcome_during_a_fetch),
        T(touch),
        T(due),
        T(due_after_a_wrong_clock),
        T(strays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
