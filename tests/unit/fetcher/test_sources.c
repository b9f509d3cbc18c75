/* tests/unit/fetcher/test_sources.c - what polls, discovery and streams ask for, and what they hand
 * to the storer. */
#include "tests/unit/cmocka_all.h"

#include "base/clock.h"
#include "base/digest.h"
#include "fetcher/discovery.h"
#include "fetcher/poll.h"
#include "fetcher/source.h"
#include "fetcher/stream.h"
#include "fetcher/work_queue.h"

static const struct schedule_rules rules = {
    .levels = {{86400, 1800, 300}}, .backoff_max_s = 86400, .unused_s = 86400};

static struct job *make_job(struct feed *feed, unsigned reasons)
{
    struct job *job = job_new(NULL, &source_poll, feed->id, reasons, &rules);

    job->feed = feed;
    job->started_at = clock_now_s();
    if (str_is_null(feed->cursor)) {
        assert_int_equal(source_poll.begin(job, NULL), STEP_QUEUE);
    } else {
        job->source = &source_stream;
        stream_begin(job);
    }
    return job;
}

static struct feed make_feed(const char *url)
{
    return (struct feed){.id = 5,
                         .url = str_from(url),
                         .level = 1,
                         .n_subscriptions = 1,
                         .last_change_at = TIME_UNKNOWN,
                         .wanted_at = TIME_UNKNOWN};
}

/* Answer the job's request. */
static enum job_step answer(struct job *job, int status)
{
    struct http_answer got = {.arena = arena_new(), .status = status, .body = STR("x")};

    got.final_url = job->url;
    job_take_answer(job, RC_OK, &got, NULL);
    return job->source->answered(job);
}

static enum job_step answer_moved(struct job *job, const char *final_url, bool all_permanent)
{
    struct http_answer got = {.arena = arena_new(), .status = 200, .body = STR("x")};

    got.final_url = str_from(final_url);
    got.n_redirects = 1;
    got.all_permanent = all_permanent;
    job_take_answer(job, RC_OK, &got, NULL);
    return job->source->answered(job);
}

static const struct http_field *find_field(const struct http_call *call, const char *name)
{
    for (size_t i = 0; i < call->n_fields; i++)
        if (str_ieqz(call->fields[i].name, name))
            return &call->fields[i];
    return NULL;
}

/* SCHED-11, SCHED-17: validators verbatim, A-IM only with an entity tag, subscribers named. */
static void test_sources__conditional_request(void **state UNUSED)
{
    struct feed feed = make_feed("http://a.example/f");
    struct http_field fields[JOB_FIELDS];
    struct http_call call;
    struct job *job = make_job(&feed, 0);

    job_call(job, "Feedmill/1 (+http://x", fields, &call);
    assert_str(call.user_agent, "Feedmill/1 (+http://x; 1 subscriber)");
    assert_non_null(find_field(&call, "accept"));
    assert_null(find_field(&call, "if-none-match"));
    assert_null(find_field(&call, "a-im"));
    job_free(&job);

    feed.etag = STR("W/\"odd one\"");
    feed.last_modified = STR("Tue, 1 Jan");
    feed.n_subscriptions = 12;
    job = make_job(&feed, 0); /* no document: nothing to compare with */
    assert_false(job->conditional);
    job_free(&job);

    feed.has_body_hash = true;
    job = make_job(&feed, 0);
    job_call(job, "Feedmill/1 (+http://x", fields, &call);
    assert_str(call.user_agent, "Feedmill/1 (+http://x; 12 subscribers)");
    assert_str(find_field(&call, "if-none-match")->value, "W/\"odd one\"");
    assert_str(find_field(&call, "if-modified-since")->value, "Tue, 1 Jan");
    assert_str(find_field(&call, "a-im")->value, "feed");
    job_free(&job);

    feed.etag = STR_NULL;
    job = make_job(&feed, 0);
    job_call(job, "Feedmill/1 (+http://x", fields, &call);
    assert_null(find_field(&call, "a-im"));
    assert_non_null(find_field(&call, "if-modified-since"));
    job_free(&job);
}

