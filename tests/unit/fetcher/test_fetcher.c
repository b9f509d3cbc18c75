/* tests/unit/fetcher/test_fetcher.c - the whole fetcher over a real store: what documents,
 * addresses and answers come to. */
#include "world.h"
#include "tests/unit/cmocka_all.h"

#include "base/clock.h"
#include "base/stats.h"
#include "fetcher/reading.h"
#include "fetcher/waiting.h"

/* SCHED-11, SCHED-12, D9, D44: first, not modified, same body, other document, changed entry. */
static void test_fetcher__documents_become_revisions(void **state)
{
    struct world *w = *state;
    struct feed *feed;
    struct revision *revs;
    bool is_first;
    int64_t id;
    size_t n;

    serve(w, "/f", "W/\"1\"", RSS(ITEM("b", "B") ITEM("a", "A")));
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, 1, 0);
    assert_int_equal(fetch(w, id), RC_OK);
    assert_int_equal(count_revisions(w, id), 2);
    feed = feed_of(w, id);
    assert_str(feed->etag, "W/\"1\"");
    assert_str(feed->title, "T");
    assert_int_equal(feed->state, FEED_OK);
    is_first = origin_count(w->origin, "/f") == 1; /* the sweeper may have been faster */
    assert_int_equal(feed->last_status, is_first ? 200 : 304);
    assert_true(feed->next_fetch_at >= feed->last_check_at + 1799);
    assert_int_equal(feed->next_reason, REASON_PERIOD);
    assert_non_null(strstr(origin_last(w->origin, "/f"), "; 1 subscriber)\r\n"));
    if (is_first)
        assert_null(strstr(origin_last(w->origin, "/f"), "If-None-Match"));

    n = origin_count(w->origin, "/f");
    assert_int_equal(fetch(w, id), RC_OK);
    assert_int_equal(origin_count(w->origin, "/f"), n + 1);
    assert_non_null(strstr(origin_last(w->origin, "/f"), "If-None-Match: W/\"1\"\r\n"));
    assert_non_null(strstr(origin_last(w->origin, "/f"), "A-IM: feed\r\n"));
    assert_int_equal(feed_of(w, id)->last_status, 304);
    assert_str(feed_of(w, id)->etag, "W/\"1\"");

    serve(w, "/f", "\"2\"", RSS(ITEM("b", "B") ITEM("a", "A")));
    assert_int_equal(fetch(w, id), RC_OK);
    assert_str(feed_of(w, id)->etag, "\"2\"");
    serve(w, "/f", "\"3\"", "\n" RSS(ITEM("b", "B") "  " ITEM("a", "A")));
    assert_int_equal(fetch(w, id), RC_OK);
    assert_int_equal(count_revisions(w, id), 2);

    serve(w, "/f", NULL, RSS(ITEM("c", "C") ITEM("b", "B2") ITEM("a", "A")));
    assert_int_equal(fetch(w, id), RC_OK);
    revs = revisions(w, id, &n);
    assert_int_equal(n, 4);
    assert_true(revs[0].initial && revs[1].initial && !revs[2].initial && !revs[3].initial);
    for (size_t i = 2; i < 4; i++)
        assert_int_equal(revs[i].kind, str_eqz(revs[i].uid, "b") ? REV_CHANGED : REV_NEW);
    assert_int_equal(feed_of(w, id)->etag.len, 0);
}

/* The row is read when the poll begins; worker and storer use what was read. */
static void test_fetcher__a_poll_reads_the_row_once(void **state)
{
    static const struct {
        const char *etag, *body;
    } rows[] = {{"\"1\"", RSS(ITEM("a", "A"))}, /* as it was: 304 */
                {"\"2\"", RSS(ITEM("a", "A"))}, /* the same body */
                {"\"3\"", RSS(ITEM("b", "B") ITEM("a", "A"))},
                {"\"4\"", PAGE("")}};
    struct world *w = *state;
    int64_t id, before;

    serve(w, "/f", "\"1\"", RSS(ITEM("a", "A")));
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, 1, 0);
    assert_int_equal(fetch(w, id), RC_OK);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        serve(w, "/f", rows[i].etag, rows[i].body);
        before = stats_get(STAT_feed_loads_total);
        fetch(w, id);
        assert_int_equal(stats_get(STAT_feed_loads_total) - before, 1);
    }
}

