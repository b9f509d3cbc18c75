/* bench/bench_push.c - pushes by the notifier beside a bare curl multi POST loop.
 *
 * bench_push DIR PORT, where bench_origin answers. One fetch brings an entry of 3 KB to a feed with
 * a thousand subscriptions, each with an endpoint of its own: the notifier reads and renders a
 * thousand calls, makes them, and has a thousand positions written with synchronous=FULL. The limit
 * sends the same bytes as often and writes nothing. Wall clock until the last position is on disk.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
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
#define ENTRY_LEN 3000
#define AT_ONCE 64
#define QUIET_US 100000 /* between rounds */

struct work {
    int port;
    struct store *store;
    struct notifier *notifier;
    int64_t feed;
    unsigned n;      /* entries so far */
    struct buf body; /* of one call */
    size_t left;     /* of the limit's round */
    char url[64];
};

/* Has every subscription been delivered `n` entries? Only the last ones are looked at again. */
static bool all_delivered(struct reader *r, int64_t n, size_t *from)
{
    for (; *from < SUBSCRIPTIONS; ++*from) {
        struct arena a = ARENA_INIT;
        struct subscription *sub;
        size_t found = 0;
        int64_t id = (int64_t)*from + 1;
        enum rc rc = reader_subs(r, &id, 1, &a, &sub, &found, NULL);
        bool is_so = rc == RC_OK && found == 1 && sub->n_delivered >= n;

        arena_release(&a);
        if (!is_so)
            return false;
    }
    return true;
}

static double ours(void *ctx, double seconds)
{
    struct work *w = ctx;
    struct reader *r = reader_open(w->store);
    double from = rounds_now(), took;
    unsigned began = w->n;

    do {
        struct arena a = ARENA_INIT;
        struct fetch_outcome o = work_fetch(&a, w->feed, 1, w->n++, 1, ENTRY_LEN);
        size_t at = 0;

        work_outcome(w->store, &o);
        arena_release(&a);
        while (stats_get(STAT_push_entries_total) < (int64_t)w->n * SUBSCRIPTIONS)
            usleep(1000);
        while (!all_delivered(r, w->n, &at))
            usleep(1000);
        took = rounds_now() - from;
    } while (took < seconds);
    reader_close(&r);
    usleep(QUIET_US);
    return (w->n - began) * (double)SUBSCRIPTIONS / took;
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

/* The bytes of one call, as the notifier makes them. */
static void render(struct work *w)
{
    struct arena a = ARENA_INIT;
    struct fetch_outcome o = work_fetch(&a, 1, 1, 0, 1, ENTRY_LEN);
    struct revision rev = {.uid = o.changes[0].uid, .doc = o.changes[0].doc};
    struct sink_push push = {1, STR("http://example.org/feed"), &rev, 1};
    enum rc rc = sink_xmlrpc.render(&a, &push, &w->body, NULL);

    ASSERT(rc == RC_OK);
    arena_release(&a);
}

static void subscribe(struct work *w, int i)
{
    struct arena a = ARENA_INIT;
    struct feed_ref feed = {.url = STR("http://example.org/feed"),
                            .shown_url = STR("http://example.org/feed")};
    struct sub_request req = {.endpoint = str_printf(&a, "http://127.0.0.1:%d/%d", w->port, i),
                              .sink = STR("xmlrpc"),
                              .feeds = &feed,
                              .n_feeds = 1,
                              .level = LEVEL_KEEP};
    enum rc rc;

    atomic_fetch_add(&work_pending, 1);
    rc = store_subscribe(w->store, &req, work_done, &work_pending);
    ASSERT(rc == RC_OK);
    arena_release(&a);
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
    struct fetch_outcome first;
    struct arena a = ARENA_INIT;
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
    cfg.store = w.store = work_store(argv[1], "push");
    w.notifier = notifier_new(&cfg);
    rc = notifier_start(w.notifier, NULL);
    ASSERT(rc == RC_OK);
    w.feed = work_feed(w.store, "http://example.org/feed");
    first = work_fetch(&a, w.feed, 1, 0, 0, 0); /* later entries are not those of the first fetch */
    work_outcome(w.store, &first);
    for (int i = 0; i < SUBSCRIPTIONS; i++)
        subscribe(&w, i);
    work_wait();
    render(&w);
    rounds_run(&r);
    notifier_stop(w.notifier, 5000);
    store_close(&w.store);
    notifier_free(&w.notifier);
    guard_free(&cfg.guard);
    buf_release(&w.body);
    arena_release(&a);
    return 0;
}
