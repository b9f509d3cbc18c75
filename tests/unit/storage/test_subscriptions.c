/* tests/unit/storage/test_subscriptions.c - subscribing, and the pushes that follow from positions.
 */
#include "fixture.h"
#include "tests/unit/cmocka_all.h"

#include <sqlite3.h>
#include <stdatomic.h>

#include "storage/pushes.h"

static struct sub_request request(size_t n_feeds)
{
    static struct feed_ref refs[2];

    refs[0] =
        (struct feed_ref){.url = STR("http://a.example/f"), .shown_url = STR("HTTP://a.example/f")};
    refs[1] = (struct feed_ref){.url = STR("http://b.example/f")};
    return (struct sub_request){.endpoint = STR("http://sink.example/rpc"),
                                .endpoint_credential = STR("name:word"),
                                .sink = STR("xmlrpc"),
                                .feeds = refs,
                                .n_feeds = n_feeds,
                                .level = LEVEL_KEEP};
}

static int64_t subscribe(struct fixture *f, const struct sub_request *req)
{
    struct answer a;

    WRITE(a, store_subscribe(f->store, req, on_answer, &a));
    if (a.rc != RC_OK)
        fail_msg("subscribe: %s", a.text);
    return a.res.id;
}

static struct subscription *sub_at(struct fixture *f, int64_t id)
{
    struct subscription *subs;
    size_t n;

    assert_int_equal(RC_OK, reader_subs(f->reader, &id, 1, &f->arena, &subs, &n, NULL));
    return n == 0 ? NULL : subs;
}

static int64_t feed_id(struct fixture *f, const char *url)
{
    struct feed_brief b;

    return store_find_feed(f->store, str_from(url), STR_NULL, &b) ? b.id : 0;
}

/* The titles of the next push, and move the position behind it; "" when there is nothing. */
static const char *push(struct fixture *f, int64_t id, size_t max)
{
    struct subscription *sub = sub_at(f, id);
    struct push_outcome o = {.sub_id = id,
                             .generation = sub->generation,
                             .next_try_at = TIME_UNKNOWN,
                             .state = sub->state};
    const char *text = "";
    struct push_next next;
    struct answer a;
    size_t i;

    assert_int_equal(RC_OK, reader_next_push(f->reader, sub, max, &f->arena, &next, NULL));
    for (i = 0; i < next.n; i++)
        text = arena_printf(&f->arena, "%s%s%.*s", text, i == 0 ? "" : " ",
                            STR_ARG(next.revisions[i].title));
    o.position = next.skip_to;
    if (next.n > 0) {
        o.position = next.revisions[next.n - 1].seq;
        o.chain = (struct log_mark){o.position, next.revisions[next.n - 1].at_us};
    }
    o.n_entries = (int64_t)next.n;
    assert_true(o.position >= sub->position);
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    return text;
}

/* PUSH-16: every subscription has an id of its own, and it is never given again */
static void test_subscriptions__ids(void **state)
{
    struct fixture *f = *state;
    struct sub_request req = request(1);
    int64_t first = subscribe(f, &req), second = subscribe(f, &req), third;
    struct answer a;

    assert_int_not_equal(first, second);
    WRITE(a, store_unsubscribe(f->store, second, NULL, 0, on_answer, &a));
    third = subscribe(f, &req);
    assert_true(third > second);
    fixture_close(f);
    fixture_open(f);
    assert_non_null(sub_at(f, third));
    assert_null(sub_at(f, second));
}