/* What others change while the poll runs is not undone, and counts for the next time. */
static void test_fetcher__a_row_that_changes_meanwhile_is_read_again(void **state)
{
    struct world *w = *state;
    struct ticket t = TICKET;
    const struct feed *feed;
    int64_t id;

    serve(w, "/f", NULL, RSS(ITEM("a", "A")));
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, 1, 0);
    assert_int_equal(fetch(w, id), RC_OK);
    origin_set(w->origin, "/f",
               &(struct origin_page){
                   .status = 200, .body = RSS(ITEM("b", "B") ITEM("a", "A")), .delay_ms = 300});
    fetcher_await(w->fetcher, id, REASON_READER, on_fetched, &t);
    wait_count(w, "/f", 2);
    subscribe(w, origin_url(w->origin, "/f"), NULL, LEVEL_EXACT, 77);
    wait_for(&t);
    feed = feed_of(w, id);
    assert_int_equal(feed->level, LEVEL_EXACT);
    assert_int_equal(feed->n_subscriptions, 2);
    assert_true(feed->next_fetch_at <= feed->last_check_at + 77);
    assert_int_equal(count_revisions(w, id), 2);
}

/* A feed whose head is long, and a past of many documents: each reading holds one row. */
static void test_fetcher__a_row_that_is_read_again_is_held_once(void **state)
{
    static const struct schedule_rules rules;
    struct world *w = *state;
    char *title = arena_zalloc(&w->arena, 100001);
    const char *url = arena_printf(&w->arena, "%s", origin_url(w->origin, "/f"));
    struct parse_worker worker = {.store = w->store, .reader = reader_open(w->store)};
    struct job *job;
    struct reading r;
    int64_t id;

    memset(title, 'x', 100000);
    serve(w, "/f", NULL,
          arena_printf(
              &w->arena,
              "<rss version='2.0'><channel><title>%s</title>" ITEM("a", "A") "</channel></rss>",
              title));
    id = subscribe(w, url, NULL, 1, 0);
    assert_int_equal(fetch(w, id), RC_OK);
    job = job_new(NULL, &source_archive, id, 0, &rules);
    reading_begin(&r, &worker, job);
    for (int i = 0; i < 10; i++) {
        subscribe(w, url, NULL, 1, 0);
        assert_int_equal(reading_fresh(&r)->n_subscriptions, i + 2);
    }
    assert_in_range(arena_size(job->feed_arena), 100000, 1000000);
    reading_end(&r);
    job_free(&job);
    reader_close(&worker.reader);
}

/* DISC-08: 301 and 308 move the feed when a feed is there, 302 and 307 do not. */
static void test_fetcher__permanent_redirects_are_adopted(void **state)
{
    static const struct {
        int status;
        bool moves;
    } rows[] = {{301, true}, {308, true}, {302, false}, {303, false}, {307, false}};
    struct world *w = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char from[32], to[32], location[64];
        struct feed *feed;
        struct feed_brief brief;
        int64_t id;
        int n; /* the sweeper may have been faster than the first fetch() */

        snprintf(from, sizeof from, "/from%d", rows[i].status);
        snprintf(to, sizeof to, "/to%d", rows[i].status);
        snprintf(location, sizeof location, "Location: %s\r\n", to);
        origin_set(w->origin, from,
                   &(struct origin_page){.status = rows[i].status, .fields = location});
        serve(w, to, NULL, RSS(ITEM("a", "A")));
        id = subscribe(w, origin_url(w->origin, from), NULL, 1, 0);
        assert_int_equal(fetch(w, id), RC_OK);
        feed = feed_of(w, id);
        assert_true(str_eqz(feed->url, origin_url(w->origin, rows[i].moves ? to : from)));
        assert_true(
            store_find_feed(w->store, str_from(origin_url(w->origin, from)), STR_NULL, &brief));
        assert_int_equal(brief.id, id);
        n = origin_count(w->origin, from);
        assert_int_equal(fetch(w, id), RC_OK);
        assert_int_equal(origin_count(w->origin, from), rows[i].moves ? n : n + 1);
    }
    /* a redirect to something other than a feed is not taken over */
    origin_set(w->origin, "/maint",
               &(struct origin_page){.status = 301, .fields = "Location: /sorry\r\n"});
    serve(w, "/sorry", NULL, PAGE(""));
    {
        int64_t id = subscribe(w, origin_url(w->origin, "/maint"), NULL, 1, 0);

        assert_int_equal(fetch(w, id), RC_UNSUPPORTED);
        assert_true(str_eqz(feed_of(w, id)->url, origin_url(w->origin, "/maint")));
    }
}

