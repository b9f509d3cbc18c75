/* bench/bench_push.c - deliveries by the notifier, compared with a bare loop, and with and without
 * dead endpoints.
 *
 * Usage: bench_push DIR PORT [ROW]..., where bench_origin answers. The rows:
 *
 * xmlrpc, webhook: one fetch brings an entry of 3 KB to a feed with ten thousand subscriptions,
 * each with its own endpoint. The notifier reads and draws ten thousand calls, makes them, and has
 * ten thousand positions and lines of the delivery log written with synchronous=FULL. The limit is
 * a bare curl multi loop that sends the same bytes, body and fields, as often and writes nothing.
 * Wall clock until the last position is on disk.
 *
 * dead: the same to a hundred subscriptions, while a thousand others of the feed have endpoints,
 * each at its own host, that accept calls and never answer. The limit is the same without those:
 * its rate, and the time from the commit of the entry to the answer, for 99 of 100 deliveries. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "curl_loop.h"
#include "net/http_client.h"
#include "net/xmlrpc.h"
#include "notifier/carrier_http.h"
#include "notifier/notifier.h"
#include "notifier/sink.h"
#include "rounds.h"
#include "storage/pushes.h"
#include "work.h"

#define SUBSCRIPTIONS 10000
#define LIVING 100 /* endpoints that answer, beside the dead ones */
#define DEAD 1000
#define ENTRY_LEN 3000
#define AT_ONCE 64      /* calls of the bare loop */
#define CALLS 256       /* the default of the daemon */
#define QUIET_US 100000 /* between rounds */
#define AGENT "Feedmill-bench"
#define URL "http://example.org/feed"
#define SETTINGS "{\"secrets\":[{\"text\":\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"}]}"

/* Times of deliveries, in microseconds. */
struct times {
    int64_t *us;
    size_t n, cap;
};

/* The parts of a daemon: a store, a notifier, a feed and its subscriptions. */
struct side {
    struct store *store;
    struct notifier *notifier;
    int64_t feed;
    unsigned n;    /* entries so far */
    size_t living; /* number of subscriptions that answer; their ids are 1, 2 ... */
    struct times times;
    sqlite3 *look;      /* what is on disk */
    useconds_t look_us; /* between two looks */
};

struct work {
    struct side side;
    int port;
    struct buf body;                             /* of one call */
    const char *lines[2 + HTTP_LOAD_FIELDS_MAX]; /* of its header, those that the notifier sets; the
                                                    last one is NULL */
    struct arena arena;                          /* of the lines */
    size_t left;                                 /* calls left in the limit's round */
    char url[64];
};

/* Open the database of a side, beside its store. */
static sqlite3 *look_open(const char *dir, const char *name)
{
    struct arena a = ARENA_INIT;
    sqlite3 *sq;
    int code =
        sqlite3_open_v2(arena_printf(&a, "%s/%s.db", dir, name), &sq, SQLITE_OPEN_READONLY, NULL);

    ASSERT(code == SQLITE_OK);
    arena_release(&a);
    return sq;
}

/* Returns true when `n` entries have been delivered to each living subscription, and that is on
 * disk. One statement that begins with those whose turn is last, so that the look costs next to
 * nothing beside the deliveries. */
static bool all_delivered(const struct side *s)
{
    sqlite3_stmt *st = NULL;
    int code = sqlite3_prepare_v2(
        s->look,
        "SELECT 1 FROM subscriptions WHERE id <= ?1 AND n_delivered < ?2 ORDER BY id DESC LIMIT 1",
        -1, &st, NULL);

    ASSERT(code == SQLITE_OK);
    sqlite3_bind_int64(st, 1, (int64_t)s->living);
    sqlite3_bind_int64(st, 2, (int64_t)s->n);
    code = sqlite3_step(st);
    sqlite3_finalize(st);
    return code == SQLITE_DONE;
}

/* Publish one entry to all living endpoints, and wait until the last position is written. */
static void publish(struct side *s)
{
    int64_t until = stats_get(STAT_push_entries_total) + (int64_t)s->living;
    struct arena a = ARENA_INIT;
    struct poll_outcome o = work_fetch(&a, s->feed, 1, s->n++, 1, ENTRY_LEN);

    work_outcome(s->store, &o);
    arena_release(&a);
    while (stats_get(STAT_push_entries_total) < until)
        usleep(s->look_us);
    while (!all_delivered(s))
        usleep(s->look_us);
}

