/* bench/bench_fetcher.c - everything from a new feed to its entries on disk, compared with a bare
 * curl multi loop.
 *
 * Usage: bench_fetcher DIR PORT ENTRIES, where bench_origin answers with a feed of so many entries.
 * Feeds, each at its own address, are added and fetched for the first time: transfer, decoding,
 * parsing, sanitizing, comparison, and a commit of every entry with synchronous=FULL. The limit
 * fetches the same bytes and drops them. Wall clock. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <libxml/parser.h>

#include "base/assert.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/stats.h"
#include "curl_loop.h"
#include "fetcher/fetcher.h"
#include "net/http_client.h"
#include "rounds.h"
#include "work.h"

#define FEEDS 1500 /* of a round */
#define AT_ONCE 256

struct work {
    int port;
    int64_t entries; /* of a feed */
    struct store *store;
    unsigned n; /* addresses used so far */
    size_t left;
    struct arena urls;
};

static const char *next_url(void *ctx)
{
    struct work *w = ctx;

    if (w->left == 0)
        return NULL;
    w->left--;
    if (arena_size(&w->urls) > 1 << 20)
        arena_release(&w->urls);
    return arena_printf(&w->urls, "http://%s:%d/feed.xml", work_address(&w->urls, w->n++), w->port);
}

static double ours(void *ctx, double seconds UNUSED)
{
    struct work *w = ctx;
    int64_t end = stats_get(STAT_entries_new_total) + FEEDS * w->entries;
    double from = rounds_now();
    const char *url;

    w->left = FEEDS;
    while ((url = next_url(w)) != NULL) {
        struct feed_ref ref = {.url = str_from(url), .shown_url = str_from(url)};

        work_add(w->store, &ref);
    }
    while (stats_get(STAT_entries_new_total) < end) {
        usleep(1000);
        if (rounds_now() - from > 120) {
            fprintf(stderr, "bench_fetcher: %ld entries are missing after two minutes\n",
                    (long)(end - stats_get(STAT_entries_new_total)));
            exit(1);
        }
    }
    return FEEDS / (rounds_now() - from);
}

static double limit(void *ctx, double seconds)
{
    struct work *w = ctx;
    struct curl_loop l = {
        .at_once = AT_ONCE, .connections = AT_ONCE, .next_url = next_url, .ctx = w};
    double from = rounds_now(), took;
    size_t n = 0;

    do {
        w->left = FEEDS;
        n += curl_loop_run(&l);
        took = rounds_now() - from;
    } while (took < seconds);
    return (double)n / took;
}

int main(int argc, char **argv)
{
    struct work w = {0};
    struct rounds r = {"fetch, parse, store 20 KB", "feeds/s", ours, limit, &w, 5, 0.5, false};
    struct str loopback = STR("127.0.0.0/8");
    struct fetcher_cfg cfg = {.user_agent = "Feedmill-bench (",
                              .n_workers = 2,
                              .max_transfers = AT_ONCE,
                              .max_per_host = 10,
                              .host_gap_ms = 50,
                              .timeout_ms = 30000,
                              .max_body = 16 << 20,
                              .levels = {{86400, 86400, 86400}},
                              .backoff_max_s = 86400,
                              .unused_s = 30 * 86400,
                              .ping_gap_ms = 1000,
                              .monitor_period_s = 3600};
    struct fetcher *f;
    enum rc rc;

    if (argc != 4) {
        fprintf(stderr, "usage: bench_fetcher DIR PORT ENTRIES\n");
        return 2;
    }
    w.port = (int)strtol(argv[2], NULL, 10);
    w.entries = strtol(argv[3], NULL, 10);
    digest_init();
    log_set_level(LOG_LEVEL_WARN);
    xmlInitParser();
    http_client_global_init();
    rc = guard_new(&loopback, 1, &cfg.guard, NULL);
    ASSERT(rc == RC_OK);
    cfg.store = w.store = work_store(argv[1], "fetcher");
    f = fetcher_new(&cfg);
    rc = fetcher_start(f, NULL);
    ASSERT(rc == RC_OK);
    rounds_run(&r);
    fetcher_stop(f, 1000);
    store_close(&w.store);
    fetcher_free(&f);
    guard_free(&cfg.guard);
    arena_release(&w.urls);
    return 0;
}
