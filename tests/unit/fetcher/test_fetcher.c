/* tests/unit/fetcher/test_fetcher.c - the whole fetcher over a real store, against a publisher on
 * the loopback. */
#include "tests/unit/cmocka_all.h"

#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "fetcher/fetcher.h"
#include "net/http_client.h"
#include "origin.h"
#include "storage/store.h"

#define WAIT_MS 15000

#define RSS(items)                                                                                 \
    "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>T</title>"                        \
    "<link>http://example.org/</link><description>d</description>" items "</channel></rss>"
#define ITEM(id, title)                                                                            \
    "<item><guid isPermaLink=\"false\">" id "</guid><title>" title "</title></item>"
#define PAGE(links)                                                                                \
    "<!DOCTYPE html><html><head><title>p</title>" links "</head><body></body></html>"
#define LINK(href) "<link rel=\"alternate\" type=\"application/rss+xml\" href=\"" href "\">"

struct world {
    char dir[64];
    struct store *store;
    struct guard *guard;
    struct fetcher *fetcher;
    struct fetcher_cfg cfg;
    struct origin *origin;
    size_t store_queue_len;
    struct arena arena;
};

/* ---- waiting for callbacks ----------------------------------------------------------------- */

struct ticket {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool is_done;
    enum rc rc;
    int64_t id;
    int status;
    char text[600], body[600];
    struct fetch_result res;
};

#define TICKET                                                                                     \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER                        \
    }

static void ticket_end(struct ticket *t)
{
    t->is_done = true;
    pthread_cond_broadcast(&t->done);
    pthread_mutex_unlock(&t->lock);
}

static void on_op(void *ctx, enum rc rc, const struct store_result *res, const struct err *err)
{
    struct ticket *t = ctx;

    pthread_mutex_lock(&t->lock);
    t->rc = rc;
    t->id = res == NULL ? 0 : res->id;
    snprintf(t->text, sizeof t->text, "%s", err == NULL ? "" : err->text);
    ticket_end(t);
}

static void on_fetched(void *ctx, const struct fetch_result *res)
{
    struct ticket *t = ctx;

    pthread_mutex_lock(&t->lock);
    t->rc = res->rc;
    t->id = res->feed_id;
    t->status = res->status;
    snprintf(t->text, sizeof t->text, "%.*s", STR_ARG(res->text));
    snprintf(t->body, sizeof t->body, "%.*s", STR_ARG(res->url));
    ticket_end(t);
}

static void on_got(void *ctx, const struct document_result *res)
{
    struct ticket *t = ctx;

    pthread_mutex_lock(&t->lock);
    t->rc = res->rc;
    t->status = res->status;
    snprintf(t->text, sizeof t->text, "%.*s", STR_ARG(res->text));
    snprintf(t->body, sizeof t->body, "%.*s", STR_ARG(res->body));
    ticket_end(t);
}

static void wait_for(struct ticket *t)
{
    struct timespec until;
    int rc = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_MS / 1000;
    pthread_mutex_lock(&t->lock);
    while (!t->is_done && rc == 0)
        rc = pthread_cond_timedwait(&t->done, &t->lock, &until);
    pthread_mutex_unlock(&t->lock);
    if (!t->is_done)
        fail_msg("no answer came in time");
}

/* Wait until a count of the origin reaches n. */
static void wait_count(struct world *w, const char *path, int n)
{
    const struct timespec pause = {.tv_nsec = 5000000};

    for (int64_t end_ms = clock_mono_ms() + WAIT_MS; origin_count(w->origin, path) < n;) {
        if (clock_mono_ms() > end_ms)
            fail_msg("%s was asked %d times, not %d", path, origin_count(w->origin, path), n);
        nanosleep(&pause, NULL);
    }
}