/* Returns deliveries per second. */
static double deliver(struct side *s, double seconds)
{
    double from = rounds_now(), took;
    unsigned began = s->n;

    do {
        publish(s);
        took = rounds_now() - from;
    } while (took < seconds);
    usleep(QUIET_US);
    return (s->n - began) * (double)s->living / took;
}

static double ours(void *ctx, double seconds)
{
    struct work *w = ctx;

    return deliver(&w->side, seconds);
}

/* Returns microseconds of processor time for one delivery. */
static double ours_cpu(void *ctx, double seconds)
{
    struct work *w = ctx;
    double from = rounds_cpu();
    unsigned began = w->side.n;

    deliver(&w->side, seconds);
    return (rounds_cpu() - from) * 1e6 / ((w->side.n - began) * (double)w->side.living);
}

static const char *next_url(void *ctx)
{
    struct work *w = ctx;

    if (w->left == 0)
        return NULL;
    snprintf(w->url, sizeof w->url, "http://127.0.0.1:%d/%zu", w->port, w->left--);
    return w->url;
}

/* Post as often as there are subscriptions, until the time is over. Returns the number of calls.
 */
static size_t post(struct work *w, double seconds)
{
    struct curl_loop l = {.at_once = AT_ONCE,
                          .connections = AT_ONCE,
                          .body = buf_view(&w->body),
                          .lines = w->lines,
                          .next_url = next_url,
                          .ctx = w};
    double from = rounds_now();
    size_t n = 0;

    do {
        w->left = SUBSCRIPTIONS;
        n += curl_loop_run(&l);
    } while (rounds_now() - from < seconds);
    return n;
}

static double limit(void *ctx, double seconds)
{
    double from = rounds_now();
    size_t n = post(ctx, seconds);

    return (double)n / (rounds_now() - from);
}

static double limit_cpu(void *ctx, double seconds)
{
    double from = rounds_cpu();
    size_t n = post(ctx, seconds);

    return (rounds_cpu() - from) * 1e6 / (double)n;
}

/* Print the processor time of each kind of thread, for one delivery. */
static void show_threads(struct side *s, double seconds)
{
    static const char *const threads[] = {"notify", "reader", "storer"};
    double from[ARRAY_LEN(threads)];
    unsigned began = s->n;

    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        from[i] = rounds_cpu_of(threads[i]);
    deliver(s, seconds);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        printf("of it: %s\tus/push\t%.1f\t-\t-\n", threads[i],
               (rounds_cpu_of(threads[i]) - from[i]) * 1e6 / ((s->n - began) * (double)s->living));
    fflush(stdout);
}

/* Make the bytes of one call, body and fields, as the notifier makes them. */
static void draw(struct work *w, const struct sink *sink)
{
    struct arena a = ARENA_INIT;
    struct poll_outcome o = work_fetch(&a, 1, 1, 0, 1, ENTRY_LEN);
    struct revision rev = {.seq = 1,
                           .at_us = 1,
                           .feed_id = 1,
                           .uid = o.entries.changes[0].uid,
                           .doc = o.entries.changes[0].doc};
    struct sink_push push = {.sub_id = 1,
                             .url = STR(URL),
                             .revisions = &rev,
                             .n = 1,
                             .log_id = store_log_id(w->side.store),
                             .prev = {1, 1},
                             .last = {1, 1},
                             .feed_url = STR(URL),
                             .title = STR("A feed"),
                             .settings = STR(SETTINGS)};
    struct carrier_load load = {.shared = NULL};
    const struct http_load *own;
    enum rc rc;

    w->body = (struct buf)BUF_INIT(SINK_BODY_MAX);
    rc = sink->entries.body(&a, &push, &w->body, NULL);
    ASSERT(rc == RC_OK);
    load.body = w->body;
    rc = sink->entries.seal(&a, &push, &load, NULL);
    ASSERT(rc == RC_OK);
    own = load.own;
    for (size_t i = 0; i < own->n_fields; i++)
        w->lines[i] = arena_printf(&w->arena, "%.*s: %.*s", STR_ARG(own->fields[i].name),
                                   STR_ARG(own->fields[i].value));
    w->lines[own->n_fields] = "User-Agent: " AGENT;
    arena_release(&a);
}

