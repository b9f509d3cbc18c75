/* bench/bench_push.c - deliveries by the notifier, compared with a bare loop, and with and without
 * dead endpoints.
 *
 * Usage: bench_push DIR PORT, where bench_origin answers. Two rows:
 *
 * One fetch brings an entry of 3 KB to a feed with a thousand subscriptions, each with its own
 * endpoint. The notifier reads and draws a thousand calls, makes them, and has a thousand positions
 * written with synchronous=FULL. The limit is a bare curl multi loop that sends the same bytes as
 * often and writes nothing. Wall clock until the last position is on disk.
 *
 * The same to a hundred subscriptions, while a thousand others of the feed have endpoints, each at
 * its own host, that accept calls and never answer. The limit is the same without those. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/stats.h"
#include "curl_loop.h"
#include "net/xmlrpc.h"
#include "notifier/notifier.h"
#include "notifier/sink.h"
#include "rounds.h"
#include "work.h"

#define SUBSCRIPTIONS 1000
#define LIVING 100 /* endpoints that answer, in the second row */
#define DEAD 1000
#define ENTRY_LEN 3000
#define AT_ONCE 64
#define CALLS 256       /* in the second row: the default of the daemon */
#define QUIET_US 100000 /* between rounds */

/* The parts of a daemon: a store, a notifier, a feed and its subscriptions. */
struct side {
    struct store *store;
    struct notifier *notifier;
    int64_t feed;
    unsigned n;    /* entries so far */
    size_t living; /* number of subscriptions that answer; their ids are 1, 2 ... */
};

struct work {
    struct side side;
    int port;
    struct buf body; /* of one call */
    size_t left;     /* calls left in the limit's round */
    char url[64];
};

/* Returns true when `n` entries have been delivered to each living subscription. Those that were
 * found to have them are not checked again. */
static bool all_delivered(const struct side *s, struct reader *r, size_t *from)
{
    for (; *from < s->living; ++*from) {
        struct arena a = ARENA_INIT;
        struct subscription *sub;
        int64_t id = (int64_t)*from + 1;
        enum rc rc = reader_sub(r, id, &a, &sub, NULL);
        bool is_so = rc == RC_OK && sub->n_delivered >= s->n;

        arena_release(&a);
        if (!is_so)
            return false;
    }
    return true;
}

/* Publish one entry to all living endpoints, and wait until the last position is written. */
static void publish(struct side *s, struct reader *r)
{
    int64_t until = stats_get(STAT_push_entries_total) + (int64_t)s->living;
    struct arena a = ARENA_INIT;
    struct poll_outcome o = work_fetch(&a, s->feed, 1, s->n++, 1, ENTRY_LEN);
    size_t at = 0;

    work_outcome(s->store, &o);
    arena_release(&a);
    while (stats_get(STAT_push_entries_total) < until)
        usleep(500);
    while (!all_delivered(s, r, &at))
        usleep(500);
}

/* Returns deliveries per second. */
static double deliver(struct side *s, double seconds)
{
    struct reader *r = reader_open(s->store);
    double from = rounds_now(), took;
    unsigned began = s->n;

    do {
        publish(s, r);
        took = rounds_now() - from;
    } while (took < seconds);
    reader_close(&r);
    usleep(QUIET_US);
    return (s->n - began) * (double)s->living / took;
}

static double ours(void *ctx, double seconds)
{
    struct work *w = ctx;

    return deliver(&w->side, seconds);
}

static const char *next_url(void *ctx)
{
    struct work *w = ctx;

    if (w->left == 0)
        return NULL;
    snprintf(w->url, sizeof w->url, "http://127.0.0.1:%d/%zu", w->port, w->left--);
    return w->url;
}

static double limit(void *ctx, double seconds)
{
    struct work *w = ctx;
    struct curl_loop l = {.at_once = AT_ONCE,
                          .connections = AT_ONCE,
                          .body = buf_view(&w->body),
                          .next_url = next_url,
                          .ctx = w};
    double from = rounds_now(), took;
    size_t n = 0;

    do {
        w->left = SUBSCRIPTIONS;
        n += curl_loop_run(&l);
        took = rounds_now() - from;
    } while (took < seconds);
    return (double)n / took;
}

/* Make the bytes of one call, as the notifier makes them. */
static void draw(struct work *w)
{
    struct arena a = ARENA_INIT;
    struct poll_outcome o = work_fetch(&a, 1, 1, 0, 1, ENTRY_LEN);
    struct revision rev = {.uid = o.entries.changes[0].uid, .doc = o.entries.changes[0].doc};
    struct sink_push push = {1, STR("http://example.org/feed"), &rev, 1};
    enum rc rc = sink_xmlrpc.entries.body(&a, &push, &w->body, NULL);

    ASSERT(rc == RC_OK);
    arena_release(&a);
}