static void rest_ms(int64_t ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

/* ---- the world ----------------------------------------------------------------------------- */

static void open_world(struct world *w)
{
    char path[128];
    struct store_cfg store = {.n_readers = 2,
                              .queue_len = w->store_queue_len,
                              .batch_ops = 256,
                              .batch_ms = 5,
                              .cache_bytes = 1 << 20,
                              .level_period_s = {86400, 1800, 300}};
    struct err err = ERR_INIT;

    snprintf(path, sizeof path, "%s/feeds.db", w->dir);
    store.path = str_from(path);
    if (store_open(&store, &w->store, &err) != RC_OK)
        fail_msg("%s", err.text);
    w->cfg.store = w->store;
    w->cfg.guard = w->guard;
    w->fetcher = fetcher_new(&w->cfg);
    if (fetcher_start(w->fetcher, &err) != RC_OK)
        fail_msg("%s", err.text);
}

static void close_world(struct world *w, int64_t ms)
{
    fetcher_stop(w->fetcher, ms);
    store_close(&w->store);
    fetcher_free(&w->fetcher);
}

static int setup(void **state)
{
    static const struct str loopback = {"127.0.0.0/8", 11};
    struct world *w = calloc(1, sizeof *w);

    snprintf(w->dir, sizeof w->dir, "/tmp/feedmill-test-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    assert_int_equal(guard_new(&loopback, 1, &w->guard, NULL), RC_OK);
    w->origin = origin_new();
    w->store_queue_len = 1024;
    w->cfg = (struct fetcher_cfg){
        .user_agent = "Feedmill/1 (+http://feedmill.example/",
        .n_workers = 2,
        .max_transfers = 64,
        .max_per_host = 64,
        .timeout_ms = 10000,
        .max_body = 1 << 20,
        .level_period_s = {86400, 1800, 300},
        .backoff_max_s = 86400,
        .unused_s = 30 * 86400,
        .ping_gap_ms = 300,
        .monitor_period_s = 3600,
    };
    open_world(w);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    char command[128];

    close_world(w, 0);
    origin_free(&w->origin);
    guard_free(&w->guard);
    arena_release(&w->arena);
    snprintf(command, sizeof command, "rm -r %s", w->dir);
    assert_int_equal(system(command), 0);
    free(w);
    return 0;
}

/* Make a subscribed record without waiting for its fetch. */
static int64_t subscribe(struct world *w, const char *url, const char *credential, int level,
                         int64_t period_s)
{
    struct ticket t = TICKET;
    struct feed_ref ref = {
        .url = str_from(url), .credential = str_from(credential), .shown_url = str_from(url)};
    struct sub_request req = {.feeds = &ref, .n_feeds = 1, .level = level, .period_s = period_s};
    struct feed_brief brief;

    while (store_subscribe(w->store, &req, on_op, &t) == RC_FULL)
        rest_ms(1);
    wait_for(&t);
    assert_int_equal(t.rc, RC_OK);
    assert_true(store_find_feed(w->store, ref.url, ref.credential, &brief));
    return brief.id;
}

/* Have it fetched, and say how that ended; text and status are in *t. */
static enum rc fetch_into(struct world *w, int64_t id, enum fetch_reason reason, struct ticket *t)
{
    *t = (struct ticket)TICKET;
    fetcher_await(w->fetcher, id, reason, on_fetched, t);
    wait_for(t);
    return t->rc;
}

static enum rc fetch(struct world *w, int64_t id)
{
    struct ticket t;

    return fetch_into(w, id, REASON_READER, &t);
}

static struct feed_record *record(struct world *w, int64_t id)
{
    struct reader *r = reader_open(w->store);
    struct feed_record *rec = NULL;
    size_t n = 0;

    assert_int_equal(reader_feeds(r, &id, 1, &w->arena, &rec, &n, NULL), RC_OK);
    reader_close(&r);
    return n == 1 ? rec : NULL;
}

/* Revisions of a feed in the order of the log. */
static struct revision *revisions(struct world *w, int64_t id, size_t *n)
{
    struct reader *r = reader_open(w->store);
    struct view view = {.feed_ids = &id,
                        .n_feeds = 1,
                        .order = VIEW_LOG,
                        .before_seq = INT64_MAX,
                        .len = 1000,
                        .with_deleted = true};
    struct revision *revs = NULL;

    assert_int_equal(reader_rows(r, &view, &w->arena, &revs, n, NULL), RC_OK);
    reader_close(&r);
    return revs;
}

static size_t count_revisions(struct world *w, int64_t id)
{
    size_t n;

    revisions(w, id, &n);
    return n;
}

static void serve(struct world *w, const char *path, const char *etag, const char *body)
{
    origin_set(w->origin, path, &(struct origin_page){.etag = etag, .body = body});
}

/* ---- tests --------------------------------------------------------------------------------- */

/* SCHED-11, SCHED-12, D9, D44: first, not modified, same body, other document, changed entry. */
static void test_fetcher__documents_become_revisions(void **state)
{
    struct world *w = *state;
    struct feed_record *rec;
    struct revision *revs;
    int64_t id;
    size_t n;

    serve(w, "/f", "W/\"1\"", RSS(ITEM("b", "B") ITEM("a", "A")));
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, 1, 0);
    assert_int_equal(fetch(w, id), RC_OK);
    assert_int_equal(count_revisions(w, id), 2);
    rec = record(w, id);
    assert_str(rec->etag, "W/\"1\"");
    assert_str(rec->title, "T");
    assert_int_equal(rec->state, FEED_OK);
    assert_int_equal(rec->last_status, 200);
    assert_true(rec->next_fetch_at >= rec->last_check_at + 1799);
    assert_int_equal(rec->next_reason, REASON_PERIOD);
    assert_non_null(strstr(origin_last(w->origin, "/f"), "; 1 subscriber)\r\n"));
    assert_null(strstr(origin_last(w->origin, "/f"), "If-None-Match"));

    n = (size_t)origin_count(w->origin, "/f");
    assert_int_equal(fetch(w, id), RC_OK);
    assert_int_equal(origin_count(w->origin, "/f"), n + 1);
    assert_non_null(strstr(origin_last(w->origin, "/f"), "If-None-Match: W/\"1\"\r\n"));
    assert_non_null(strstr(origin_last(w->origin, "/f"), "A-IM: feed\r\n"));
    assert_int_equal(record(w, id)->last_status, 304);
    assert_str(record(w, id)->etag, "W/\"1\"");

    serve(w, "/f", "\"2\"", RSS(ITEM("b", "B") ITEM("a", "A")));
    assert_int_equal(fetch(w, id), RC_OK);
    assert_str(record(w, id)->etag, "\"2\"");
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
    assert_int_equal(record(w, id)->etag.len, 0);
}

/* DISC-08: 301 and 308 move the record when a feed is there, 302 and 307 do not. */
static void test_fetcher__permanent_redirects_are_adopted(void **state)
{
    static const struct {
        int status;
        bool moves;
    } rows[] = {{301, true}, {308, true}, {302, false}, {303, false}, {307, false}};
    struct world *w = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char from[32], to[32], location[64];
        struct feed_record *rec;
        struct feed_brief brief;
        int64_t id;

        snprintf(from, sizeof from, "/from%d", rows[i].status);
        snprintf(to, sizeof to, "/to%d", rows[i].status);
        snprintf(location, sizeof location, "Location: %s\r\n", to);
        origin_set(w->origin, from,
                   &(struct origin_page){.status = rows[i].status, .fields = location});
        serve(w, to, NULL, RSS(ITEM("a", "A")));
        id = subscribe(w, origin_url(w->origin, from), NULL, 1, 0);
        assert_int_equal(fetch(w, id), RC_OK);
        rec = record(w, id);
        assert_true(str_eqz(rec->url, origin_url(w->origin, rows[i].moves ? to : from)));
        assert_true(
            store_find_feed(w->store, str_from(origin_url(w->origin, from)), STR_NULL, &brief));
        assert_int_equal(brief.id, id);
        assert_int_equal(fetch(w, id), RC_OK);
        assert_int_equal(origin_count(w->origin, from), rows[i].moves ? 1 : 2);
    }
    /* nothing that is no feed is moved to */
    origin_set(w->origin, "/maint",
               &(struct origin_page){.status = 301, .fields = "Location: /sorry\r\n"});
    serve(w, "/sorry", NULL, PAGE(""));
    {
        int64_t id = subscribe(w, origin_url(w->origin, "/maint"), NULL, 1, 0);

        assert_int_equal(fetch(w, id), RC_UNSUPPORTED);
        assert_true(str_eqz(record(w, id)->url, origin_url(w->origin, "/maint")));
    }
}