static void subscribe(struct side *s, const char *sink, const char *endpoint)
{
    struct feed_ref feed = {.url = STR(URL), .shown_url = STR(URL)};
    struct sub_request req = {.endpoint = str_from(endpoint),
                              .sink = str_from(sink),
                              .sink_settings =
                                  strcmp(sink, "webhook") == 0 ? STR(SETTINGS) : STR_NULL,
                              .feeds = &feed,
                              .n_feeds = 1,
                              .level = LEVEL_KEEP};
    enum rc rc;

    atomic_fetch_add(&work_pending, 1);
    while ((rc = store_subscribe(s->store, &req, work_done, &work_pending)) == RC_FULL)
        usleep(500);
    ASSERT(rc == RC_OK);
}

/* How the endpoints of a side are made. */
struct endpoints {
    const char *sink;
    int port;
    size_t living; /* that answer at `port` */
    int dead_port;
    size_t dead; /* each at its own host, at `dead_port` */
};

static void side_start(struct side *s, const char *dir, const char *name, struct notifier_cfg *cfg,
                       const struct endpoints *e)
{
    struct arena a = ARENA_INIT;
    struct poll_outcome first;
    enum rc rc;

    *s = (struct side){.store = work_store(dir, name),
                       .living = e->living,
                       .look_us = e->living > 1000 ? 2000 : 200};
    s->look = look_open(dir, name);
    cfg->store = s->store;
    s->notifier = notifier_new(cfg);
    rc = notifier_start(s->notifier, NULL);
    ASSERT(rc == RC_OK);
    s->feed = work_feed(s->store, URL);
    first =
        work_fetch(&a, s->feed, 1, 0, 0, 0); /* the entries of the first fetch are not delivered */
    work_outcome(s->store, &first);
    for (size_t i = 0; i < e->living; i++)
        subscribe(s, e->sink, str_printf(&a, "http://127.0.0.1:%d/%zu", e->port, i).ptr);
    work_wait();
    for (size_t i = 0; i < e->dead; i++)
        subscribe(s, e->sink,
                  str_printf(&a, "http://%s:%d/", work_address(&a, (unsigned)i), e->dead_port).ptr);
    work_wait();
    arena_release(&a);
}

static void side_stop(struct side *s)
{
    notifier_stop(s->notifier, 0);
    sqlite3_close(s->look);
    store_close(&s->store);
    notifier_free(&s->notifier);
    mem_free(s->times.us);
}

/* ---- many subscriptions ---------------------------------------------------------------------- */

static void run_many(const char *dir, struct notifier_cfg *cfg, int port, const char *name,
                     const struct sink *sink)
{
    struct work w = {.port = port, .arena = ARENA_INIT};
    struct endpoints e = {.sink = name, .port = port, .living = SUBSCRIPTIONS};
    char row[64];
    struct rounds r = {row, "pushes/s", ours, limit, &w, 5, 1.0, false};
    struct rounds cpu = {
        "the same, processor time", "us/push", ours_cpu, limit_cpu, &w, 3, 1.0, true};

    snprintf(row, sizeof row, "push 3 KB to %d, %s", SUBSCRIPTIONS, name);
    side_start(&w.side, dir, name, cfg, &e);
    draw(&w, sink);
    deliver(&w.side, 0.1); /* each has been called once, and has a connection */
    rounds_run(&r);
    rounds_run(&cpu);
    show_threads(&w.side, 3.0);
    side_stop(&w.side);
    buf_release(&w.body);
    arena_release(&w.arena);
}

/* ---- dead endpoints -------------------------------------------------------------------------- */

struct beside {
    struct side with, without; /* with and without dead endpoints */
};

/* Open a port that accepts connections on every loopback address, and never answers. */
static int dead_listener(int *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_ANY)}};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&a, len) == 0 && listen(fd, 4096) == 0 &&
              getsockname(fd, (struct sockaddr *)&a, &len) == 0;

    ASSERT(ok);
    *port = ntohs(a.sin_port);
    return fd;
}