#define MOVED(to)                                                                                  \
    "<rss xmlns:itunes=\"http://www.itunes.com/dtds/podcast-1.0.dtd\" version=\"2.0\"><channel>"   \
    "<title>T</title><link>http://t.example/</link><itunes:new-feed-url>" to                       \
    "</itunes:new-feed-url>" ITEM("a", "A") "</channel></rss>"

/* A document's own word that the feed has moved counts like a permanent redirect: when a feed is
 * there, and not back again. */
static void test_fetcher__documents_that_say_where_the_feed_is(void **state)
{
    struct world *w = *state;
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed_brief brief;
    int64_t id, other;

    serve(w, "/new", NULL,
          arena_printf(&a, MOVED("%s"), origin_url(w->origin, "/old"))); /* they name each other */
    serve(w, "/old", NULL, arena_printf(&a, MOVED("%s"), origin_url(w->origin, "/new")));
    id = subscribe(w, origin_url(w->origin, "/old"), NULL, 1, 0);
    assert_int_equal(fetch(w, id), RC_OK);
    assert_true(str_eqz(feed_of(w, id)->url, origin_url(w->origin, "/new")));
    assert_true(
        store_find_feed(w->store, str_from(origin_url(w->origin, "/old")), STR_NULL, &brief));
    assert_int_equal(brief.id, id);
    serve(w, "/new", NULL, arena_printf(&a, "\n" MOVED("%s"), origin_url(w->origin, "/old")));
    assert_int_equal(fetch(w, id), RC_OK);
    assert_true(str_eqz(feed_of(w, id)->url, origin_url(w->origin, "/new")));
    assert_int_equal(origin_count(w->origin, "/old"), 1);
    assert_int_equal(count_revisions(w, id), 1);

    /* a document that is nothing but that word */
    serve(w, "/moved", NULL,
          arena_printf(&a, "<redirect><newLocation>%s</newLocation></redirect>",
                       origin_url(w->origin, "/there")));
    serve(w, "/there", NULL, RSS(ITEM("a", "A")));
    other = subscribe(w, origin_url(w->origin, "/moved"), NULL, 1, 0);
    assert_int_equal(fetch(w, other), RC_OK);
    assert_true(str_eqz(feed_of(w, other)->url, origin_url(w->origin, "/there")));

    /* where no feed is, the document counts as it is */
    serve(w, "/stays", NULL, arena_printf(&a, MOVED("%s"), origin_url(w->origin, "/nothing")));
    other = subscribe(w, origin_url(w->origin, "/stays"), NULL, 1, 0);
    assert_int_equal(fetch(w, other), RC_OK);
    assert_true(str_eqz(feed_of(w, other)->url, origin_url(w->origin, "/stays")));
    assert_int_equal(count_revisions(w, other), 1);
    assert_int_equal(origin_count(w->origin, "/nothing"), 1);
    /* the second request is for the document itself; the sweeper may have polled once, too */
    assert_in_range(origin_count(w->origin, "/stays"), 2, 3);
}

/* A document names the feed's new URL, and does not change any more: the URL is asked again after
 * the server there was in trouble, and when a web page led to the document. */
static void test_fetcher__a_new_url_is_asked_until_it_was_seen(void **state)
{
    struct world *w = *state;
    AUTO(arena_release) struct arena a = ARENA_INIT;
    int64_t id;

    serve(w, "/old", "\"1\"", arena_printf(&a, MOVED("%s"), origin_url(w->origin, "/new")));
    origin_set(w->origin, "/new", &(struct origin_page){.status = 503});
    id = subscribe(w, origin_url(w->origin, "/old"), NULL, 1, 0);
    assert_int_equal(fetch(w, id), RC_OK);
    assert_str(feed_of(w, id)->url, origin_url(w->origin, "/old"));
    serve(w, "/new", NULL, RSS(ITEM("a", "A")));
    assert_int_equal(fetch(w, id), RC_OK);
    assert_str(feed_of(w, id)->url, origin_url(w->origin, "/new"));

    serve(w, "/page", NULL, PAGE(LINK("/from")));
    serve(w, "/from", "\"1\"", arena_printf(&a, MOVED("%s"), origin_url(w->origin, "/to")));
    serve(w, "/to", NULL, RSS(ITEM("a", "A")));
    id = subscribe(w, origin_url(w->origin, "/page"), NULL, 1, 0);
    assert_int_equal(fetch(w, id), RC_OK); /* the sweeper may have been faster: then it is there */
    assert_int_equal(fetch(w, id), RC_OK);
    assert_str(feed_of(w, id)->url, origin_url(w->origin, "/to"));
}