/* DISC-01, DISC-07, DISC-09: page to feed, one record for both, the page asked again on 404. */
static void test_fetcher__discovery(void **state)
{
    struct world *w = *state;
    struct feed_brief brief;
    struct feed_record *rec;
    struct ticket t;
    int64_t id, other;

    serve(w, "/page", NULL, PAGE(LINK("/broken") LINK("feed.xml")));
    serve(w, "/feed.xml", "\"1\"", RSS(ITEM("a", "A")));
    id = subscribe(w, origin_url(w->origin, "/page"), NULL, 1, 0);
    assert_int_equal(fetch_into(w, id, REASON_READER, &t), RC_OK);
    assert_int_equal(t.id, id);
    rec = record(w, id);
    assert_true(str_eqz(rec->url, origin_url(w->origin, "/feed.xml")));
    assert_true(str_eqz(rec->page_url, origin_url(w->origin, "/page")));
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
    assert_true(str_eqz(record(w, id)->url, origin_url(w->origin, "/new.xml")));
    assert_int_equal(record(w, id)->n_entries, 2);

    /* another page that leads to it becomes part of the record */
    serve(w, "/page2", NULL, PAGE(LINK("new.xml")));
    other = subscribe(w, origin_url(w->origin, "/page2"), NULL, 1, 0);
    if (other != id) /* it has not been fetched and joined yet */
        assert_int_equal(fetch_into(w, other, REASON_READER, &t), RC_OK);
    assert_int_equal(t.id, id);
    assert_true(
        store_find_feed(w->store, str_from(origin_url(w->origin, "/page2")), STR_NULL, &brief));
    assert_int_equal(brief.id, id);
}

