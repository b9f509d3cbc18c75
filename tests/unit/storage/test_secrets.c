/* tests/unit/storage/test_secrets.c - what is sent with the fetches of a feed, when it changes while one
 * runs and when two feeds turn out to be one. ETIQ-08. */
#include "fixture.h"
#include "tests/unit/cmocka_all.h"

#define HERS "home=http://a.example/1\ncookie=hers\n"
#define HIS "home=http://a.example/2\ncookie=his\n"

static const struct feed *feed_of(struct fixture *f, int64_t id)
{
    struct feed *feed;

    assert_int_equal(RC_OK, reader_feed(f->reader, id, &f->arena, &feed, NULL));
    return feed;
}

static void give(struct fixture *f, int64_t id, const char *secrets)
{
    struct feed_change c = {.feed_id = id, .secrets = str_from(secrets), .level = LEVEL_KEEP};
    struct answer a;

    WRITE(a, store_change_feed(f->store, &c, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
}

/* A fetch that was made with these secrets; null: with none. */
static struct answer fetched(struct fixture *f, struct poll_outcome *o, const char *secrets)
{
    struct answer a;

    o->check.secrets = secrets == NULL ? STR_NULL : str_from(secrets);
    WRITE(a, store_poll_outcome(f->store, o, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    return a;
}

static void failed(struct fixture *f, int64_t id, const char *secrets, int status)
{
    struct poll_outcome o = outcome(id, NULL, 0);

    o.has_document = o.check.ok = false;
    o.check.status = status;
    o.check.error = STR("it did not work");
    o.check.state = FEED_FAILING;
    o.check.n_errors = 1;
    o.check.next_fetch_at = clock_now_s() + 86400;
    o.check.next_reason = REASON_BACKOFF;
    fetched(f, &o, secrets);
}

static void refused(struct fixture *f, int64_t id, const char *secrets)
{
    failed(f, id, secrets, 401);
}

/* What was asked for as somebody else neither counts as an error nor shows its entries. */
static void test_secrets__a_fetch_of_before_is_void(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/1", NULL);
    struct entry_change hers = change(f, "1", "for her", 100);
    struct poll_outcome o = outcome(id, &hers, 1);
    struct view v = view_of(VIEW_NEWEST, &id, 1);
    const struct feed *feed;

    give(f, id, HERS);
    fetched(f, &o, HERS);
    give(f, id, HIS);
    refused(f, id, HERS);
    feed = feed_of(f, id);
    assert_int_equal(0, feed->n_errors);
    assert_true(str_is_null(feed->last_error));
    assert_int_equal(REASON_HAND, feed->next_reason); /* and it is due */
    assert_true(feed->next_fetch_at <= clock_now_s() + 5);
    hers = change(f, "2", "more for her", 200);
    o = outcome(id, &hers, 1);
    o.check.etag = STR("\"hers\"");
    assert_true(fetched(f, &o, HERS).res.is_overtaken);
    assert_true(str_is_null(feed_of(f, id)->etag));
    assert_string_equal("for her", view_titles(f, &v));
    assert_false(fetched(f, &o, HIS).res.is_overtaken);
    assert_string_equal("more for her for her", view_titles(f, &v));
    refused(f, id, HIS);
    assert_int_equal(1, feed_of(f, id)->n_errors);
}

/* The same of its past: a failure is not noted, and the document is to be read still. */
static void test_secrets__a_document_of_the_past_is_void(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/1", NULL);
    struct entry_change hers = change(f, "1", "for her", 100);
    struct poll_outcome o = outcome(id, NULL, 0);
    struct archive_outcome past = {.feed_id = id, .checked_at = 5000, .url = STR("http://a.example/old"),
                                   .secrets = STR(HERS), .ok = true, .past = {.older = STR_NULL, .whole = true},
                                   .entries = {.changes = &hers, .n = 1}};
    struct view v = view_of(VIEW_NEWEST, &id, 1);
    struct answer a;

    o.past.older = past.url;
    o.past.whole = true;
    give(f, id, HERS);
    fetched(f, &o, HERS);
    give(f, id, HIS);
    WRITE(a, store_archive_outcome(f->store, &past, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    assert_string_equal("", view_titles(f, &v));
    past.ok = false;
    WRITE(a, store_archive_outcome(f->store, &past, 0, on_answer, &a));
    past.ok = true;
    past.secrets = STR(HIS);
    WRITE(a, store_archive_outcome(f->store, &past, 0, on_answer, &a));
    assert_string_equal("for her", view_titles(f, &v));
}

static struct pending_content to_be_read(struct fixture *f, int64_t id)
{
    struct pending_content open;

    assert_int_equal(RC_OK, reader_pending_content(f->reader, id, clock_now_s(), &f->arena, &open, NULL));
    return open;
}

/* The same of a content: it is asked for again. */
static void test_secrets__a_content_is_void(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/1", NULL);
    struct entry_change record = change(f, "1", "record", 100);
    struct poll_outcome o = outcome(id, &record, 1);
    struct content_outcome content = {.feed_id = id, .checked_at = clock_now_s(), .answer = ANSWER_GONE, .n_forms = 1,
                                      .doc = STR("{\"content\":1}"), .ext = STR(""), .secrets = STR(HERS)};
    struct answer a;

    record.is_metadata = true;
    give(f, id, HERS);
    fetched(f, &o, HERS);
    content.entry_id = to_be_read(f, id).entry_id;
    content.seq = to_be_read(f, id).seq;
    assert_true(content.entry_id > 0);
    give(f, id, HIS);
    for (int answer = ANSWER_CONTENT; answer <= ANSWER_OPEN; answer++) {
        content.answer = (enum content_answer)answer;
        WRITE(a, store_content_outcome(f->store, &content, 0, on_answer, &a));
        assert_int_equal(RC_OK, a.rc);
        assert_int_equal(content.seq, to_be_read(f, id).seq);
        assert_int_equal(0, to_be_read(f, id).form);
    }
    content.answer = ANSWER_CONTENT;
    content.secrets = STR(HIS);
    WRITE(a, store_content_outcome(f->store, &content, 0, on_answer, &a));
    assert_int_equal(0, to_be_read(f, id).entry_id);
}

/* The feed at /1 moves to /2, where another one is. */
static const struct feed *merged(struct fixture *f, const char *from_has, const char *to_has, int to_status)
{
    int64_t from = add_feed(f, "http://a.example/1", NULL), to = add_feed(f, "http://a.example/2", NULL);
    struct entry_change one = change(f, "1", "one", 100);
    struct poll_outcome o = outcome(to, &one, 1);

    give(f, from, from_has);
    give(f, to, to_has);
    o.check.etag = STR("\"of the one at /2\"");
    fetched(f, &o, to_has);
    if (to_status != 200)
        failed(f, to, to_has, to_status);
    o = outcome(from, &one, 1);
    o.check.url = STR("http://a.example/2");
    fetched(f, &o, from_has);
    assert_int_equal(RC_NOT_FOUND, reader_feed(f->reader, from, &f->arena, &(struct feed *){NULL}, NULL));
    return feed_of(f, to);
}

static void test_secrets__merged_feeds_keep_those_that_work(void **state)
{
    assert_true(str_eqz(merged(*state, HERS, HIS, 200)->secrets, HIS));
}

static void test_secrets__merged_feeds_drop_those_that_are_refused(void **state)
{
    const struct feed *feed = merged(*state, HERS, HIS, 401);

    assert_true(str_eqz(feed->secrets, HERS));
    assert_true(str_is_null(feed->etag)); /* of what the other one saw */
}

/* One failure says nothing of what an admin gave: no answer (0), an error of the publisher. */
static void test_secrets__a_timeout_takes_no_secrets_away(void **state)
{
    assert_true(str_eqz(merged(*state, HERS, HIS, 0)->secrets, HIS));
}

static void test_secrets__an_error_of_the_publisher_takes_no_secrets_away(void **state)
{
    assert_true(str_eqz(merged(*state, HERS, HIS, 503)->secrets, HIS));
}

static void test_secrets__merged_feeds_stay_private(void **state)
{
    assert_true(str_eqz(merged(*state, HERS, "", 200)->secrets, HERS));
}

static void test_secrets__a_private_feed_takes_a_public_one(void **state)
{
    assert_true(str_eqz(merged(*state, "", HIS, 401)->secrets, HIS));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_secrets__##name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(a_fetch_of_before_is_void),
        T(a_document_of_the_past_is_void),
        T(a_content_is_void),
        T(merged_feeds_keep_those_that_work),
        T(merged_feeds_drop_those_that_are_refused),
        T(a_timeout_takes_no_secrets_away),
        T(an_error_of_the_publisher_takes_no_secrets_away),
        T(merged_feeds_stay_private),
        T(a_private_feed_takes_a_public_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
