/* bench/bench_fetcher.c - everything from a new feed to its entries on disk, and a look at a known
 * one that has not changed, compared with a bare curl multi loop.
 *
 * Usage: bench_fetcher DIR PORT ENTRIES, where bench_origin answers with a feed of so many entries.
 * Feeds, each at its own address, are added and fetched for the first time: transfer, decoding,
 * parsing, sanitizing, comparison, and a commit of every entry with synchronous=FULL. Then the same
 * feeds are asked for again, are answered 304, and what was learnt is committed, too. The limit
 * asks for the same and drops it. Wall clock; the processor time of each thread is on standard
 * error with BENCH_THREADS=1 in the environment. */
#include <stdatomic.h>
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

#define FEEDS 1500 /* of a round of the limit: with more addresses it becomes slower */
/* of a round of ours, so that its start and its last commits, when the network has nothing to do, count as little as in
 * service */
#define ROUND_FEEDS (3 * FEEDS)
#define ROUNDS 5
#define AT_ONCE 256

struct work {
    int port;
    int64_t entries; /* of a feed */
    struct store *store;
    struct fetcher *fetcher;
    unsigned n; /* addresses used so far */
    size_t left;
    int64_t again;      /* the last feed that was asked for again */
    _Atomic long asked; /* feeds that were asked for again, and are not on disk yet */
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
    int64_t end = stats_get(STAT_entries_new_total) + ROUND_FEEDS * w->entries;
    double from = rounds_now();
    const char *url;

    w->left = ROUND_FEEDS;
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
    return ROUND_FEEDS / (rounds_now() - from);
}

static void on_again(void *ctx, const struct fetch_result *res)
{
    struct work *w = ctx;

    if (res->rc != RC_OK || res->status != 304) {
        fprintf(stderr, "bench_fetcher: status %d, %.*s\n", res->status, STR_ARG(res->text));
        exit(1);
    }
    atomic_fetch_sub(&w->asked, 1);
}

/* The feeds of the rounds before, the next ROUND_FEEDS of them. They are numbered from 1, in the order in
 * which they were added. */
static double ours_again(void *ctx, double seconds UNUSED)
{
    struct work *w = ctx;
    double from = rounds_now();

    atomic_store(&w->asked, ROUND_FEEDS);
    for (int64_t i = 0; i < ROUND_FEEDS; i++)
        fetcher_await(w->fetcher, ++w->again, REASON_HAND, on_again, w);
    while (atomic_load(&w->asked) > 0)
        usleep(1000);
    return ROUND_FEEDS / (rounds_now() - from);
}

static double run_limit(struct work *w, struct curl_loop *l, double seconds)
{
    double from = rounds_now(), took;
    size_t n = 0;

    do {
        w->left = FEEDS;
        n += curl_loop_run(l);
        took = rounds_now() - from;
    } while (took < seconds);
    return (double)n / took;
}

static double limit(void *ctx, double seconds)
{
    return run_limit(
        ctx,
        &(struct curl_loop){
            .at_once = AT_ONCE, .connections = AT_ONCE, .next_url = next_url, .ctx = ctx},
        seconds);
}

static double limit_again(void *ctx, double seconds)
{
    static const char *const lines[] = {"If-None-Match: \"1\"", NULL};

    return run_limit(ctx,
                     &(struct curl_loop){.at_once = AT_ONCE,
                                         .connections = AT_ONCE,
                                         .lines = lines,
                                         .status = 304,
                                         .next_url = next_url,
                                         .ctx = ctx},
                     seconds);
}

/* What each thread of ours has had of the processor in all rounds. */
static void print_threads(const char *row)
{
    static const char *const names[] = {"fetch", "parse", "storer", "reader"};

    if (getenv("BENCH_THREADS") == NULL)
        return;
    fprintf(stderr, "%s:", row);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        fprintf(stderr, " %s %.2f s", names[i], rounds_cpu_of(names[i]));
    fprintf(stderr, "\n");
}

int main(int argc, char **argv)
{
    struct work w = {0};
    struct rounds rows[] = {
        {"fetch, parse, store 20 KB", "feeds/s", ours, limit, &w, ROUNDS, 0.5, false},
        {"the same feeds again, answered 304", "feeds/s", ours_again, limit_again, &w, ROUNDS, 0.5,
         false}};
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
    f = w.fetcher = fetcher_new(&cfg);
    rc = fetcher_start(f, NULL);
    ASSERT(rc == RC_OK);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        rounds_run(&rows[i]);
        print_threads(rows[i].row);
    }
    fetcher_stop(f, 1000);
    store_close(&w.store);
    fetcher_free(&f);
    guard_free(&cfg.guard);
    arena_release(&w.urls);
    return 0;
}