/* DISC-06: what is no feed says so. */
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
    assert_int_equal(record(w, id)->state, FEED_NEW);
    assert_int_equal(record(w, id)->n_errors, 1);
    serve(w, "/text", NULL, "hello");
    id = subscribe(w, origin_url(w->origin, "/text"), NULL, 1, 0);
    assert_int_equal(fetch_into(w, id, REASON_READER, &t), RC_UNSUPPORTED);
    assert_non_null(strstr(t.text, "no feed"));
}

/* A failure answers for a second; what is stored stays. */
static void test_fetcher__failures(void **state)
{
    struct world *w = *state;
    struct ticket t;
    int64_t id;

    serve(w, "/f", NULL, RSS(ITEM("a", "A")));
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, 1, 0);
    assert_int_equal(fetch(w, id), RC_OK);
    origin_set(w->origin, "/f", &(struct origin_page){.status = 500});
    assert_int_equal(fetch_into(w, id, REASON_READER, &t), RC_PEER);
    assert_int_equal(t.status, 500);
    assert_int_equal(origin_count(w->origin, "/f"), 2);
    assert_int_equal(fetch_into(w, id, REASON_READER, &t), RC_PEER);
    assert_int_equal(origin_count(w->origin, "/f"), 2);
    assert_int_equal(record(w, id)->state, FEED_FAILING);
    assert_int_equal(record(w, id)->next_reason, REASON_BACKOFF);
    assert_int_equal(count_revisions(w, id), 1);
    /* a page in the feed's place is no new feed */
    rest_ms(1100);
    serve(w, "/f", NULL, PAGE(LINK("/other")));
    assert_int_equal(fetch(w, id), RC_UNSUPPORTED);
    assert_int_equal(origin_count(w->origin, "/other"), 0);
    assert_int_equal(record(w, id)->n_errors, 2);
    assert_int_equal(fetch_into(w, 12345, REASON_READER, &t), RC_NOT_FOUND);
}

/* SCHED-14: 410 ends the polling, a reader may still ask. */
static void test_fetcher__gone(void **state)
{
    struct world *w = *state;
    int64_t id;

    serve(w, "/f", NULL, RSS(ITEM("a", "A")));
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, 1, 0);
    assert_int_equal(fetch(w, id), RC_OK);
    origin_set(w->origin, "/f", &(struct origin_page){.status = 410});
    assert_int_equal(fetch(w, id), RC_PEER);
    assert_int_equal(record(w, id)->state, FEED_GONE);
    assert_true(record(w, id)->next_fetch_at == TIME_UNKNOWN);
    serve(w, "/f", NULL, RSS(ITEM("b", "B")));
    rest_ms(1100);
    assert_int_equal(fetch(w, id), RC_OK);
    assert_int_equal(record(w, id)->state, FEED_OK);
    assert_true(record(w, id)->next_fetch_at > clock_now_s());
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

/* The number of feeds that a ping wakes. */
static size_t ping(struct world *w, struct str url, struct str rss_url)
{
    size_t n = 0;

    assert_int_equal(fetcher_ping(w->fetcher, url, rss_url, &n, NULL, NULL), RC_OK);
    return n;
}