static void subscribe(struct side *s, const char *endpoint)
{
    struct feed_ref feed = {.url = STR("http://example.org/feed"),
                            .shown_url = STR("http://example.org/feed")};
    struct sub_request req = {.endpoint = str_from(endpoint),
                              .sink = STR("xmlrpc"),
                              .feeds = &feed,
                              .n_feeds = 1,
                              .level = LEVEL_KEEP};
    enum rc rc;

    atomic_fetch_add(&work_pending, 1);
    rc = store_subscribe(s->store, &req, work_done, &work_pending);
    ASSERT(rc == RC_OK);
}

/* Start a side with `living` endpoints that answer at `port`, and `dead` endpoints at `dead_port`,
 * each at its own host. */
static void side_start(struct side *s, const char *dir, const char *name, struct notifier_cfg *cfg,
                       int port, size_t living, int dead_port, size_t dead)
{
    struct arena a = ARENA_INIT;
    struct poll_outcome first;
    enum rc rc;

    *s = (struct side){.store = work_store(dir, name), .living = living};
    cfg->store = s->store;
    s->notifier = notifier_new(cfg);
    rc = notifier_start(s->notifier, NULL);
    ASSERT(rc == RC_OK);
    s->feed = work_feed(s->store, "http://example.org/feed");
    first =
        work_fetch(&a, s->feed, 1, 0, 0, 0); /* the entries of the first fetch are not delivered */
    work_outcome(s->store, &first);
    for (size_t i = 0; i < living; i++)
        subscribe(s, str_printf(&a, "http://127.0.0.1:%d/%zu", port, i).ptr);
    work_wait();
    for (size_t i = 0; i < dead; i++)
        subscribe(s, str_printf(&a, "http://%s:%d/", work_address(&a, (unsigned)i), dead_port).ptr);
    work_wait();
    arena_release(&a);
}

static void side_stop(struct side *s)
{
    notifier_stop(s->notifier, 0);
    store_close(&s->store);
    notifier_free(&s->notifier);
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

static double with_dead(void *ctx, double seconds)
{
    return deliver(&((struct beside *)ctx)->with, seconds);
}

static double without_dead(void *ctx, double seconds)
{
    return deliver(&((struct beside *)ctx)->without, seconds);
}

static void run_beside(const char *dir, struct notifier_cfg *cfg, int port)
{
    struct beside b;
    struct rounds r = {
        "push beside 1,000 dead endpoints", "pushes/s", with_dead, without_dead, &b, 25, 0.5};
    int dead_port, fd = dead_listener(&dead_port);

    side_start(&b.without, dir, "without", cfg, port, LIVING, 0, 0);
    side_start(&b.with, dir, "with", cfg, port, LIVING, dead_port, DEAD);
    deliver(&b.without, 0.1);
    deliver(&b.with, 5); /* let the dead ones take up as much as they can */
    rounds_run(&r);
    side_stop(&b.with);
    side_stop(&b.without);
    close(fd);
}

int main(int argc, char **argv)
{
    struct work w = {.body = BUF_INIT(SINK_BODY_MAX)};
    struct rounds r = {"push 3 KB entry", "pushes/s", ours, limit, &w, 5, 1.0};
    struct str loopback = STR("127.0.0.0/8");
    struct notifier_cfg cfg = {.user_agent = "Feedmill-bench",
                               .max_calls = AT_ONCE,
                               .max_entries = 1000,
                               .timeout_ms = 30000,
                               .first_retry_ms = 2000,
                               .max_retry_ms = 3600000,
                               .suspend_after_s = 604800};
    enum rc rc;

    if (argc != 3) {
        fprintf(stderr, "usage: bench_push DIR PORT\n");
        return 2;
    }
    digest_init();
    log_set_level(LOG_LEVEL_WARN);
    rpc_init();
    http_client_global_init();
    w.port = (int)strtol(argv[2], NULL, 10);
    rc = guard_new(&loopback, 1, &cfg.guard, NULL);
    ASSERT(rc == RC_OK);
    side_start(&w.side, argv[1], "push", &cfg, w.port, SUBSCRIPTIONS, 0, 0);
    draw(&w);
    rounds_run(&r);
    side_stop(&w.side);
    cfg.max_calls = CALLS;
    run_beside(argv[1], &cfg, w.port);
    guard_free(&cfg.guard);
    buf_release(&w.body);
    return 0;
}