static void test_subscriptions__record(void **state)
{
    struct fixture *f = *state;
    struct sub_request req = request(2);
    int64_t id = subscribe(f, &req);
    struct subscription *s = sub_at(f, id), *all;
    struct sub_summary *listed;
    struct feed_brief b;
    size_t n;

    assert_true(str_eqz(s->endpoint, "http://sink.example/rpc"));
    assert_true(str_eqz(s->sink, "xmlrpc"));
    assert_int_equal(SUB_ACTIVE, s->state);
    assert_int_equal(0, s->position);
    assert_false(s->with_initial);
    assert_int_equal(2, s->n_feeds);
    assert_true(str_eqz(s->feeds[0].url, "HTTP://a.example/f"));
    assert_true(str_eqz(s->feeds[1].url, "http://b.example/f"));
    assert_true(store_find_feed(f->store, STR("http://b.example/f"), STR_NULL, &b));
    assert_int_equal(1, b.n_subscriptions);
    assert_true(str_eqz(endpoint_credential(f, id), "name:word"));
    assert_true(str_is_null(endpoint_credential(f, id + 1)));
    req.endpoint = req.endpoint_credential = STR_NULL;
    subscribe(f, &req);
    assert_int_equal(RC_OK, reader_subs(f->reader, NULL, 0, &f->arena, &all, &n, NULL));
    assert_int_equal(2, n);
    assert_true(str_is_null(all[1].endpoint));
    assert_true(store_find_feed(f->store, STR("http://b.example/f"), STR_NULL, &b));
    assert_int_equal(2, b.n_subscriptions);
    assert_int_equal(RC_OK, reader_subs_listed(f->reader, 0, 1, &f->arena, &listed, &n, NULL)); /* CON-05 */
    assert_int_equal(1, n);
    assert_int_equal(id, listed[0].id);
    assert_true(str_eqz(listed[0].endpoint, "http://sink.example/rpc")); /* without the credential */
    assert_int_equal(2, listed[0].n_feeds);
    assert_int_equal(TIME_UNKNOWN, listed[0].failing_since);
    assert_int_equal(RC_OK, reader_subs_listed(f->reader, id, 9, &f->arena, &listed, &n, NULL));
    assert_int_equal(1, n);
    assert_true(str_is_null(listed[0].endpoint));
}

static void test_subscriptions__refused(void **state)
{
    struct fixture *f = *state;
    struct sub_request req = request(0);
    struct answer a;

    WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
    assert_int_equal(RC_INPUT, a.rc);
    req = request(2);
    req.level = 7;
    WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
    assert_int_equal(RC_INPUT, a.rc);
    assert_int_equal(0, feed_id(f, "http://a.example/f")); /* nothing of it is left */
    WRITE(a, store_unsubscribe(f->store, 5, NULL, 0, on_answer, &a));
    assert_int_equal(RC_NOT_FOUND, a.rc);
    WRITE(a, store_resume(f->store, 5, -1, on_answer, &a));
    assert_int_equal(RC_NOT_FOUND, a.rc);
}

/* PUSH-05: what was there before is not pushed, also when the first fetch comes later */
static void test_subscriptions__nothing_at_first(void **state)
{
    struct fixture *f = *state;
    struct sub_request req = request(1);
    int64_t sub = subscribe(f, &req), id = feed_id(f, "http://a.example/f");
    struct entry_change old[] = {change(f, "1", "one", 100), change(f, "2", "two", 200)};
    struct entry_change later = change(f, "3", "three", 300);

    store_changes(f, id, old, 2);
    assert_string_equal("", push(f, sub, 10));
    assert_int_equal(2, sub_at(f, sub)->position);
    store_changes(f, id, &later, 1);
    assert_string_equal("three", push(f, sub, 10));
    assert_string_equal("", push(f, sub, 10));
    assert_int_equal(1, sub_at(f, sub)->n_delivered);
}

/* D46: from=start and from=<cursor> */
static void test_subscriptions__from(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/f", NULL), start, middle, end;
    struct entry_change old[] = {change(f, "1", "one", 100), change(f, "2", "two", 200)};
    struct sub_request req = request(1);

    store_changes(f, id, old, 2);
    end = subscribe(f, &req);
    req.from_given = true;
    start = subscribe(f, &req);
    req.from_seq = 1;
    middle = subscribe(f, &req);
    assert_string_equal("one two", push(f, start, 10));
    assert_string_equal("two", push(f, middle, 10));
    assert_string_equal("", push(f, end, 10));
}