/* SCHED-07, SCHED-10, PING-05: a burst of pings is at most three fetches, never two at once. */
static void test_fetcher__burst_of_pings(void **state)
{
    struct world *w = *state;
    struct str url;
    int64_t id;
    int before;

    origin_set(w->origin, "/f", &(struct origin_page){.body = RSS(ITEM("a", "A")), .delay_ms = 50});
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, 1, 0);
    assert_int_equal(fetch(w, id), RC_OK);
    rest_ms(300);
    before = origin_count(w->origin, "/f");
    url = str_from(origin_url(w->origin, "/f"));
    for (int i = 0; i < 100; i++)
        assert_int_equal(ping(w, url, url), 1);
    wait_count(w, "/f", before + 1);
    rest_ms(1000);
    assert_in_range(origin_count(w->origin, "/f") - before, 1, 3);
    assert_int_equal(origin_most(w->origin, "/f"), 1);
    assert_int_equal(record(w, id)->level, 0); /* SCHED-04 */
    assert_int_equal(ping(w, str_from(origin_url(w->origin, "/unknown")), STR_NULL), 0);
    /* site URLs are known, too, whichever way their last slash is */
    assert_int_equal(ping(w, STR("http://example.org/"), STR_NULL), 1);
    assert_int_equal(ping(w, STR("http://example.org"), STR_NULL), 1);
}

/* SCHED-02: exact periods; SCHED-06: pings do not change them. */
static void test_fetcher__exact_period(void **state)
{
    struct world *w = *state;
    int64_t id, begun_ms;

    serve(w, "/f", NULL, RSS("<ttl>120</ttl>" ITEM("a", "A")));
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, LEVEL_EXACT, 1);
    begun_ms = clock_mono_ms();
    wait_count(w, "/f", 4);
    assert_in_range(clock_mono_ms() - begun_ms, 2000, 6000);
    ping(w, str_from(origin_url(w->origin, "/f")), STR_NULL);
    rest_ms(1200);
    assert_int_equal(record(w, id)->level, LEVEL_EXACT);
    assert_int_equal(record(w, id)->period_s, 1);
    assert_int_equal(record(w, id)->hints.ttl_s, 7200);
}

/* SCHED-09: hanging publishers delay nobody. */
static void test_fetcher__hanging_origin_beside_others(void **state)
{
    enum { HANGING = 8, OTHERS = 50 };
    struct world *w = *state;
    struct ticket tickets[OTHERS];
    int64_t begun_ms = clock_mono_ms();

    for (int i = 0; i < HANGING; i++) {
        char path[16];

        snprintf(path, sizeof path, "/hang%d", i);
        origin_set(w->origin, path, &(struct origin_page){.hangs = true});
        subscribe(w, origin_url(w->origin, path), NULL, 1, 0);
    }
    for (int i = 0; i < HANGING; i++) {
        char path[16];

        snprintf(path, sizeof path, "/hang%d", i);
        wait_count(w, path, 1);
    }
    for (int i = 0; i < OTHERS; i++) {
        char path[16];

        snprintf(path, sizeof path, "/f%d", i);
        serve(w, path, NULL, RSS(ITEM("a", "A")));
        tickets[i] = (struct ticket)TICKET;
        fetcher_await(w->fetcher, subscribe(w, origin_url(w->origin, path), NULL, 1, 0),
                      REASON_READER, on_fetched, &tickets[i]);
    }
    for (int i = 0; i < OTHERS; i++) {
        wait_for(&tickets[i]);
        assert_int_equal(tickets[i].rc, RC_OK);
    }
    assert_true(clock_mono_ms() - begun_ms < w->cfg.timeout_ms);
    begun_ms = clock_mono_ms();
    fetcher_stop(w->fetcher, 50); /* bounded, whoever hangs */
    assert_true(clock_mono_ms() - begun_ms < 3000);
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
    assert_int_equal(str_find(record(w, id)->last_error, STR("bad-one")), -1);
}