/* REST-28: a credential goes to the host it was given for, and to no other. */
static void test_sources__credential_stays_at_home(void **state UNUSED)
{
    static const struct {
        const char *url, *page_url, *asked;
        bool may;
    } rows[] = {
        {"http://a.example/f", NULL, "http://a.example/f", true},
        {"http://a.example/f", NULL, "https://a.example/g", true},
        {"https://a.example/f", NULL, "http://a.example/f", false},
        {"http://a.example/f", NULL, "http://b.example/f", false},
        {"http://a.example/f", NULL, "http://a.example:8080/f", false},
        {"http://b.example/f", "http://a.example/", "http://b.example/f", false},
        {"http://b.example/f", "http://a.example/", "http://a.example/x", true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct feed feed = make_feed(rows[i].url);

        assert_false(job_may_identify(&feed, feed.url));
        feed.credential = STR("u:p");
        feed.page_url = str_from(rows[i].page_url);
        assert_int_equal(job_may_identify(&feed, str_from(rows[i].asked)), rows[i].may);
    }
}

static struct job *make_secret_job(struct feed *feed)
{
    static const struct fetch_secret all[] = {
        {{"user_agent", 10}, {"Reader/1", 8}}, {{"cookie", 6}, {"sid=1", 5}},
        {{"bearer", 6}, {"token", 5}},         {{"proxy", 5}, {"http://p/", 9}},
        {{"fetch_header.X-Key", 18}, {"k", 1}},
    };
    struct job *job = make_job(feed, 0);

    memcpy(job->secrets.all, all, sizeof all);
    job->secrets.n = ARRAY_LEN(all);
    job->secrets.home = feed->url;
    job->credential = feed->credential;
    return job;
}

/* ETIQ-08: what goes with a request to the feed, and that nothing of it goes with one elsewhere. */
static void test_sources__own_fields(void **state UNUSED)
{
    struct feed feed = make_feed("http://a.example/f");
    struct http_field fields[JOB_FIELDS];
    struct http_call call;
    struct job *job;

    feed.credential = STR("u:p");
    job = make_secret_job(&feed);
    job_call(job, "Feedmill/1 (+http://x", fields, &call);
    assert_int_equal(call.n_own, 4); /* a proxy is not a field */
    assert_true(str_eqz(find_field(&call, "user-agent")->value, "Reader/1"));
    assert_true(str_eqz(find_field(&call, "cookie")->value, "sid=1"));
    assert_true(str_eqz(find_field(&call, "authorization")->value, "Bearer token"));
    assert_true(str_eqz(find_field(&call, "x-key")->value, "k"));
    assert_non_null(find_field(&call, "accept"));
    assert_true(str_is_null(call.credential)); /* the token is the authorization */
    job->url = STR("https://a.example/f");
    job_call(job, "Feedmill/1 (+http://x", fields, &call);
    assert_int_equal(call.n_own, 0);
    assert_null(find_field(&call, "cookie"));
    assert_null(find_field(&call, "x-key"));
    assert_true(str_eqz(call.credential, "u:p"));
    job_free(&job);
}

/* D43, DISC-05: candidates in order, at most three, each once, the page itself never. */
static void test_sources__candidates_in_turn(void **state UNUSED)
{
    static const struct str hrefs[] = {
        {"http://a.example/", 17},  {"http://a.example/1", 18}, {"http://a.example/1", 18},
        {"mailto:x@y", 10},         {"http://a.example/2", 18}, {"http://a.example/3", 18},
        {"http://a.example/4", 18},
    };
    struct feed feed = make_feed("http://a.example/");
    struct job *job = make_job(&feed, 0);

    assert_int_equal(answer(job, 200), STEP_UNDERSTAND);
    assert_int_equal(discovery_try(job, hrefs, ARRAY_LEN(hrefs), false), STEP_QUEUE);
    assert_str(job->url, "http://a.example/1");
    assert_int_equal(answer(job, 500), STEP_QUEUE);
    assert_str(job->url, "http://a.example/2");
    assert_int_equal(answer(job, 200), STEP_UNDERSTAND);
    assert_int_equal(discovery_next(job), STEP_QUEUE); /* the worker found no feed in it */
    assert_str(job->url, "http://a.example/3");
    assert_int_equal(answer(job, 404), STEP_UNDERSTAND);
    assert_int_equal(job->resp.rc, RC_UNSUPPORTED);
    assert_true(str_find(job->resp.text, STR("none can be read (3 tried)")) > 0);
    job_free(&job);
}

/* Guesses are tried one by one until one is a feed, and not on a site in trouble. */
static void test_sources__guesses_end_where_the_site_is_in_trouble(void **state UNUSED)
{
    static const struct str hrefs[] = {{"http://a.example/1", 18},
                                       {"http://a.example/2", 18},
                                       {"http://a.example/3", 18},
                                       {"http://a.example/4", 18},
                                       {"http://a.example/5", 18}};
    static const int ends[] = {404, 403, 500, 429};
    struct feed feed = make_feed("http://a.example/");

    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct job *job = make_job(&feed, 0);
        enum job_step step;
        int n = 1;

        assert_int_equal(answer(job, 200), STEP_UNDERSTAND);
        assert_int_equal(discovery_try(job, hrefs, ARRAY_LEN(hrefs), true), STEP_QUEUE);
        while ((step = answer(job, ends[i])) == STEP_QUEUE)
            n++;
        assert_int_equal(step, STEP_UNDERSTAND);
        assert_int_equal(n, ends[i] == 429 ? 1 : 5);
        assert_int_equal(job->resp.rc, RC_UNSUPPORTED);
        assert_int_equal(job->resp.status, 200); /* the page's */
        assert_true(str_find(job->resp.text, STR("and none is at the usual")) > 0);
        job_free(&job);
    }
}

