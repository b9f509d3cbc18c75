/* bench/bench_fetch.c - fetches through net/http_client, compared with a bare curl multi loop.
 *
 * Usage: bench_fetch PORT, where bench_origin answers. Each fetch goes to another address of
 * 127.0.0.0/8, because feeds are on many hosts; so each needs a new connection. Counts the
 * processor time of this process. Ours also judges each address, keeps fields and body for the
 * parser, and limits their size. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/digest.h"
#include "base/limits.h"
#include "curl_loop.h"
#include "net/http_client.h"
#include "rounds.h"
#include "work.h"

#define AT_ONCE 256

struct work {
    int port;
    unsigned n; /* addresses used so far */
    double until;
    struct arena urls;
    struct loop *loop;
    struct guard *guard;
    struct http_client *client;
    size_t n_done, n_open;
    pthread_mutex_t lock; /* guards is_over */
    pthread_cond_t over;
    bool is_over;
};

static const char *next_url(void *ctx)
{
    struct work *w = ctx;

    if (rounds_now() >= w->until)
        return NULL;
    if (arena_size(&w->urls) > 1 << 20)
        arena_release(&w->urls);
    return arena_printf(&w->urls, "http://%s:%d/feed.xml", work_address(&w->urls, w->n++), w->port);
}

static void start(struct work *w);

static void on_done(void *ctx, enum rc rc, struct http_answer *answer, const struct err *err)
{
    struct work *w = ctx;
    struct arena *arena = answer->arena;

    if (rc != RC_OK || answer->status != 200) {
        fprintf(stderr, "http_client: %s, status %d\n", err == NULL ? "" : err->text,
                answer->status);
        exit(1);
    }
    arena_free(&arena);
    w->n_done++;
    w->n_open--;
    start(w);
    if (w->n_open == 0) {
        pthread_mutex_lock(&w->lock);
        w->is_over = true;
        pthread_cond_signal(&w->over);
        pthread_mutex_unlock(&w->lock);
    }
}

static void start(struct work *w)
{
    const char *url = next_url(w);
    struct http_call call = {.method = STR("GET"),
                             .url = str_from(url),
                             .max_body = LIMIT_FETCH_BODY,
                             .max_header = LIMIT_FETCH_HEADER,
                             .timeout_ms = 30000};

    if (url == NULL)
        return;
    w->n_open++;
    http_client_start(w->client, &call, on_done, w);
}

static void on_begin(void *ctx)
{
    struct work *w = ctx;
    struct http_client_cfg cfg = {
        .guard = w->guard, .user_agent = "Feedmill-bench", .max_total = AT_ONCE};

    w->client = http_client_new(w->loop, &cfg);
    for (int i = 0; i < AT_ONCE; i++)
        start(w);
}

static void on_end(void *ctx)
{
    struct work *w = ctx;

    http_client_free(&w->client);
}

static double ours(void *ctx, double seconds)
{
    struct work *w = ctx;
    double from = rounds_cpu();

    w->until = rounds_now() + seconds;
    w->n_done = 0;
    w->is_over = false;
    loop_call(w->loop, on_begin, w);
    pthread_mutex_lock(&w->lock);
    while (!w->is_over)
        pthread_cond_wait(&w->over, &w->lock);
    pthread_mutex_unlock(&w->lock);
    loop_call(w->loop, on_end, w);
    return (double)w->n_done / (rounds_cpu() - from);
}

static double limit(void *ctx, double seconds)
{
    struct work *w = ctx;
    struct curl_loop l = {
        .at_once = AT_ONCE, .connections = AT_ONCE, .next_url = next_url, .ctx = w};
    double from = rounds_cpu();
    size_t n;

    w->until = rounds_now() + seconds;
    n = curl_loop_run(&l);
    return (double)n / (rounds_cpu() - from);
}

int main(int argc, char **argv)
{
    struct work w = {.lock = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER};
    struct rounds r = {"fetch 20 KB", "fetches/s of a core", ours, limit, &w, 7, 1.0, false};
    struct str loopback = STR("127.0.0.0/8");
    enum rc rc;

    if (argc != 2) {
        fprintf(stderr, "usage: bench_fetch PORT\n");
        return 2;
    }
    w.port = (int)strtol(argv[1], NULL, 10);
    digest_init();
    http_client_global_init();
    rc = guard_new(&loopback, 1, &w.guard, NULL);
    ASSERT(rc == RC_OK);
    w.loop = loop_new("fetch");
    rounds_run(&r);
    loop_free(&w.loop);
    guard_free(&w.guard);
    arena_release(&w.urls);
    return 0;
}