/* Keep the time from the commit to the answer of each living subscription's last delivery. */
static void keep_times(struct side *s, struct reader *r)
{
    struct arena a = ARENA_INIT;
    struct delivery_note *notes;
    size_t n;
    enum rc rc;

    for (size_t i = 1; i <= s->living; i++) {
        rc = reader_deliveries(r, (int64_t)i, 1, &a, &notes, &n, NULL);
        ASSERT(rc == RC_OK && n == 1);
        s->times.us = mem_grow(s->times.us, &s->times.cap, s->times.n + 1, sizeof *s->times.us);
        s->times.us[s->times.n++] = notes->at_us - notes->last.at_us;
        arena_release(&a);
    }
}

static int by_time(const void *x, const void *y)
{
    const int64_t *a = x, *b = y;

    return *a < *b ? -1 : *a > *b;
}

/* Publish for some seconds. Returns the time, in ms, within which 99 of 100 deliveries were
 * answered. */
static double slowest(struct side *s, double seconds)
{
    struct reader *r = reader_open(s->store);
    double from = rounds_now(), ms;

    s->times.n = 0;
    do {
        publish(s);
        keep_times(s, r);
    } while (rounds_now() - from < seconds);
    reader_close(&r);
    qsort(s->times.us, s->times.n, sizeof *s->times.us, by_time);
    ms = (double)s->times.us[s->times.n * 99 / 100] / 1000;
    usleep(QUIET_US);
    return ms;
}

static double with_dead(void *ctx, double seconds)
{
    return deliver(&((struct beside *)ctx)->with, seconds);
}

static double without_dead(void *ctx, double seconds)
{
    return deliver(&((struct beside *)ctx)->without, seconds);
}

static double slowest_with(void *ctx, double seconds)
{
    return slowest(&((struct beside *)ctx)->with, seconds);
}

static double slowest_without(void *ctx, double seconds)
{
    return slowest(&((struct beside *)ctx)->without, seconds);
}

static void run_beside(const char *dir, struct notifier_cfg *cfg, int port)
{
    struct beside b;
    struct rounds rate = {"push beside 1,000 dead endpoints",
                          "pushes/s",
                          with_dead,
                          without_dead,
                          &b,
                          15,
                          0.5,
                          false};
    struct rounds time = {
        "the same, 99 % answered within", "ms", slowest_with, slowest_without, &b, 15, 0.5, true};
    struct endpoints e = {.sink = "xmlrpc", .port = port, .living = LIVING};
    int fd = dead_listener(&e.dead_port);

    side_start(&b.without, dir, "without", cfg, &e);
    e.dead = DEAD;
    side_start(&b.with, dir, "with", cfg, &e);
    deliver(&b.without, 0.1);
    deliver(&b.with, 5); /* let the dead ones take up as much as they can */
    rounds_run(&rate);
    rounds_run(&time);
    side_stop(&b.with);
    side_stop(&b.without);
    close(fd);
}

static bool is_wanted(int argc, char **argv, const char *row)
{
    for (int i = 3; i < argc; i++)
        if (strcmp(argv[i], row) == 0)
            return true;
    return argc == 3;
}

int main(int argc, char **argv)
{
    struct str loopback = STR("127.0.0.0/8");
    struct notifier_cfg cfg = {.user_agent = AGENT,
                               .max_calls = CALLS,
                               .max_entries = 1000,
                               .timeout_ms = 30000,
                               .first_retry_ms = 2000,
                               .max_retry_ms = 3600000,
                               .suspend_after_s = 604800};
    int port;
    enum rc rc;

    if (argc < 3) {
        fprintf(stderr, "usage: bench_push DIR PORT [ROW]...\n");
        return 2;
    }
    digest_init();
    log_set_level(LOG_LEVEL_WARN);
    rpc_init();
    http_client_global_init();
    port = (int)strtol(argv[2], NULL, 10);
    rc = guard_new(&loopback, 1, &cfg.guard, NULL);
    ASSERT(rc == RC_OK);
    if (is_wanted(argc, argv, "xmlrpc"))
        run_many(argv[1], &cfg, port, "xmlrpc", &sink_xmlrpc);
    if (is_wanted(argc, argv, "webhook"))
        run_many(argv[1], &cfg, port, "webhook", &sink_webhook);
    if (is_wanted(argc, argv, "dead"))
        run_beside(argv[1], &cfg, port);
    guard_free(&cfg.guard);
    return 0;
}