/* The usual addresses are tried once for a page, not at every look at it. */
static void test_sources__guesses_once(void **state UNUSED)
{
    static const struct {
        int last_status, n_errors;
        bool has_document, announced_only, may;
    } rows[] = {{0, 0, false, false, true},   {200, 1, false, false, false},
                {404, 3, false, false, true}, {0, 1, false, false, true},
                {200, 0, true, false, false}, {0, 0, false, true, false}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct feed feed = make_feed("http://a.example/");
        struct job *job;

        feed.last_status = rows[i].last_status;
        feed.n_errors = rows[i].n_errors;
        feed.has_body_hash = rows[i].has_document;
        job = make_job(&feed, 0);
        job->announced_only = rows[i].announced_only;
        answer(job, 200);
        assert_int_equal(discovery_may_guess(job), rows[i].may);
        job_free(&job);
    }
}

/* The feeds of a service document come in its place; what was to be tried after it stays. */
static void test_sources__service_document_expands(void **state UNUSED)
{
    static const struct str hrefs[] = {{"http://a.example/svc", 20}, {"http://a.example/2", 18}};
    static const struct str inner[] = {
        {"http://a.example/c1", 19}, {"http://a.example/2", 18}, {"http://a.example/svc", 20}};
    struct feed feed = make_feed("http://a.example/");
    struct job *job = make_job(&feed, 0);

    answer(job, 200);
    assert_int_equal(discovery_try(job, hrefs, 2, true), STEP_QUEUE);
    assert_int_equal(answer(job, 200), STEP_UNDERSTAND);
    assert_int_equal(discovery_expand(job, inner, 3), STEP_QUEUE);
    assert_str(job->url, "http://a.example/c1");
    assert_int_equal(answer(job, 404), STEP_QUEUE);
    assert_str(job->url, "http://a.example/2");
    assert_int_equal(answer(job, 404), STEP_UNDERSTAND);
    job_free(&job);
}

/* DISC-06. */
static void test_sources__page_without_feed(void **state UNUSED)
{
    struct feed feed = make_feed("http://a.example/");
    struct job *job = make_job(&feed, 0);

    assert_int_equal(answer(job, 200), STEP_UNDERSTAND);
    assert_int_equal(discovery_try(job, NULL, 0, false), STEP_UNDERSTAND);
    assert_int_equal(job->resp.rc, RC_UNSUPPORTED);
    assert_str(job->resp.text, "http://a.example/ is a page that announces no feed");
    job_free(&job);
}

/* DISC-07: the page is asked again when the feed is 404 or 410, and only then. */
static void test_sources__page_is_asked_again_when_missing(void **state UNUSED)
{
    static const struct str hrefs[] = {{"http://a.example/old", 20}, {"http://a.example/new", 20}};
    struct feed feed = make_feed("http://a.example/old");
    struct job *job;

    feed.page_url = STR("http://a.example/");
    for (int status = 400; status < 520; status++) {
        job = make_job(&feed, 0);
        assert_int_equal(answer(job, status),
                         status == 404 || status == 410 ? STEP_QUEUE : STEP_UNDERSTAND);
        job_free(&job);
    }
    job = make_job(&feed, 0);
    answer(job, 410);
    assert_str(job->url, "http://a.example/");
    assert_int_equal(answer(job, 200), STEP_UNDERSTAND);
    assert_int_equal(discovery_try(job, hrefs, 2, false), STEP_QUEUE);
    assert_str(job->url, "http://a.example/new");
    assert_int_equal(answer(job, 500), STEP_UNDERSTAND);
    assert_int_equal(job->resp.kind, RESPONSE_GONE); /* what the feed itself said stands */
    job_free(&job);

    job = make_job(&feed, 0);
    answer(job, 404);
    assert_int_equal(answer(job, 503), STEP_UNDERSTAND);
    assert_int_equal(job->resp.kind, RESPONSE_MISSING);
    job_free(&job);
}

static struct poll_outcome outcome_of(struct arena *a, struct job *job, bool same)
{
    struct poll_facts facts = {.check = {.is_ok = same}, .left_cursor = STR_NULL};
    struct found_at at =
        job->source == &source_discovery ? discovery_found_at(job) : poll_found_at(job);
    struct poll_outcome o;

    poll_outcome_fill(a, job, job->feed, &facts, &at, job->started_at, &o);
    return o;
}