/* DISC-01, DISC-07, DISC-09: page to feed, one row for both, the page asked again on 404. */
static void test_fetcher__discovery(void **state)
{
    struct world *w = *state;
    struct feed_brief brief;
    struct feed *feed;
    struct ticket t;
    int64_t id, other;

    serve(w, "/page", NULL, PAGE(LINK("/broken") LINK("feed.xml")));
    serve(w, "/feed.xml", "\"1\"", RSS(ITEM("a", "A")));
    id = subscribe(w, origin_url(w->origin, "/page"), NULL, 1, 0);
    assert_int_equal(fetch_into(w, id, REASON_READER, &t), RC_OK);
    assert_int_equal(t.id, id);
    feed = feed_of(w, id);
    assert_true(str_eqz(feed->url, origin_url(w->origin, "/feed.xml")));
    assert_true(str_eqz(feed->page_url, origin_url(w->origin, "/page")));
    assert_int_equal(count_revisions(w, id), 1);
    assert_true(
        store_find_feed(w->store, str_from(origin_url(w->origin, "/page")), STR_NULL, &brief));
    assert_int_equal(brief.id, id);

    assert_int_equal(fetch(w, id), RC_OK);
    assert_int_equal(origin_count(w->origin, "/page"), 1);

    /* the feed moves without a word */
    origin_set(w->origin, "/feed.xml", &(struct origin_page){.status = 404});
    serve(w, "/page", NULL, PAGE(LINK("feed.xml") LINK("new.xml")));
    serve(w, "/new.xml", NULL, RSS(ITEM("b", "B") ITEM("a", "A")));
    assert_int_equal(fetch(w, id), RC_OK);
    assert_int_equal(origin_count(w->origin, "/page"), 2);
    assert_true(str_eqz(feed_of(w, id)->url, origin_url(w->origin, "/new.xml")));
    assert_int_equal(feed_of(w, id)->n_entries, 2);

    /* another page that leads to it becomes part of the feed */
    serve(w, "/page2", NULL, PAGE(LINK("new.xml")));
    other = subscribe(w, origin_url(w->origin, "/page2"), NULL, 1, 0);
    if (other != id) /* it has not been fetched and joined yet */
        assert_int_equal(fetch_into(w, other, REASON_READER, &t), RC_OK);
    assert_int_equal(t.id, id);
    assert_true(
        store_find_feed(w->store, str_from(origin_url(w->origin, "/page2")), STR_NULL, &brief));
    assert_int_equal(brief.id, id);
}

/* DISC-06: the error says that the document is not a feed. */
static void test_fetcher__no_feed_is_unsupported(void **state)
{
    struct world *w = *state;
    struct ticket t;
    int64_t id;

    serve(w, "/page", NULL, PAGE(""));
    id = subscribe(w, origin_url(w->origin, "/page"), NULL, 1, 0);
    assert_int_equal(fetch_into(w, id, REASON_READER, &t), RC_UNSUPPORTED);
    assert_non_null(strstr(t.text, "is a page that announces no feed"));
    assert_string_equal(t.body, origin_url(w->origin, "/page"));
    assert_int_equal(feed_of(w, id)->state, FEED_NEW);
    assert_int_equal(feed_of(w, id)->n_errors, 1);
    serve(w, "/text", NULL, "hello");
    id = subscribe(w, origin_url(w->origin, "/text"), NULL, 1, 0);
    assert_int_equal(fetch_into(w, id, REASON_READER, &t), RC_UNSUPPORTED);
    assert_non_null(strstr(t.text, "not a feed"));
}

