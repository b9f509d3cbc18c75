/* bench/bench_fill.c - makes a database of many feeds, for the row `memory`: bench_fill DIR FEEDS
 * ENTRIES. */
#include <stdio.h>
#include <stdlib.h>

#include "base/digest.h"
#include "work.h"

#define ENTRY_LEN 1200

int main(int argc, char **argv)
{
    struct arena a = ARENA_INIT;
    struct store *s;
    unsigned n_feeds, n_entries;

    if (argc != 4) {
        fprintf(stderr, "usage: bench_fill DIR FEEDS ENTRIES\n");
        return 2;
    }
    n_feeds = (unsigned)strtoul(argv[2], NULL, 10);
    n_entries = (unsigned)strtoul(argv[3], NULL, 10);
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
    store_close(&s);
    return 0;
}