/* DISC-08: where a feed that is fetched for the first time lives afterwards. */
static void test_sources__adopts_permanent_moves(void **state UNUSED)
{
    static const struct {
        bool all_permanent, same, has_credential;
        const char *target, *adopted;
    } rows[] = {
        {true, true, false, "http://b.example/f", "http://b.example/f"},
        {false, true, false, "http://b.example/f", NULL},
        {true, false, false, "http://b.example/f", NULL}, /* no feed there */
        {true, true, true, "http://b.example/f", NULL},   /* the password would go along */
        {true, true, true, "http://a.example/g", "http://a.example/g"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct feed feed = make_feed("http://a.example/f");
        struct poll_outcome o;
        struct job *job;

        feed.last_success_at = TIME_UNKNOWN;
        if (rows[i].has_credential)
            feed.credential = STR("u:p");
        job = make_job(&feed, 0);
        answer_moved(job, rows[i].target, rows[i].all_permanent);
        if (!rows[i].same)
            job_fail(job, RC_UNSUPPORTED, STR("no feed"));
        o = outcome_of(&a, job, rows[i].same);
        if (rows[i].adopted == NULL) {
            assert_true(str_is_null(o.check.url));
        } else {
            assert_str(o.check.url, rows[i].adopted);
            assert_int_equal(o.check.n_aliases, 1);
            assert_str(o.check.aliases[0], "http://a.example/f");
        }
        job_free(&job);
    }
}

#define DAY_S ((int64_t)24 * 3600)

/* ETIQ-05: a known feed moves after a week and three fetches that found it at the new URL. */
static void test_sources__known_feeds_move_on_evidence(void **state UNUSED)
{
    static const struct {
        const char *from, *to;
        int status;
        int64_t day; /* of the fetch; the redirect was first seen at day 0 */
        struct feed_move was;
        int n; /* found there afterwards */
        bool moves;
    } rows[] = {
#define A "http://a.example/f"
#define B "http://b.example/f"
#define WAS(to_url, count) {.to = {to_url, sizeof to_url - 1}, .since = 0, .n = count}
        {A, B, 200, 0, {.since = TIME_UNKNOWN}, 1, false},
        {A, B, 200, 6, WAS(B, 9), 10, false},
        {A, B, 200, 8, WAS(B, 1), 2, false},
        {A, B, 200, 7, WAS(B, 2), 0, true},
        {A, B, 200, 8, WAS("http://c.example/", 9), 1, false}, /* another target begins anew */
        {A, B, 304, 7, WAS(B, 2), 0, true},
        {A, B, 304, 7, WAS(B, 0), 0, false}, /* nothing was understood there yet */
        {A, B, 304, 7, WAS("http://c.example/", 9), 0, false},
        {A, A, 200, 8, WAS(B, 9), 0, false}, /* not redirected any more */
        {A, "https://a.example/g", 200, 0, {.since = TIME_UNKNOWN}, 0, true},
        {A, "https://b.example/f", 200, 0, {.since = TIME_UNKNOWN}, 1, false},
        {"https://a.example/f", A, 200, 0, {.since = TIME_UNKNOWN}, 1, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct feed feed = make_feed(rows[i].from);
        struct http_answer got = {.arena = arena_new(), .body = STR("x"), .all_permanent = true};
        struct poll_facts facts = {.check = {.is_ok = true}, .left_cursor = STR_NULL};
        struct poll_outcome o;
        struct found_at at;
        struct job *job;

        feed.move = rows[i].was;
        feed.etag = STR("\"e\"");
        job = make_job(&feed, 0);
        got.status = rows[i].status;
        got.final_url = str_from(rows[i].to);
        got.n_redirects = !str_eqz(feed.url, rows[i].to);
        job_take_answer(job, RC_OK, &got, NULL);
        at = poll_found_at(job);
        poll_outcome_fill(&a, job, &feed, &facts, &at, rows[i].day * DAY_S, &o);
        assert_int_equal(o.check.move.n, rows[i].n);
        if (rows[i].moves)
            assert_str(o.check.url, rows[i].to);
        else
            assert_true(str_is_null(o.check.url));
        if (rows[i].n == 0 && !rows[i].moves && got.n_redirects > 0) /* to be read whole there */
            assert_true(o.check.etag.ptr != NULL && o.check.etag.len == 0);
        job_free(&job);
    }
}

/* DISC-07, DISC-09: the page is remembered beside the feed it led to. */
static void test_sources__remembers_the_page(void **state UNUSED)
{
    static const struct str hrefs[] = {{"http://a.example/f", 18}};
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed feed = make_feed("http://a.example/");
    struct job *job = make_job(&feed, 0);
    struct poll_outcome o;

    answer(job, 200);
    discovery_try(job, hrefs, 1, false);
    answer_moved(job, "http://a.example/g", true);
    o = outcome_of(&a, job, true);
    assert_str(o.check.url, "http://a.example/g");
    assert_str(o.check.page_url, "http://a.example/");
    assert_int_equal(o.check.n_aliases, 2);
    assert_str(o.check.aliases[0], "http://a.example/");
    assert_str(o.check.aliases[1], "http://a.example/f");
    job_free(&job);
}

/* SCHED-11, SCHED-14: what each kind of end leaves in the feed's row. */
static void test_sources__states_after_a_fetch(void **state UNUSED)
{
    static const struct {
        int status;
        bool has_document, outage;
        enum feed_state state;
        int n_errors; /* 3 before */
        enum fetch_reason reason;
    } rows[] = {
        {304, true, false, FEED_OK, 0, REASON_PERIOD},
        {500, true, false, FEED_FAILING, 4, REASON_BACKOFF},
        {500, false, false, FEED_NEW, 4, REASON_BACKOFF},
        {410, true, false, FEED_FAILING, 4, REASON_PERIOD},
        {429, true, false, FEED_FAILING, 4, REASON_BACKOFF},
        {500, true, true, FEED_OK, 3, REASON_BACKOFF},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct feed feed = make_feed("http://a.example/f");
        struct poll_outcome o;
        struct job *job;

        feed.state = rows[i].has_document ? FEED_OK : FEED_NEW;
        feed.n_errors = 3;
        feed.has_body_hash = rows[i].has_document;
        feed.etag = STR("\"x\"");
        job = make_job(&feed, 0);
        answer(job, rows[i].status);
        job->outage = rows[i].outage;
        o = outcome_of(&a, job, false);
        assert_int_equal(o.check.ok, rows[i].status == 304);
        assert_int_equal(o.check.state, rows[i].state);
        assert_int_equal(o.check.n_errors, rows[i].n_errors);
        assert_int_equal(o.check.next_reason, rows[i].reason);
        assert_int_equal(o.check.level, LEVEL_KEEP);
        assert_int_equal(str_is_null(o.check.error), o.check.ok);
        if (o.check.ok) /* a 304 without validators keeps those that are stored */
            assert_true(str_is_null(o.check.etag) && str_is_null(o.check.last_modified));
        job_free(&job);
    }
}

/* SCHED-04, SCHED-05: the reasons of a fetch decide whether its news were announced. */
static void test_sources__levels_follow_reasons(void **state UNUSED)
{
    static const struct {
        int level;
        unsigned reasons;
        bool volatile_only;
        int next;
    } rows[] = {
        {1, REASON_BIT(REASON_PING), false, 0},
        {1, REASON_BIT(REASON_PERIOD), false, LEVEL_KEEP},
        {0, REASON_BIT(REASON_PERIOD), false, 1},
        {0, REASON_BIT(REASON_PERIOD), true, LEVEL_KEEP},
        {0, REASON_BIT(REASON_PERIOD) | REASON_BIT(REASON_PING), false, LEVEL_KEEP},
        {2, REASON_BIT(REASON_PING), false, LEVEL_KEEP},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct feed feed = make_feed("http://a.example/f");
        struct feed_doc doc = {.version = STR("rss20"), .feed = value_dict(&a), .ext = STR("")};
        static const unsigned char hash[16];
        struct poll_facts facts = {
            .check = {.is_ok = true, .has_news = !rows[i].volatile_only, .doc = &doc},
            .left_cursor = STR_NULL,
            .hash = hash};
        struct found_at at;
        struct poll_outcome o;
        struct job *job;

        feed.level = rows[i].level;
        feed.has_body_hash = true;
        job = make_job(&feed, rows[i].reasons);
        answer(job, 200);
        at = poll_found_at(job);
        poll_outcome_fill(&a, job, &feed, &facts, &at, job->started_at, &o);
        assert_int_equal(o.check.level, rows[i].next);
        assert_true(o.has_document && o.has_body_hash && o.check.ok);
        job_free(&job);
    }
}

/* The head is handed over when it differs in more than the facts of the one answer. */
static void test_sources__head_compares_without_answer_facts(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed feed = make_feed("http://a.example/f");
    struct feed_doc doc = {.version = STR("rss20"), .encoding = STR("utf-8"), .ext = STR("")};
    struct poll_facts facts = {.check = {.is_ok = true, .doc = &doc}, .left_cursor = STR_NULL};
    struct poll_outcome o;
    struct job *job = make_job(&feed, 0);
    struct found_at at;

    doc.feed = value_dict(&a);
    value_set_textz(&a, doc.feed, "title", STR("T"));
    answer(job, 200);
    at = poll_found_at(job);
    job->resp.etag = STR("\"1\"");
    poll_outcome_fill(&a, job, &feed, &facts, &at, job->started_at, &o);
    assert_str(o.head.json,
               "{\"feed\":{\"title\":\"T\"},\"version\":\"rss20\",\"encoding\":\"utf-8\","
               "\"bozo\":false,\"href\":\"http://a.example/f\",\"status\":200,"
               "\"etag\":\"\\\"1\\\"\"}");
    assert_str(o.head.title, "T");
    feed.head = o.head.json;
    feed.ext = STR("");
    job->resp.etag = STR("\"2\"");
    poll_outcome_fill(&a, job, &feed, &facts, &at, job->started_at, &o);
    assert_true(str_is_null(o.head.json));
    assert_true(str_is_null(o.head.ext));
    value_set_textz(&a, doc.feed, "title", STR("U"));
    poll_outcome_fill(&a, job, &feed, &facts, &at, job->started_at, &o);
    assert_false(str_is_null(o.head.json));
    job_free(&job);
}

/* A Smart Feed is asked for what is behind its cursor, without conditions. */
static void test_sources__asks_behind_the_cursor(void **state UNUSED)
{
    static const struct {
        const char *cursor;
        unsigned cursor_state;
        int n_errors, last_status;
        const char *url;
    } rows[] = {
        {NULL, 0, 0, 200, "http://a.example/f?x"},
        {"", 0, 0, 200, "http://a.example/f?x"},
        {"c", 0, 0, 200, "http://a.example/f?x&since=cursor%3Ac&timeout=0"},
        {"c", CURSOR_FIRST, 0, 200, "http://a.example/f?x&since=cursor%3Ac&timeout=0&max=1000"},
        {"c", CURSOR_FIRST, 1, 500, "http://a.example/f?x&since=cursor%3Ac&timeout=0"},
        {"c", 0, 7, 500, "http://a.example/f?x"},
        {"c", 0, 7, 0, "http://a.example/f?x&since=cursor%3Ac&timeout=0"},
        {"c", 0, 8, 500, "http://a.example/f?x&since=cursor%3Ac&timeout=0"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct feed feed = make_feed("http://a.example/f?x");
        struct job *job;

        feed.cursor = str_from(rows[i].cursor);
        feed.cursor_state = rows[i].cursor_state;
        feed.n_errors = rows[i].n_errors;
        feed.last_status = rows[i].last_status;
        feed.etag = STR("\"x\"");
        feed.has_body_hash = true;
        job = make_job(&feed, 0);
        assert_str(job->url, rows[i].url);
        assert_int_equal(job->conditional, rows[i].cursor == NULL);
        job_free(&job);
    }
}

/* What is refused is asked for in another way; failures are failures. */
static void test_sources__refused_cursors(void **state UNUSED)
{
    static const int failures[] = {401, 403, 429, 500, 503};
    static const int refusals[] = {400, 404, 410, 414, 422};
    struct feed feed = make_feed("http://a.example/f");

    feed.cursor = STR("c");
    feed.cursor_state = CURSOR_FIRST;
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        struct job *job = make_job(&feed, 0);

        assert_int_equal(answer(job, failures[i]), STEP_UNDERSTAND);
        job_free(&job);
    }
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        struct job *job = make_job(&feed, 0);

        assert_int_equal(answer(job, refusals[i]), STEP_QUEUE);
        assert_str(job->url, "http://a.example/f?since=cursor%3Ac&timeout=0");
        assert_int_equal(answer(job, refusals[i]), STEP_QUEUE);
        assert_str(job->url, "http://a.example/f");
        assert_false(job->conditional);
        assert_int_equal(stream_state_of(job)->ask, STREAM_REFUSED);
        assert_int_equal(stream_state_of(job)->is_lost, refusals[i] == 410);
        assert_int_equal(answer(job, refusals[i]),
                         STEP_UNDERSTAND); /* now it is the feed that is missing */
        job_free(&job);
    }
}

/* The next pieces, where the stream has moved to. */
static void test_sources__asks_for_more(void **state UNUSED)
{
    struct feed feed = make_feed("http://a.example/f?x");
    struct job *job;

    feed.cursor = STR("c");
    job = make_job(&feed, 0);
    assert_int_equal(answer(job, 200), STEP_UNDERSTAND);
    assert_str(stream_found_at(job).url, "http://a.example/f?x");
    assert_true(stream_ask_more(job, STR("d/")));
    assert_str(job->url, "http://a.example/f?x&since=cursor%3Ad%2F&timeout=0&max=1000");
    assert_int_equal(
        answer_moved(job, "http://b.example/g?x&since=cursor%3Ad%2F&timeout=0&max=1000", true),
        STEP_UNDERSTAND);
    assert_str(stream_found_at(job).url, "http://b.example/g?x");
    assert_true(stream_ask_more(job, STR("e")));
    assert_str(job->url, "http://b.example/g?x&since=cursor%3Ae&timeout=0&max=1000");
    job_free(&job);
}

/* Once: a server whose URLs lose it for ever is polled. */
static void test_sources__names_the_cursor_where_a_redirection_lost_it(void **state UNUSED)
{
    struct feed feed = make_feed("http://a.example/f");
    struct job *job;

    feed.cursor = STR("c");
    job = make_job(&feed, 0);
    assert_int_equal(answer_moved(job, "http://b.example/g?x", false), STEP_QUEUE);
    assert_str(job->url, "http://b.example/g?x&since=cursor%3Ac&timeout=0");
    assert_int_equal(answer_moved(job, "http://b.example/g?x", false), STEP_UNDERSTAND);
    assert_str(stream_found_at(job).url, "http://a.example/f");
    job_free(&job);
    job = make_job(&feed, 0);
    assert_int_equal(answer_moved(job, "http://b.example/g?since=cursor%3Ac", false),
                     STEP_UNDERSTAND);
    job_free(&job);
    job = make_job(&feed, 0);
    assert_int_equal(answer_moved(job, "http://b.example/g", true), STEP_QUEUE);
    assert_str(job->url, "http://b.example/g?since=cursor%3Ac&timeout=0");
    assert_int_equal(answer(job, 200), STEP_UNDERSTAND);
    assert_str(stream_found_at(job).asked, "http://a.example/f");
    assert_str(stream_found_at(job).url, "http://b.example/g");
    job_free(&job);
}

/* A feed whose document has 20 entries, six hours apart. */
static struct poll_outcome watched(struct arena *a, struct feed *feed, const struct schedule_rules *with, int status,
                                   int64_t n_new, size_t n_dates)
{
    struct job *job = make_job(feed, 0);
    int64_t *dates = ARENA_ARRAY(a, int64_t, n_dates + 1);
    struct poll_facts facts = {.check = {.is_ok = status == 200}, .left_cursor = STR_NULL};
    struct poll_outcome o;
    struct found_at at;

    for (size_t i = 0; i < n_dates; i++)
        dates[i] = job->started_at - ((int64_t)i + 1) * 6 * 3600;
    facts.check.sight = (struct sight){.n_new = n_new, .n_shown = 20, .dates = dates, .n_dates = n_dates};
    answer(job, status);
    job->rules = *with;
    at = poll_found_at(job);
    poll_outcome_fill(a, job, feed, &facts, &at, job->started_at, &o);
    o.check.next_fetch_at -= job->started_at;
    job_free(&job);
    return o;
}

/* ETIQ-01: each fetch teaches how a feed posts. Level 1 has the period that follows; lists and failures teach
 * nothing, and what is known of all other feeds waits for them to get level 1. */
static void test_sources__level_1_adapts(void **state UNUSED)
{
    static const struct {
        int level, status;
        size_t n_dates;
        bool adapts, is_list;
        int64_t budget;
        double price;
        int64_t from_s, to_s; /* until the next fetch */
        bool teaches, decides;
    } rows[] = {
        {1, 200, 20, true, false, 99, 1e6, 86400, 88128, true, true},  /* dear: the ceiling */
        {1, 200, 20, true, false, 99, 1e-9, 300, 306, true, true},     /* cheap: the floor */
        {1, 200, 20, true, false, 24, 0, 1200, 10800, true, true},     /* it has all of the budget */
        {1, 200, 20, true, false, 0, 1e6, 900, 10800, true, true},     /* no budget, no price of the day */
        {1, 200, 0, true, false, 0, 1e6, 1800, 1836, true, false},     /* nothing is known */
        {1, 200, 0, true, false, 99, 1e6, 7200, 88128, true, true},    /* a budget holds for all */
        {1, 200, 20, false, false, 0, 1e6, 1800, 1836, true, false},
        {1, 200, 20, true, true, 0, 1e6, 1800, 1836, false, false},
        {1, 500, 20, true, false, 0, 1e6, 1800, 1800, false, false},
        {0, 200, 20, true, false, 0, 1e-9, 86400, 88128, true, true},
        {2, 200, 20, true, false, 0, 1e6, 300, 306, true, true},
        {LEVEL_EXACT, 200, 20, true, false, 0, 1e6, 77, 77, true, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct feed feed = make_feed("http://a.example/f");
        struct schedule_rules with = rules;
        struct poll_outcome o;
        struct pace p;

        feed.level = rows[i].level;
        feed.period_s = rows[i].level == LEVEL_EXACT ? 77 : 0;
        feed.is_list = rows[i].is_list;
        feed.gap_since = TIME_UNKNOWN;
        with.adapts = rows[i].adapts;
        with.adaptive_budget = rows[i].budget;
        with.price = rows[i].price;
        o = watched(&a, &feed, &with, rows[i].status, 20, rows[i].n_dates);
        assert_in_range(o.check.next_fetch_at, rows[i].from_s, rows[i].to_s);
        assert_int_equal(rows[i].teaches, !str_is_null(o.check.pace));
        assert_int_equal(rows[i].teaches, o.check.need_class > 0);
        assert_int_equal(rows[i].decides, o.check.own_period_s > 0);
        assert_int_equal(rows[i].teaches, pace_read(o.check.pace, &p));
        assert_int_equal(rows[i].teaches ? 1 : 0, p.n_fetches);
        assert_int_equal(rows[i].decides, rows[i].teaches && p.why != PACE_NEW);
    }
}

/* ETIQ-01: entries that the hub has delivered count, too, when a document shows them. */
static void test_sources__delivered_entries_count(void **state UNUSED)
{
    for (int has_hub = 0; has_hub < 3; has_hub++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct feed feed = make_feed("http://a.example/f");
        struct pace before = PACE_INIT, after;
        struct poll_outcome o;

        adapt_learn(&before, &(struct sight){.at = clock_now_s() - 5 * 86400, .n_shown = 20});
        feed.pace = pace_write(&a, &before);
        feed.upstream.hub = has_hub != 0 ? STR("http://hub.example/") : STR_NULL;
        feed.upstream.delivered_at = has_hub == 1 ? clock_now_s() : TIME_UNKNOWN; /* 2: it has never delivered */
        feed.gap_since = TIME_UNKNOWN;
        o = watched(&a, &feed, &rules, 200, 0, 20);
        assert_true(pace_read(o.check.pace, &after));
        if (has_hub == 1)
            assert_true(pace_rate(&after) > 2);
        else
            assert_true(pace_rate(&after) < 1);
    }
}

/* What is left of a stream is soon asked for, as long as that leads anywhere. */
static void test_sources__when_a_stream_is_asked_again(void **state UNUSED)
{
    static const struct {
        unsigned cursor_state;
        int status, n_errors;
        bool more, refused, brings_news;
        int64_t wait_s; /* the level's is 1800 */
    } rows[] = {
        {0, 200, 0, true, false, true, 10},
        {CURSOR_FIRST, 200, 0, true, false, true, 10},
        {CURSOR_FIRST, 200, 0, true, false, false, 1800},
        {0, 200, 0, false, false, true, 1800},
        {0, 200, 0, false, true, false, 10},
        {CURSOR_REFUSED, 200, 0, false, true, true, 1800},
        {CURSOR_FIRST, 500, 0, false, false, false, 4},
        {CURSOR_FIRST, 500, 5, false, false, false, 128},
        {0, 500, 0, false, false, false, 1800},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct feed feed = make_feed("http://a.example/f");
        struct feed_doc doc = {
            .version = STR("atom10"), .feed = value_dict(&a), .ext = STR(""), .n_entries = 1};
        struct doc_piece piece = {
            .cursor = STR("d"), .more = rows[i].more, .is_refused = rows[i].refused};
        struct check_facts facts = {.is_ok = rows[i].status == 200};
        struct stream_outcome o;
        struct found_at at;
        struct job *job;

        feed.cursor = STR("c");
        feed.cursor_state = rows[i].cursor_state;
        feed.n_errors = rows[i].n_errors;
        feed.has_body_hash = true;
        job = make_job(&feed, 0);
        stream_state_of(job)->no_max = true;
        answer(job, rows[i].status);
        stream_state_of(job)->brings_news = rows[i].brings_news;
        if (facts.is_ok)
            facts.doc = &doc;
        at = stream_found_at(job);
        stream_outcome_fill(&a, job, &feed, &facts, &piece, &at, job->started_at, &o);
        if (o.check.next_fetch_at - job->started_at < rows[i].wait_s ||
            o.check.next_fetch_at - job->started_at > rows[i].wait_s * 11 / 10)
            fail_msg("row %zu: %lld s", i, (long long)(o.check.next_fetch_at - job->started_at));
        job_free(&job);
    }
}

/* ETIQ-01: a piece of what a stream had before teaches nothing, so the feed keeps the period that it has. */
static void test_sources__the_past_of_a_stream_keeps_the_period(void **state UNUSED)
{
    for (int is_past = 0; is_past < 2; is_past++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct feed feed = make_feed("http://a.example/f");
        struct feed_doc doc = {
            .version = STR("atom10"), .feed = value_dict(&a), .ext = STR(""), .n_entries = 1};
        struct doc_piece piece = {.cursor = STR("d"), .more = true};
        struct check_facts facts = {.is_ok = true, .doc = &doc, .is_past = is_past};
        struct stream_outcome o;
        struct found_at at;
        struct job *job;

        feed.level = 1;
        feed.period_s = 600; /* the level's is 1800 */
        feed.cursor = STR("c");
        feed.gap_since = TIME_UNKNOWN;
        job = make_job(&feed, 0);
        job->rules.adapts = true;
        answer(job, 200);
        at = stream_found_at(job);
        stream_outcome_fill(&a, job, &feed, &facts, &piece, &at, job->started_at, &o);
        assert_int_equal(is_past, str_is_null(o.check.pace));
        assert_in_range(o.check.next_fetch_at - job->started_at, is_past ? 600 : 1800, is_past ? 660 : 1980);
        job_free(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sources__conditional_request),
        cmocka_unit_test(test_sources__credential_stays_at_home),
        cmocka_unit_test(test_sources__own_fields),
        cmocka_unit_test(test_sources__the_past_of_a_stream_keeps_the_period),
        cmocka_unit_test(test_sources__candidates_in_turn),
        cmocka_unit_test(test_sources__guesses_end_where_the_site_is_in_trouble),
        cmocka_unit_test(test_sources__guesses_once),
        cmocka_unit_test(test_sources__service_document_expands),
        cmocka_unit_test(test_sources__page_without_feed),
        cmocka_unit_test(test_sources__page_is_asked_again_when_missing),
        cmocka_unit_test(test_sources__adopts_permanent_moves),
        cmocka_unit_test(test_sources__known_feeds_move_on_evidence),
        cmocka_unit_test(test_sources__remembers_the_page),
        cmocka_unit_test(test_sources__states_after_a_fetch),
        cmocka_unit_test(test_sources__levels_follow_reasons),
        cmocka_unit_test(test_sources__asks_behind_the_cursor),
        cmocka_unit_test(test_sources__refused_cursors),
        cmocka_unit_test(test_sources__asks_for_more),
        cmocka_unit_test(test_sources__names_the_cursor_where_a_redirection_lost_it),
        cmocka_unit_test(test_sources__when_a_stream_is_asked_again),
        cmocka_unit_test(test_sources__level_1_adapts),
        cmocka_unit_test(test_sources__delivered_entries_count),
        cmocka_unit_test(test_sources__head_compares_without_answer_facts),
    };

    digest_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