/* SCHED-10, the host's limit is kept for readers, too. */
static void test_fetcher__host_limit(void **state)
{
    struct world *w = *state;
    struct ticket tickets[12];
    struct fetcher_cfg cfg = w->cfg;

    cfg.max_per_host = 3;
    fetcher_reload(w->fetcher, &cfg);
    for (int i = 0; i < 12; i++) {
        char path[16];

        snprintf(path, sizeof path, "/f%d", i);
        origin_set(w->origin, path,
                   &(struct origin_page){.body = RSS(ITEM("a", "A")), .delay_ms = 200});
        tickets[i] = (struct ticket)TICKET;
        fetcher_await(w->fetcher, subscribe(w, origin_url(w->origin, path), NULL, 1, 0),
                      REASON_READER, on_fetched, &tickets[i]);
    }
    for (int i = 0; i < 12; i++)
        wait_for(&tickets[i]);
    assert_in_range(origin_most(w->origin, NULL), 2, 3);
}

/* SCHED-05: a sweep that finds what nobody announced makes level 0 level 1. */
static void test_fetcher__unannounced_update_raises_level_0(void **state)
{
    struct world *w = *state;
    struct fetcher_cfg cfg = w->cfg;
    int64_t id;

    cfg.level_period_s[0] = 1;
    fetcher_reload(w->fetcher, &cfg);
    serve(w, "/f", NULL, RSS(ITEM("a", "A")));
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, 0, 0);
    wait_count(w, "/f", 2);
    assert_int_equal(record(w, id)->level, 0);
    serve(w, "/f", NULL, RSS(ITEM("b", "B") ITEM("a", "A")));
    wait_count(w, "/f", 3);
    for (int i = 0; i < 100 && record(w, id)->level != 1; i++)
        rest_ms(50);
    assert_int_equal(record(w, id)->level, 1);
    assert_true(record(w, id)->next_fetch_at > clock_now_s() + 1000);
}

/* D49: what a reader asked for is swept while it is asked for, and no longer. */
static void test_fetcher__unused_feeds_rest_until_a_reader_comes(void **state)
{
    struct world *w = *state;
    struct fetcher_cfg cfg = w->cfg;
    struct str url = str_from(origin_url(w->origin, "/f"));
    struct feed_ref ref = {.url = url, .shown_url = url};
    struct ticket t = TICKET;
    int64_t id;

    serve(w, "/f", NULL, RSS(ITEM("a", "A")));
    assert_int_equal(store_add_feed(w->store, &ref, on_op, &t), RC_OK);
    wait_for(&t);
    id = t.id;
    assert_int_equal(fetch(w, id), RC_OK);
    assert_true(record(w, id)->next_fetch_at > clock_now_s() + 1000);
    cfg.unused_s = -1;
    fetcher_reload(w->fetcher, &cfg);
    assert_int_equal(fetch_into(w, id, REASON_PERIOD, &t), RC_OK);
    assert_true(record(w, id)->next_fetch_at == TIME_UNKNOWN);
    assert_int_equal(record(w, id)->state, FEED_OK);
    fetcher_reload(w->fetcher, &w->cfg);
    assert_int_equal(fetch(w, id), RC_OK);
    assert_true(record(w, id)->next_fetch_at > clock_now_s() + 1000);
}

/* A full storer and full queues slow the loop down; nothing is lost. */
static void test_fetcher__full_queues_lose_nothing(void **state)
{
    enum { N = 120 };
    struct world *w = *state;
    static struct ticket tickets[N];
    int64_t ids[N];

    close_world(w, 0);
    w->store_queue_len = 1;
    w->cfg.n_workers = 1;
    open_world(w);
    for (int i = 0; i < N; i++) {
        char path[16];

        snprintf(path, sizeof path, "/f%d", i);
        serve(w, path, NULL, RSS(ITEM("a", "A")));
        ids[i] = subscribe(w, origin_url(w->origin, path), NULL, 1, 0);
    }
    for (int i = 0; i < N; i++) {
        tickets[i] = (struct ticket)TICKET;
        fetcher_await(w->fetcher, ids[i], REASON_READER, on_fetched, &tickets[i]);
    }
    for (int i = 0; i < N; i++) {
        wait_for(&tickets[i]);
        assert_int_equal(tickets[i].rc, RC_OK);
        assert_int_equal(count_revisions(w, ids[i]), 1);
    }
}