/* PUSH-04, PUSH-08: one feed and one fetch in a push, oldest first, edits too, at most max */
static void test_subscriptions__pushes(void **state)
{
    struct fixture *f = *state;
    struct sub_request req = request(2);
    int64_t sub = subscribe(f, &req);
    int64_t a = feed_id(f, "http://a.example/f"), b = feed_id(f, "http://b.example/f");
    struct entry_change one[] = {change(f, "2", "a2", 200), change(f, "1", "a1", 100)};
    struct entry_change two = change(f, "1", "b1", 100);
    struct entry_change three[] = {change(f, "3", "a3", 300), change(f, "1", "edit", 100)};
    struct entry_change gone = {.kind = REV_DELETED,
                                .uid = STR("2"),
                                .doc = STR(""),
                                .published_at = TIME_UNKNOWN,
                                .updated_at = TIME_UNKNOWN};
    struct push_next next;

    store_changes(f, a, NULL, 0); /* the first document is empty: all that follows is news */
    store_changes(f, b, NULL, 0);
    store_changes(f, a, one, 2);
    store_changes(f, b, &two, 1);
    store_changes(f, a, three, 2);
    store_changes(f, a, &gone, 1); /* PUSH-17 */
    assert_int_equal(RC_OK,
                     reader_next_push(f->reader, sub_at(f, sub), 10, &f->arena, &next, NULL));
    assert_int_equal(2, next.n);
    assert_true(str_eqz(next.shown_url, "HTTP://a.example/f"));
    assert_string_equal("a1 a2", push(f, sub, 10));
    assert_string_equal("b1", push(f, sub, 10));
    assert_string_equal("edit", push(f, sub, 1));
    assert_string_equal("a3", push(f, sub, 1));
    assert_string_equal("", push(f, sub, 1));
    assert_int_equal(store_last_seq(f->store), sub_at(f, sub)->position);
}