/* A failure answers for a second; what is stored stays. */
static void test_fetcher__failures(void **state)
{
    struct world *w = *state;
    struct ticket t;
    int64_t id, begun_ms, n_errors;
    int before;

    serve(w, "/f", NULL, RSS(ITEM("a", "A")));
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, 1, 0);
    assert_int_equal(fetch(w, id), RC_OK);
    before = origin_count(w->origin, "/f"); /* the fetch of a new feed may have come first */
    origin_set(w->origin, "/f", &(struct origin_page){.status = 500});
    begun_ms = clock_mono_ms();
    assert_int_equal(fetch_into(w, id, REASON_READER, &t), RC_PEER);
    assert_int_equal(t.status, 500);
    assert_int_equal(origin_count(w->origin, "/f"), before + 1);
    assert_int_equal(fetch_into(w, id, REASON_READER, &t), RC_PEER);
    if (clock_mono_ms() - begun_ms < FAILURE_HOLDS_MS) /* a busy machine may take longer */
        assert_int_equal(origin_count(w->origin, "/f"), before + 1);
    n_errors = feed_of(w, id)->n_errors;
    assert_int_equal(feed_of(w, id)->state, FEED_FAILING);
    assert_int_equal(feed_of(w, id)->next_reason, REASON_BACKOFF);
    assert_int_equal(count_revisions(w, id), 1);
    /* a page in the feed's place is not a new feed */
    rest_ms(1100);
    serve(w, "/f", NULL, PAGE(LINK("/other")));
    assert_int_equal(fetch(w, id), RC_UNSUPPORTED);
    assert_int_equal(origin_count(w->origin, "/other"), 0);
    assert_int_equal(feed_of(w, id)->n_errors, n_errors + 1);
    assert_int_equal(fetch_into(w, 12345, REASON_READER, &t), RC_NOT_FOUND);
}

/* SCHED-14, ETIQ-06: after 410 for a day it is asked once a week, a reader may still ask. */
static void test_fetcher__gone(void **state)
{
    struct world *w = *state;
    int64_t id;

    serve(w, "/f", NULL, RSS(ITEM("a", "A")));
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, 1, 0);
    assert_int_equal(fetch(w, id), RC_OK);
    origin_set(w->origin, "/f", &(struct origin_page){.status = 410});
    assert_int_equal(fetch(w, id), RC_PEER);
    assert_int_equal(feed_of(w, id)->state, FEED_FAILING);
    assert_true(feed_of(w, id)->next_fetch_at <= clock_now_s() + 1800);
    for (int i = 1; i <= 2; i++) {
        clock_set_ahead_us(i * INT64_C(43201) * 1000000);
        assert_int_equal(fetch(w, id), RC_PEER);
    }
    assert_int_equal(feed_of(w, id)->state, FEED_GONE);
    assert_true(feed_of(w, id)->next_fetch_at > clock_now_s() + 6 * 86400);
    serve(w, "/f", NULL, RSS(ITEM("b", "B")));
    clock_set_ahead_us(INT64_C(90000) * 1000000); /* the failure is not remembered any more */
    assert_int_equal(fetch(w, id), RC_OK);
    assert_int_equal(feed_of(w, id)->state, FEED_OK);
    assert_int_equal(feed_of(w, id)->n_gone, 0);
    assert_true(feed_of(w, id)->next_fetch_at > clock_now_s());
    clock_set_ahead_us(0);
}

/* SCHED-15: a body without end is cut at the limit. */
static void test_fetcher__endless_body(void **state)
{
    struct world *w = *state;
    struct ticket t;
    int64_t id;

    origin_set(w->origin, "/f", &(struct origin_page){.endless = true});
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, 1, 0);
    assert_int_equal(fetch_into(w, id, REASON_READER, &t), RC_LIMIT);
    assert_true(strlen(t.text) > 10);
}

/* REST-28, D48: the password goes where it belongs and is told nowhere. */
static void test_fetcher__credentials(void **state)
{
    struct world *w = *state;
    struct ticket t;
    int64_t id;

    origin_set(w->origin, "/f",
               &(struct origin_page){.body = RSS(ITEM("a", "A")), .auth = "Basic dTpwdw=="});
    id = subscribe(w, origin_url(w->origin, "/f"), "u:pw", 1, 0);
    assert_int_equal(fetch_into(w, id, REASON_READER, &t), RC_OK);
    id = subscribe(w, origin_url(w->origin, "/f"), "u:bad-one", 1, 0);
    assert_int_equal(fetch_into(w, id, REASON_READER, &t), RC_PEER);
    assert_int_equal(t.status, 401);
    assert_null(strstr(t.text, "bad-one"));
    assert_null(strstr(t.body, "bad-one"));
    assert_int_equal(str_find(feed_of(w, id)->last_error, STR("bad-one")), -1);
}