/* SCHED-14, SCHED-02: Retry-After holds the feed. */
static void test_fetcher__retry_after(void **state)
{
    struct world *w = *state;
    struct feed_record *rec;
    int64_t id;

    origin_set(w->origin, "/f",
               &(struct origin_page){.status = 503, .fields = "Retry-After: 7200\r\n"});
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, LEVEL_EXACT, 1);
    assert_int_equal(fetch(w, id), RC_PEER);
    rec = record(w, id);
    assert_true(rec->next_fetch_at >= clock_now_s() + 7195);
    assert_int_equal(rec->next_reason, REASON_RETRY_AFTER);
    serve(w, "/g", NULL, RSS(ITEM("a", "A"))); /* one with an exact period goes its own way */
    id = subscribe(w, origin_url(w->origin, "/g"), NULL, LEVEL_EXACT, 1);
    rest_ms(2500);
    assert_true(origin_count(w->origin, "/g") >= 2);
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
    assert_int_equal(record(w, id)->n_entries, 1);
}

/* SCHED-17: a 226 is a part of the document: what it leaves out is still there. */
static void test_fetcher__delta_is_a_part(void **state)
{
    struct world *w = *state;
    struct feed_record *rec;
    int64_t id;

    serve(w, "/f", "\"1\"", RSS(ITEM("b", "B") ITEM("a", "A")));
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, 1, 0);
    assert_int_equal(fetch(w, id), RC_OK);
    origin_set(w->origin, "/f",
               &(struct origin_page){.status = 226,
                                     .fields = "IM: feed\r\nETag: \"2\"\r\n",
                                     .body = RSS(ITEM("c", "C"))});
    assert_int_equal(fetch(w, id), RC_OK);
    rec = record(w, id);
    assert_int_equal(rec->n_entries, 3);
    assert_str(rec->etag, "\"2\"");
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
    assert_int_equal(record(w, id)->n_entries, 4);
    serve(w, "/f", NULL, ATOM(COMPLETE E("urn:a") E("urn:b")));
    assert_int_equal(fetch(w, id), RC_OK);
    assert_int_equal(record(w, id)->n_entries, 2);
    revs = revisions(w, id, &n);
    assert_int_equal(n, 6);
    assert_int_equal(revs[4].kind, REV_DELETED);
    assert_int_equal(revs[5].kind, REV_DELETED);
    serve(w, "/f", NULL, ATOM(COMPLETE E("urn:a")) "<cut");
    assert_int_equal(fetch(w, id), RC_OK);
    assert_int_equal(record(w, id)->n_entries, 2);
}

/* SCHED-08, PING-07: a change of a ping server's log is one request. */
static void test_fetcher__monitor_passes_each_change_once(void **state)
{
    struct world *w = *state;
    struct fetcher_cfg cfg = w->cfg;
    char log[600], url[128];
    struct str server;
    int before;

    serve(w, "/f", NULL, RSS(ITEM("a", "A")));
    snprintf(url, sizeof url, "%s", origin_url(w->origin, "/f"));
    assert_int_equal(fetch(w, subscribe(w, url, NULL, 1, 0)), RC_OK);
    before = origin_count(w->origin, "/f");
    for (int round = 0; round < 3; round++) { /* the same change, seen a second later each time */
        snprintf(
            log, sizeof log,
            "<weblogUpdates version=\"2\" updated=\"Sat, 21 Nov 2026 10:00:%02d GMT\" count=\"2\">"
            "<weblog name=\"x\" url=\"http://unknown.example/\" when=\"1\"/>"
            "<weblog name=\"f\" url=\"%s\" when=\"%d\"/></weblogUpdates>",
            10 + round, url, 2 + round);
        serve(w, "/changes.xml", NULL, log);
        if (round == 0) {
            server = str_from(origin_url(w->origin, "/changes.xml"));
            cfg.ping_servers = &server;
            cfg.n_ping_servers = 1;
            cfg.monitor_period_s = 1;
            fetcher_reload(w->fetcher, &cfg);
        }
        wait_count(w, "/changes.xml", origin_count(w->origin, "/changes.xml") + 1);
    }
    wait_count(w, "/f", before + 1);
    rest_ms(1200);
    assert_int_equal(origin_count(w->origin, "/f"), before + 1);
    snprintf(log, sizeof log,
             "<weblogUpdates version=\"2\" updated=\"Sat, 21 Nov 2026 10:05:00 GMT\" count=\"1\">"
             "<weblog name=\"f\" url=\"%s\" when=\"2\"/></weblogUpdates>",
             url);
    serve(w, "/changes.xml", NULL, log);
    wait_count(w, "/f", before + 2);
    /* what has left the log for a day is remembered no more */
    snprintf(log, sizeof log,
             "<weblogUpdates version=\"2\" updated=\"Fri, 01 Jan 2016 10:00:00 GMT\" count=\"1\">"
             "<weblog name=\"f\" url=\"%s/\" when=\"2\"/></weblogUpdates>",
             url);
    for (int round = 3; round < 5; round++) {
        serve(w, "/changes.xml", NULL, log);
        wait_count(w, "/f", before + round);
        serve(w, "/changes.xml", NULL,
              "<weblogUpdates version=\"2\" updated=\"Sun, 03 Jan 2016 10:00:00 GMT\" count=\"1\">"
              "<weblog name=\"x\" url=\"http://x.example/\" when=\"1\"/></weblogUpdates>");
        wait_count(w, "/changes.xml", origin_count(w->origin, "/changes.xml") + 2);
    }
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
    assert_int_equal(record(w, id)->n_errors, 1);
}