/* PUSH-09 */
static void test_subscriptions__failing_and_resuming(void **state)
{
    struct fixture *f = *state;
    struct sub_request req = request(1);
    int64_t sub = subscribe(f, &req);
    struct push_outcome o = {.sub_id = sub,
                             .failed = true,
                             .error = STR("connection refused"),
                             .next_try_at = 5000,
                             .state = SUB_ACTIVE};
    struct subscription *s;
    struct answer a;

    clock_fake_us(INT64_C(1000) * 1000000);
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    clock_fake_us(INT64_C(2000) * 1000000);
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    s = sub_at(f, sub);
    assert_int_equal(2, s->n_failures);
    assert_int_equal(1000, s->failing_since);
    assert_int_equal(5000, s->next_try_at);
    assert_true(str_eqz(s->last_error, "connection refused"));
    o.state = SUB_SUSPENDED;
    o.next_try_at = TIME_UNKNOWN;
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    s = sub_at(f, sub);
    assert_int_equal(SUB_SUSPENDED, s->state);
    assert_int_equal(0, s->position);
    WRITE(a, store_resume(f->store, sub, -1, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    s = sub_at(f, sub);
    assert_int_equal(SUB_ACTIVE, s->state);
    assert_int_equal(0, s->n_failures);
    assert_int_equal(TIME_UNKNOWN, s->failing_since);
    WRITE(a, store_resume(f->store, sub, 42, on_answer, &a));
    assert_int_equal(42, sub_at(f, sub)->position);
}

/* DELIV-01: a position that is set during a push stays, however the push ends */
static void test_subscriptions__a_position_set_meanwhile_stays(void **state)
{
    struct fixture *f = *state;
    struct sub_request req = request(1);
    int64_t sub = subscribe(f, &req);
    struct push_outcome o = {
        .sub_id = sub, .generation = 1, .position = 9, .n_entries = 2, .next_try_at = TIME_UNKNOWN};
    struct answer a;

    WRITE(a, store_resume(f->store, sub, 7, on_answer, &a)); /* the push begins here */
    WRITE(a, store_resume(f->store, sub, 3, on_answer, &a)); /* a replay */
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    assert_int_equal(3, sub_at(f, sub)->position);
    assert_int_equal(2, sub_at(f, sub)->n_delivered);
    o.generation = 2;
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(9, sub_at(f, sub)->position);
}

/* PUSH-10: a fault counts as delivered */
static void test_subscriptions__fault(void **state)
{
    struct fixture *f = *state;
    struct sub_request req = request(1);
    int64_t sub = subscribe(f, &req);
    struct push_outcome o = {.sub_id = sub,
                             .position = 9,
                             .fault = true,
                             .n_entries = 3,
                             .error = STR("fault 4: no"),
                             .next_try_at = TIME_UNKNOWN};
    struct answer a;

    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(1, sub_at(f, sub)->n_faults);
    assert_int_equal(3, sub_at(f, sub)->n_delivered);
    assert_int_equal(9, sub_at(f, sub)->position);
    assert_int_equal(0, sub_at(f, sub)->n_failures);
    assert_true(str_eqz(sub_at(f, sub)->last_error, "fault 4: no"));
}

static void test_subscriptions__leaving(void **state)
{
    struct fixture *f = *state;
    struct sub_request req = request(2);
    int64_t sub = subscribe(f, &req);
    struct str by_shown = STR("HTTP://a.example/f"), by_url = STR("http://b.example/f");
    struct feed_brief b;
    struct answer a;

    WRITE(a, store_unsubscribe(f->store, sub, &by_shown, 1, on_answer, &a));
    assert_int_equal(1, a.res.n_deleted);
    assert_int_equal(1, sub_at(f, sub)->n_feeds);
    assert_true(store_find_feed(f->store, STR("http://a.example/f"), STR_NULL, &b));
    assert_int_equal(0, b.n_subscriptions);
    WRITE(a, store_unsubscribe(f->store, sub, &by_shown, 1, on_answer, &a));
    assert_int_equal(0, a.res.n_deleted);
    WRITE(a, store_unsubscribe(f->store, sub, &by_url, 1, on_answer, &a));
    assert_null(sub_at(f, sub)); /* an empty subscription is gone */
    sub = subscribe(f, &req);
    WRITE(a, store_unsubscribe(f->store, sub, NULL, 0, on_answer, &a));
    assert_int_equal(2, a.res.n_deleted);
    assert_null(sub_at(f, sub));
    assert_true(store_find_feed(f->store, STR("http://b.example/f"), STR_NULL, &b));
    assert_int_equal(0, b.n_subscriptions);
}

/* What follows something gets what was found for it, in the folder of its feeds; nothing happens if it is so already, if it
 * follows something else by now, or has ended. */
static void test_subscriptions__following(void **state)
{
    struct fixture *f = *state;
    struct sub_request req = request(2);
    int64_t sub, a_id, b_id, c_id = add_feed(f, "http://c.example/f", NULL);
    struct sub_feed found[2];
    struct sub_following in = {.asks = STR("read 0 all=1"), .filter = STR("q=x"), .feeds = found, .n_feeds = 2};
    struct feed_brief b;
    struct answer a;

    req.asks = in.asks;
    in.sub_id = sub = subscribe(f, &req);
    a_id = feed_id(f, "http://a.example/f");
    b_id = feed_id(f, "http://b.example/f");
    WRITE(a, store_change_sub(f->store, &(struct sub_change){.sub_id = sub, .folder = STR("[\"x\"]"), .level = LEVEL_KEEP},
                              on_answer, &a));
    found[0] = (struct sub_feed){.feed_id = b_id < c_id ? b_id : c_id, .url = STR("http://first.example/")};
    found[1] = (struct sub_feed){.feed_id = b_id < c_id ? c_id : b_id, .url = STR("http://second.example/")};
    in.asks = STR("read 0 folder=else");
    WRITE(a, store_follow_sub(f->store, &in, on_answer, &a));
    assert_int_equal(a_id, sub_at(f, sub)->feeds[0].feed_id);

    in.asks = req.asks;
    WRITE(a, store_follow_sub(f->store, &in, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    assert_int_equal(2, sub_at(f, sub)->n_feeds);
    assert_int_equal(b_id, sub_at(f, sub)->feeds[0].feed_id); /* what it had comes first */
    assert_int_equal(c_id, sub_at(f, sub)->feeds[1].feed_id);
    assert_true(str_eqz(sub_at(f, sub)->feeds[1].folder, "[\"x\"]"));
    assert_true(str_eqz(sub_at(f, sub)->filter, "q=x"));
    assert_true(store_find_feed(f->store, STR("http://a.example/f"), STR_NULL, &b));
    assert_int_equal(0, b.n_subscriptions);
    in.filter = STR_NULL;
    in.n_feeds = 0;
    WRITE(a, store_follow_sub(f->store, &in, on_answer, &a));
    assert_int_equal(0, sub_at(f, sub)->n_feeds); /* it waits for feeds */
    assert_true(str_is_null(sub_at(f, sub)->filter));
    in.sub_id = 999;
    WRITE(a, store_follow_sub(f->store, &in, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
}

/* A feed may be named by any of its URLs, and only feeds of this subscription go. */
static void test_subscriptions__leaving_by_other_names(void **state)
{
    struct fixture *f = *state;
    struct sub_request req = request(2);
    int64_t sub = subscribe(f, &req), other = subscribe(f, &req), a_id, b_id;
    struct str by_page = STR("http://page.example/"), by_alias = STR("http://a.example/f");
    struct poll_outcome o;
    struct answer a;

    a_id = feed_id(f, "http://a.example/f");
    b_id = feed_id(f, "http://b.example/f");
    o = outcome(a_id, NULL, 0);
    o.check.url = STR("http://moved.example/");
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    o = outcome(b_id, NULL, 0);
    o.check.page_url = by_page;
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    WRITE(a, store_unsubscribe(f->store, sub, &by_alias, 1, on_answer, &a));
    assert_int_equal(1, a.res.n_deleted);
    assert_int_equal(b_id, sub_at(f, sub)->feeds[0].feed_id);
    WRITE(a, store_unsubscribe(f->store, sub, &by_page, 1, on_answer, &a));
    assert_int_equal(1, a.res.n_deleted);
    assert_null(sub_at(f, sub));
    assert_int_equal(2, sub_at(f, other)->n_feeds);
}

static struct subscription seen; /* copied out of the callback */
static char seen_url[64];

static void on_made(void *ctx, enum rc rc, const struct store_result *res, const struct err *err)
{
    if (res->sub != NULL && res->sub->n_feeds > 0) {
        seen = *res->sub;
        snprintf(seen_url, sizeof seen_url, "%.*s", STR_ARG(res->sub->feeds[0].url));
    }
    on_answer(ctx, rc, res, err);
}

static void test_subscriptions__result_shows_it(void **state)
{
    struct fixture *f = *state;
    struct sub_request req = request(2);
    struct answer a;

    seen = (struct subscription){0};
    WRITE(a, store_subscribe(f->store, &req, on_made, &a));
    assert_int_equal(a.res.id, seen.id);
    assert_int_equal(2, seen.n_feeds);
    assert_string_equal("HTTP://a.example/f", seen_url);
}

/* SCHED-02: freq comes with the subscription */
static void test_subscriptions__level(void **state)
{
    struct fixture *f = *state;
    struct sub_request req = request(2);
    struct feed *feed;
    int64_t id;
    size_t n;

    req.level = LEVEL_EXACT;
    req.period_s = 10;
    subscribe(f, &req);
    id = feed_id(f, "http://b.example/f");
    assert_int_equal(RC_OK, reader_feeds(f->reader, &id, 1, &f->arena, &feed, &n, NULL));
    assert_int_equal(LEVEL_EXACT, feed->level);
    assert_int_equal(10, feed->period_s);
    assert_int_equal(REASON_NEW, feed->next_reason);
    assert_int_equal(1, feed->n_subscriptions);
}

/* A turn that read its subscription before two feeds became one must not pass over what is now
 * the other's: there is nothing for it, and its position stays. */
static void test_subscriptions__merge_behind_a_turn(void **state)
{
    struct fixture *f = *state;
    struct sub_request req = request(2);
    int64_t id = subscribe(f, &req), a_id = feed_id(f, "http://a.example/f");
    int64_t b_id = feed_id(f, "http://b.example/f");
    struct entry_change one = change(f, "1", "one", 100), two = change(f, "2", "two", 200);
    struct subscription *sub;
    struct poll_outcome o;
    struct answer a;
    struct push_next next;

    store_changes(f, a_id, NULL, 0);
    store_changes(f, b_id, NULL, 0);
    store_changes(f, a_id, &one, 1);
    sub = sub_at(f, id);
    o = outcome(a_id, NULL, 0);
    o.check.url = STR("http://c.example/f");
    assert_int_not_equal(0, add_feed(f, "http://c.example/f", NULL));
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(feed_id(f, "http://c.example/f"), a.res.id);
    store_changes(f, b_id, &two, 1);
    assert_int_equal(RC_OK, reader_next_push(f->reader, sub, 10, &f->arena, &next, NULL));
    assert_int_equal(0, next.n);
    assert_int_equal(sub->position, next.skip_to);
    assert_string_equal("one", push(f, id, 10)); /* read again */
    assert_string_equal("two", push(f, id, 10));
}

static struct feed *feed_of(struct fixture *f, int64_t id)
{
    struct feed *feed;
    size_t n;

    assert_int_equal(RC_OK, reader_feeds(f->reader, &id, 1, &f->arena, &feed, &n, NULL));
    assert_int_equal(1, n);
    return feed;
}

/* What a feed is said to be: by its own details, else by that of the request, else as it is. */
static void test_subscriptions__wishes(void **state)
{
    struct fixture *f = *state;
    struct sub_request req = request(2);
    struct feed_ref refs[2] = {req.feeds[0], req.feeds[1]};
    struct sub_feed *feed;
    struct answer a;

    req.feeds = refs;
    req.level = 2;
    refs[0].details = (struct feed_details){.has_level = true,
                                            .level = LEVEL_EXACT,
                                            .period_s = 90,
                                            .sanitize = SANITIZE_OFF,
                                            .name = STR("mine"),
                                            .folder = STR("[\"A\",\"B\"]"),
                                            .category = STR("x,/y/z"),
                                            .title = STR("Its title"),
                                            .site_url = STR("http://a.example/")};
    feed = sub_at(f, subscribe(f, &req))->feeds;
    assert_true(str_eqz(feed[0].name, "mine"));
    assert_true(str_eqz(feed[0].folder, "[\"A\",\"B\"]"));
    assert_true(str_eqz(feed[0].category, "x,/y/z"));
    assert_true(str_is_null(feed[1].name) && str_is_null(feed[1].folder));
    assert_int_equal(LEVEL_EXACT, feed_of(f, feed[0].feed_id)->level);
    assert_int_equal(90, feed_of(f, feed[0].feed_id)->period_s);
    assert_true(feed_of(f, feed[0].feed_id)->raw_html);
    assert_true(str_eqz(feed_of(f, feed[0].feed_id)->title, "Its title"));
    assert_true(str_eqz(feed_of(f, feed[0].feed_id)->site_url, "http://a.example/"));
    assert_int_equal(2, feed_of(f, feed[1].feed_id)->level);
    assert_false(feed_of(f, feed[1].feed_id)->raw_html);

    /* no wish keeps; a title is for new feeds only */
    refs[0].details = (struct feed_details){.title = STR("Another")};
    req.level = LEVEL_KEEP;
    subscribe(f, &req);
    assert_true(feed_of(f, feed[0].feed_id)->raw_html);
    assert_int_equal(90, feed_of(f, feed[0].feed_id)->period_s);
    assert_true(str_eqz(feed_of(f, feed[0].feed_id)->title, "Its title"));
    req.sanitize = SANITIZE_ON;
    subscribe(f, &req);
    assert_false(feed_of(f, feed[0].feed_id)->raw_html);

    refs[1].details = (struct feed_details){.has_level = true, .level = 7};
    WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
    assert_int_equal(RC_INPUT, a.rc);
}

/* A change of the setting makes the next document be read whole, also when a fetch was under way.
 */
static void test_subscriptions__sanitize_forgets_validators(void **state)
{
    struct fixture *f = *state;
    struct sub_request req = request(1);
    int64_t id = sub_at(f, subscribe(f, &req))->feeds[0].feed_id;
    struct poll_outcome o = outcome(id, NULL, 0);
    struct answer a;

    o.check.etag = STR("\"1\"");
    o.has_body_hash = true;
    for (int k = 0; k < 2; k++) {
        WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
        assert_true(feed_of(f, id)->has_body_hash);
        assert_true(str_eqz(feed_of(f, id)->etag, "\"1\""));
        req.sanitize = k == 0 ? SANITIZE_ON : SANITIZE_OFF; /* the first changes nothing */
        subscribe(f, &req);
    }
    assert_false(feed_of(f, id)->has_body_hash);
    assert_int_equal(0, feed_of(f, id)->etag.len);
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a)); /* read under the old setting */
    assert_false(feed_of(f, id)->has_body_hash);
    o.check.raw_html = true;
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_true(feed_of(f, id)->has_body_hash);
}

/* Unsafe HTML was let in for who asked for it: it ends with the last of them. */
static void test_subscriptions__sanitize_comes_back_with_the_last_to_leave(void **state)
{
    struct fixture *f = *state;
    struct sub_request req = request(1);
    int64_t one, two, id;
    struct answer a;

    req.sanitize = SANITIZE_OFF;
    one = subscribe(f, &req);
    req.sanitize = SANITIZE_KEEP;
    two = subscribe(f, &req);
    id = sub_at(f, one)->feeds[0].feed_id;
    WRITE(a, store_unsubscribe(f->store, one, NULL, 0, on_answer, &a));
    assert_true(feed_of(f, id)->raw_html);
    WRITE(a, store_unsubscribe(f->store, two, NULL, 0, on_answer, &a));
    assert_false(feed_of(f, id)->raw_html);
}

/* A feed that turns out to be another one brings no unsafe HTML with it. */
static void test_subscriptions__merged_feed_is_sanitized_unless_both_are_not(void **state)
{
    struct fixture *f = *state;

    for (int both = 0; both < 2; both++) {
        struct feed_ref raw = {.url = str_printf(&f->arena, "http://raw%d.example/", both)};
        struct feed_ref other = {.url = str_printf(&f->arena, "http://other%d.example/", both)};
        struct sub_request req = request(1);
        struct poll_outcome o;
        struct answer a;

        req.feeds = &raw;
        req.sanitize = SANITIZE_OFF;
        o = outcome(sub_at(f, subscribe(f, &req))->feeds[0].feed_id, NULL, 0);
        req.feeds = &other;
        req.sanitize = both ? SANITIZE_OFF : SANITIZE_ON;
        subscribe(f, &req);
        o.check.url = other.url;
        o.check.raw_html = true;
        WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
        assert_int_equal(RC_OK, a.rc);
        assert_int_equal(both, feed_of(f, a.res.id)->raw_html);
    }
}

/* ---- many ------------------------------------------------------------------------------------ */

/* Steps that the engine has taken on all connections. */
static atomic_long n_steps;

static int on_statement(unsigned what UNUSED, void *ctx UNUSED, void *st, void *ns UNUSED)
{
    atomic_fetch_add(&n_steps, sqlite3_stmt_status(st, SQLITE_STMTSTATUS_VM_STEP, 1));
    return 0;
}

static int on_open(sqlite3 *sq, const char **text UNUSED, const void *api UNUSED)
{
    return sqlite3_trace_v2(sq, SQLITE_TRACE_PROFILE, on_statement, NULL);
}

static int counting_setup(void **state)
{
    sqlite3_auto_extension((void (*)(void))on_open);
    return fixture_setup(state);
}

static int counting_teardown(void **state)
{
    sqlite3_reset_auto_extension();
    return fixture_teardown(state);
}

/* Subscribe `n` more to the same feed. Returns the steps that this took. */
static long subscribe_many(struct fixture *f, int n)
{
    static int n_endpoints;
    struct sub_request req = request(1);
    struct answer a = answer_init(n);
    long before = n_steps;

    for (int i = 0; i < n; i++) {
        req.endpoint = str_printf(&f->arena, "http://sink.example/%d", n_endpoints++);
        assert_int_equal(RC_OK, store_subscribe(f->store, &req, on_answer, &a));
    }
    answer_wait(&a);
    assert_int_equal(RC_OK, a.rc);
    return n_steps - before;
}

/* DELIV-08, PUSH-18: a subscription costs as much when its feed has ten thousand others. (What is
 * done once for a transaction differs with their size, so the bound is not tight; a row more to be
 * read for each of the others would make it ten times as much.) */
static void test_subscriptions__cost_of_one_among_many(void **state)
{
    struct fixture *f = *state;
    long among_few, among_many;

    ONLY_ON_SQLITE();
    subscribe_many(f, 64);
    among_few = subscribe_many(f, 1000);
    subscribe_many(f, 8000);
    among_many = subscribe_many(f, 1000);
    assert_true(among_few >= 1000);
    assert_in_range(among_many, 1, among_few * 3 / 2);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_subscriptions__##name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(ids),
        T(record),
        T(refused),
        T(nothing_at_first),
        T(from),
        T(pushes),
        T(failing_and_resuming),
        T(a_position_set_meanwhile_stays),
        T(fault),
        T(leaving),
        T(following),
        T(leaving_by_other_names),
        T(result_shows_it),
        T(level),
        T(merge_behind_a_turn),
        T(wishes),
        T(sanitize_forgets_validators),
        T(sanitize_comes_back_with_the_last_to_leave),
        T(merged_feed_is_sanitized_unless_both_are_not),
        cmocka_unit_test_setup_teardown(test_subscriptions__cost_of_one_among_many, counting_setup,
                                        counting_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