/* TOMB-01: a deletion that the publisher announces is a revision. */
static void test_fetcher__tombstones(void **state)
{
#define ATOM(entries)                                                                              \
    "<feed xmlns=\"http://www.w3.org/2005/Atom\" "                                                 \
    "xmlns:at=\"http://purl.org/atompub/tombstones/1.0\">"                                         \
    "<id>urn:f</id><title>t</title><updated>2020-01-01T00:00:00Z</updated>" entries "</feed>"
    struct world *w = *state;
    struct revision *revs;
    int64_t id;
    size_t n;

    serve(
        w, "/f", NULL,
        ATOM("<entry><id>urn:a</id><title>A</title><updated>2020-01-01T00:00:00Z</updated></entry>"
             "<entry><id>urn:b</id><title>B</title><updated>2020-01-01T00:00:00Z</updated></"
             "entry>"));
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, 1, 0);
    assert_int_equal(fetch(w, id), RC_OK);
    serve(w, "/f", NULL,
          ATOM("<at:deleted-entry ref=\"urn:a\" when=\"2021-01-01T00:00:00Z\"/>"
               "<entry><id>urn:b</id><title>B</title><updated>2020-01-01T00:00:00Z</updated></"
               "entry>"));
    assert_int_equal(fetch(w, id), RC_OK);
    revs = revisions(w, id, &n);
    assert_int_equal(n, 3);
    assert_int_equal(revs[2].kind, REV_DELETED);
    assert_str(revs[2].uid, "urn:a");
    assert_int_equal(feed_of(w, id)->n_entries, 1);
}

/* The feed that a web page leads to is known, and its document is new: the page's own poll does not
 * know which entries the tombstones delete, so the feed's next one reads them. */
static void test_fetcher__tombstones_by_way_of_a_page(void **state)
{
    struct world *w = *state;
    struct ticket t;
    int64_t id, page;

    serve(w, "/f", "\"1\"",
          ATOM("<entry><id>urn:a</id><title>A</title><updated>2020-01-01T00:00:00Z</updated>"
               "</entry>"));
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, 1, 0);
    assert_int_equal(fetch(w, id), RC_OK);
    serve(w, "/f", "\"2\"",
          ATOM("<at:deleted-entry ref=\"urn:a\" when=\"2021-01-01T00:00:00Z\"/>"));
    serve(w, "/page", NULL, PAGE(LINK("/f")));
    page = subscribe(w, origin_url(w->origin, "/page"), NULL, 1, 0);
    if (page != id) /* it has not become part of the feed yet */
        assert_int_equal(fetch_into(w, page, REASON_READER, &t), RC_OK);
    assert_int_equal(fetch(w, id), RC_OK);
    assert_int_equal(feed_of(w, id)->n_subscriptions, 2);
    assert_int_equal(feed_of(w, id)->n_entries, 0);
}

/* SCHED-17: a 226 is a part of the document: what it leaves out is still there. */
static void test_fetcher__delta_is_a_part(void **state)
{
    struct world *w = *state;
    struct feed *feed;
    int64_t id;

    serve(w, "/f", "\"1\"", RSS(ITEM("b", "B") ITEM("a", "A")));
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, 1, 0);
    assert_int_equal(fetch(w, id), RC_OK);
    origin_set(w->origin, "/f",
               &(struct origin_page){.status = 226,
                                     .fields = "IM: feed\r\nETag: \"2\"\r\n",
                                     .body = RSS(ITEM("c", "C"))});
    assert_int_equal(fetch(w, id), RC_OK);
    feed = feed_of(w, id);
    assert_int_equal(feed->n_entries, 3);
    assert_str(feed->etag, "\"2\"");
    serve(w, "/f", "\"3\"", RSS(ITEM("b", "B") ITEM("a", "A"))); /* the first body once more */
    assert_int_equal(fetch(w, id), RC_OK);
    assert_int_equal(count_revisions(w, id), 3);
}

