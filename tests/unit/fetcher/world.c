/* tests/unit/fetcher/world.c - see world.h. */
#include "world.h"

#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "net/http_client.h"
#include "storage/nodes.h"

#define WAIT_MS 60000 /* what has not come by then does not come */

static void ticket_end(struct ticket *t)
{
    t->is_done = true;
    pthread_cond_broadcast(&t->done);
    pthread_mutex_unlock(&t->lock);
}

void on_op(void *ctx, enum rc rc, const struct store_result *res, const struct err *err)
{
    struct ticket *t = ctx;

    pthread_mutex_lock(&t->lock);
    t->rc = rc;
    t->id = res == NULL ? 0 : res->id;
    snprintf(t->text, sizeof t->text, "%s", err == NULL ? "" : err->text);
    ticket_end(t);
}

void on_fetched(void *ctx, const struct fetch_result *res)
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

void on_got(void *ctx, const struct document_result *res)
{
    struct ticket *t = ctx;

    pthread_mutex_lock(&t->lock);
    t->rc = res->rc;
    t->status = res->status;
    snprintf(t->text, sizeof t->text, "%.*s", STR_ARG(res->text));
    snprintf(t->body, sizeof t->body, "%.*s", STR_ARG(res->body));
    ticket_end(t);
}

void wait_for(struct ticket *t)
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
void wait_count(struct world *w, const char *path, int n)
{
    const struct timespec pause = {.tv_nsec = 5000000};

    for (int64_t end_ms = clock_mono_ms() + WAIT_MS; origin_count(w->origin, path) < n;) {
        if (clock_mono_ms() > end_ms)
            fail_msg("%s was asked %d times, not %d", path, origin_count(w->origin, path), n);
        nanosleep(&pause, NULL);
    }
}

void rest_ms(int64_t ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

/* ---- the world ----------------------------------------------------------------------------- */

/* It owns all slots then. */
static void join(struct world *w)
{
    struct nodes_cfg cfg = {.name = STR("own"),
                            .address = STR("http://h:1"),
                            .program = STR("1.0"),
                            .base_url = STR(""),
                            .roles = STR(""),
                            .lease_ms = w->lease_ms};
    struct err err = ERR_INIT;

    if (nodes_join(store_nodes(w->store), &cfg, &err) != RC_OK)
        fail_msg("%s", err.text);
}

void open_world(struct world *w)
{
    char path[128];
    struct store_cfg store = {.n_readers = 2,
                              .queue_len = w->store_queue_len,
                              .max_bytes = w->max_bytes,
                              .batch_ops = 256,
                              .batch_ms = 5,
                              .cache_bytes = 1 << 20,
                              .levels = {{86400, 1800, 300}}};
    struct err err = ERR_INIT;

    snprintf(path, sizeof path, "%s/feeds.db", w->dir);
    store.path = str_from(w->address != NULL ? w->address : path);
    store.is_shared = w->address != NULL;
    if (store_open(&store, &w->store, &err) != RC_OK)
        fail_msg("%s", err.text);
    w->cfg.store = w->store;
    w->cfg.guard = w->guard;
    w->fetcher = fetcher_new(&w->cfg);
    if (w->address != NULL)
        join(w);
    if (fetcher_start(w->fetcher, &err) != RC_OK)
        fail_msg("%s", err.text);
}

void close_world(struct world *w, int64_t ms)
{
    fetcher_stop(w->fetcher, ms);
    store_close(&w->store);
    fetcher_free(&w->fetcher);
}

int world_setup(void **state)
{
    return world_setup_at(state, NULL);
}

int world_setup_at(void **state, const char *address)
{
    static const struct str loopback = {"127.0.0.0/8", 11};
    struct world *w = calloc(1, sizeof *w);

    snprintf(w->dir, sizeof w->dir, "%s/feedmill-test-XXXXXX",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(w->dir));
    assert_int_equal(guard_new(&loopback, 1, &w->guard, NULL), RC_OK);
    w->origin = origin_new(NULL, NULL, false);
    w->address = address;
    w->lease_ms = 600000;
    w->store_queue_len = 1024;
    w->cfg = (struct fetcher_cfg){
        .user_agent = "Feedmill/1 (+http://feedmill.example/",
        .n_workers = 2,
        .max_transfers = 64,
        .max_per_host = 64,
        .timeout_ms = 60000,
        .max_body = 1 << 20,
        .levels = {{86400, 1800, 300}},
        .backoff_max_s = 86400,
        .unused_s = 30 * 86400,
        .ping_gap_ms = 300,
        .monitor_period_s = 3600,
    };
    open_world(w);
    *state = w;
    return 0;
}

int world_teardown(void **state)
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

/* Make a subscribed feed without waiting for its fetch. */
int64_t subscribe(struct world *w, const char *url, const char *credential, int level,
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
enum rc fetch_into(struct world *w, int64_t id, enum fetch_reason reason, struct ticket *t)
{
    *t = (struct ticket)TICKET;
    fetcher_await(w->fetcher, id, reason, on_fetched, t);
    wait_for(t);
    return t->rc;
}

enum rc fetch(struct world *w, int64_t id)
{
    struct ticket t;

    return fetch_into(w, id, REASON_READER, &t);
}

struct feed *feed_of(struct world *w, int64_t id)
{
    struct reader *r = reader_open(w->store);
    struct feed *feed = NULL;
    enum rc rc = reader_feed(r, id, &w->arena, &feed, NULL);

    assert_true(rc == RC_OK || rc == RC_NOT_FOUND);
    reader_close(&r);
    return feed;
}

/* Revisions of a feed in the order of the log. */
struct revision *revisions(struct world *w, int64_t id, size_t *n)
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

size_t count_revisions(struct world *w, int64_t id)
{
    size_t n;

    revisions(w, id, &n);
    return n;
}

void serve(struct world *w, const char *path, const char *etag, const char *body)
{
    origin_set(w->origin, path, &(struct origin_page){.etag = etag, .body = body});
}

void world_init(const char *filter)
{
    digest_init();
    http_client_global_init();
    log_set_level(getenv("FEEDMILL_TEST_LOG") == NULL ? LOG_LEVEL_ERROR : LOG_LEVEL_DEBUG);
    if (filter != NULL)
        cmocka_set_test_filter(filter);
}