/* Without a file descriptor for its readers it does not start, and says so. */
static void test_fetcher__start_without_descriptors(void **state)
{
    struct world *w = *state;
    struct fetcher *other;
    struct err err = ERR_INIT;
    struct rlimit limit, none;
    enum rc rc;

    fetcher_stop(w->fetcher, 0);
    other = fetcher_new(&w->cfg);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    rc = fetcher_start(other, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(rc, RC_IO);
    assert_true(err.text[0] != '\0');
    close_world(w, 0);
    fetcher_free(&other);
    open_world(w);
}

/* Those who wait are told when the daemon stops, also those who come late. */
static void test_fetcher__stop_tells_those_who_wait(void **state)
{
    struct world *w = *state;
    struct ticket hanging = TICKET, queued = TICKET, late = TICKET;
    struct fetcher_cfg cfg = w->cfg;
    int64_t a, b;

    cfg.max_per_host = 1;
    fetcher_reload(w->fetcher, &cfg);
    origin_set(w->origin, "/hang", &(struct origin_page){.hangs = true});
    a = subscribe(w, origin_url(w->origin, "/hang"), NULL, 1, 0);
    fetcher_await(w->fetcher, a, REASON_READER, on_fetched, &hanging);
    wait_count(w, "/hang", 1);
    b = subscribe(w, origin_url(w->origin, "/b"), NULL, 1, 0);
    fetcher_await(w->fetcher, b, REASON_READER, on_fetched, &queued);
    rest_ms(50);
    fetcher_stop(w->fetcher, 50);
    wait_for(&hanging);
    wait_for(&queued);
    assert_int_equal(hanging.rc, RC_CLOSED);
    assert_int_equal(queued.rc, RC_CLOSED);
    assert_int_equal(origin_count(w->origin, "/b"), 0);
    store_close(&w->store);
    fetcher_await(w->fetcher, a, REASON_READER, on_fetched, &late);
    fetcher_free(&w->fetcher);
    wait_for(&late);
    assert_int_equal(late.rc, RC_CLOSED);

    /* start is recovery: both are due */
    serve(w, "/hang", NULL, RSS(ITEM("a", "A")));
    serve(w, "/b", NULL, RSS(ITEM("a", "A")));
    open_world(w);
    wait_count(w, "/hang", 2);
    wait_count(w, "/b", 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_fetcher__##name, setup, teardown)
        TEST(documents_become_revisions),
        TEST(permanent_redirects_are_adopted),
        TEST(discovery),
        TEST(no_feed_is_unsupported),
        TEST(failures),
        TEST(gone),
        TEST(endless_body),
        TEST(burst_of_pings),
        TEST(exact_period),
        TEST(hanging_origin_beside_others),
        TEST(credentials),
        TEST(host_limit),
        TEST(unannounced_update_raises_level_0),
        TEST(unused_feeds_rest_until_a_reader_comes),
        TEST(full_queues_lose_nothing),
        TEST(retry_after),
        TEST(tombstones),
        TEST(delta_is_a_part),
        TEST(complete_documents),
        TEST(monitor_passes_each_change_once),
        TEST(get),
        TEST(guard_refuses),
        TEST(start_without_descriptors),
        TEST(stop_tells_those_who_wait),
#undef TEST
    };

    digest_init();
    http_client_global_init();
    log_set_level(getenv("FEEDMILL_TEST_LOG") == NULL ? LOG_LEVEL_ERROR : LOG_LEVEL_DEBUG);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