/* ARCHC-04, PMHC-07: absence from a complete document is deletion, from any other it is not. */
static void test_fetcher__complete_documents(void **state)
{
#define E_OF(year, id)                                                                             \
    "<entry><id>" id "</id><title>x</title><updated>" year "-01-01T00:00:00Z</updated></entry>"
#define E(id) E_OF("2020", id)
#define AHEAD E_OF("2098", "urn:c") /* a date ahead of now does not outlive the deletion */
#define COMPLETE "<fh:complete xmlns:fh=\"http://purl.org/syndication/history/1.0\"/>"
    struct world *w = *state;
    struct revision *revs;
    int64_t id;
    size_t n;

    serve(w, "/f", NULL, ATOM(E("urn:a") E("urn:b") AHEAD E("urn:d")));
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, 1, 0);
    assert_int_equal(fetch(w, id), RC_OK);
    serve(w, "/f", NULL, ATOM(E("urn:a") E("urn:b") AHEAD));
    assert_int_equal(fetch(w, id), RC_OK);
    assert_int_equal(feed_of(w, id)->n_entries, 4);
    serve(w, "/f", NULL, ATOM(COMPLETE E("urn:a") E("urn:b")));
    assert_int_equal(fetch(w, id), RC_OK);
    assert_int_equal(feed_of(w, id)->n_entries, 2);
    revs = revisions(w, id, &n);
    assert_int_equal(n, 6);
    assert_int_equal(revs[4].kind, REV_DELETED);
    assert_int_equal(revs[5].kind, REV_DELETED);
    serve(w, "/f", NULL, ATOM(COMPLETE E("urn:a")) "<cut");
    assert_int_equal(fetch(w, id), RC_OK);
    assert_int_equal(feed_of(w, id)->n_entries, 2);
}

/* Documents that are not stored: bounded, and errors say why. */
static void test_fetcher__get(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *path;
        enum rc rc;
        int status;
    } rows[] = {{"/opml", RC_OK, 200}, {"/none", RC_PEER, 404}, {"/endless", RC_LIMIT, 200}};

    serve(w, "/opml", NULL, "<opml/>");
    origin_set(w->origin, "/endless", &(struct origin_page){.endless = true});
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ticket t = TICKET;

        fetcher_get(w->fetcher, str_from(origin_url(w->origin, rows[i].path)), STR_NULL, on_got,
                    &t);
        wait_for(&t);
        assert_int_equal(t.rc, rows[i].rc);
        assert_int_equal(t.status, rows[i].status);
        if (t.rc == RC_OK)
            assert_string_equal(t.body, "<opml/>");
        else
            assert_true(strlen(t.text) > 0);
    }
    {
        struct ticket t = TICKET;

        fetcher_get(w->fetcher, STR("ftp://x/"), STR_NULL, on_got, &t);
        wait_for(&t);
        assert_int_equal(t.rc, RC_INPUT);
    }
}

/* SCHED-18: what the guard does not open is not contacted. */
static void test_fetcher__guard_refuses(void **state)
{
    struct world *w = *state;
    struct ticket t;
    int64_t id = subscribe(w, "http://169.254.1.1/f", NULL, 1, 0);

    assert_int_equal(fetch_into(w, id, REASON_READER, &t), RC_DENIED);
    assert_int_equal(feed_of(w, id)->n_errors, 1);
}

int main(int argc UNUSED, char **argv)
{
    const struct CMUnitTest tests[] = {
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(test_fetcher__##name, world_setup, world_teardown)
        TEST(documents_become_revisions),
        TEST(a_poll_reads_the_row_once),
        TEST(a_row_that_changes_meanwhile_is_read_again),
        TEST(a_row_that_is_read_again_is_held_once),
        TEST(permanent_redirects_are_adopted),
        TEST(documents_that_say_where_the_feed_is),
        TEST(a_new_url_is_asked_until_it_was_seen),
        TEST(discovery),
        TEST(no_feed_is_unsupported),
        TEST(failures),
        TEST(gone),
        TEST(endless_body),
        TEST(credentials),
        TEST(tombstones),
        TEST(tombstones_by_way_of_a_page),
        TEST(delta_is_a_part),
        TEST(complete_documents),
        TEST(get),
        TEST(guard_refuses),
#undef TEST
    };

    world_init(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
