/* bench/bench_fill.c - makes a database of many feeds, for the row `memory`: bench_fill DIR FEEDS
 * ENTRIES [SUBSCRIPTIONS]. The subscriptions are spread over the feeds. Each has a webhook of its
 * own at a host of its own. */
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/digest.h"
#include "work.h"

#define ENTRY_LEN 1200

static void subscribe(struct store *s, struct arena *a, unsigned i, unsigned n_feeds)
{
    struct str url = str_printf(a, "http://%u.example.org/feeds/all.xml", i % n_feeds);
    struct feed_ref feed = {.url = url, .shown_url = url};
    struct sub_request req = {
        .endpoint = str_printf(a, "http://hooks%u.example.org/receive/news", i),
        .sink = STR("webhook"),
        .sink_settings =
            STR("{\"secrets\":[{\"text\":\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"}]}"),
        .feeds = &feed,
        .n_feeds = 1,
        .level = LEVEL_KEEP};
    enum rc rc;

    atomic_fetch_add(&work_pending, 1);
    while ((rc = store_subscribe(s, &req, work_done, &work_pending)) == RC_FULL)
        usleep(500);
    ASSERT(rc == RC_OK);
}

int main(int argc, char **argv)
{
    struct arena a = ARENA_INIT;
    struct store *s;
    unsigned n_feeds, n_entries, n_subs;

    if (argc != 4 && argc != 5) {
        fprintf(stderr, "usage: bench_fill DIR FEEDS ENTRIES [SUBSCRIPTIONS]\n");
        return 2;
    }
    n_feeds = (unsigned)strtoul(argv[2], NULL, 10);
    n_entries = (unsigned)strtoul(argv[3], NULL, 10);
    n_subs = argc == 5 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
    digest_init();
    s = work_store(argv[1], "feedmill");
    for (unsigned i = 0; i < n_feeds; i++) {
        char *url = arena_printf(&a, "http://%u.example.org/feeds/all.xml", i);
        struct feed_ref ref = {.url = str_from(url), .shown_url = str_from(url)};

        work_add(s, &ref);
        arena_release(&a);
    }
    work_wait();
    for (unsigned i = 0; i < n_feeds; i++) { /* feeds are numbered from 1 */
        struct poll_outcome o = work_fetch(&a, (int64_t)i + 1, i, 0, n_entries, ENTRY_LEN);

        work_outcome(s, &o);
        arena_release(&a);
    }
    work_wait();
    for (unsigned i = 0; i < n_subs; i++) {
        subscribe(s, &a, i, n_feeds);
        arena_release(&a);
    }
    work_wait();
    store_close(&s);
    return 0;
}
