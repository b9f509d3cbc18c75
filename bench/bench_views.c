/* bench/bench_views.c - makes a database for bench/views: bench_views DIR FEEDS ENTRIES. Each entry
 * has about 90 words of a vocabulary in which a few words are frequent and most are rare, as in
 * languages. Beside these, one entry in 10 has the word "common", and one in 50,000 "rare". */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/digest.h"
#include "work.h"

#define VOCABULARY 50000
#define TITLE_WORDS 8
#define TEXT_WORDS 80
#define COMMON_EVERY 10
#define RARE_EVERY 50000

static uint64_t state = 1;

/* A number in [0, 1). */
static double chance(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state >> 11) / (double)(UINT64_C(1) << 53);
}

/* Word k comes about k times less often than the first one (Zipf). */
static void put_words(struct buf *out, int n)
{
    for (int i = 0; i < n; i++)
        buf_printf(out, "%sw%d", i > 0 ? " " : "", (int)pow(VOCABULARY, chance()));
}

static void write_entry(struct arena *a, struct entry_change *c, size_t number)
{
    AUTO(buf_release) struct buf title = BUF_INIT(BUF_ANY);
    AUTO(buf_release) struct buf text = BUF_INIT(BUF_ANY);

    put_words(&title, TITLE_WORDS);
    put_words(&text, TEXT_WORDS);
    if (number % COMMON_EVERY == 3)
        buf_puts(&text, " common");
    if (number % RARE_EVERY == 7)
        buf_puts(&text, " rare");
    c->title = str_dup(a, buf_view(&title));
    c->doc = str_printf(
        a,
        "{\"title\":\"%.*s\",\"link\":\"%.*s\",\"summary\":\"%.*s\",\"content\":[{\"type\":"
        "\"text/html\",\"value\":\"<p>%.*s</p>\"}]}",
        STR_ARG(c->title), STR_ARG(c->link), STR_ARG(c->title), STR_ARG(buf_view(&text)));
    c->published_at = c->updated_at = 1700000000 + (int64_t)(chance() * 86400 * 365);
    digest_content(c->doc, c->essence);
}

int main(int argc, char **argv)
{
    struct arena a = ARENA_INIT;
    struct store *s;
    unsigned n_feeds, n_entries;
    size_t number = 0;

    if (argc != 4) {
        fprintf(stderr, "usage: bench_views DIR FEEDS ENTRIES\n");
        return 2;
    }
    n_feeds = (unsigned)strtoul(argv[2], NULL, 10);
    n_entries = (unsigned)strtoul(argv[3], NULL, 10);
    digest_init();
    s = work_store(argv[1], "feedmill");
    for (unsigned i = 0; i < n_feeds; i++) {
        struct str url = str_printf(&a, "http://%u.example.org/feeds/all.xml", i);
        struct feed_ref ref = {.url = url, .shown_url = url};

        work_add(s, &ref);
        arena_release(&a);
    }
    work_wait();
    for (unsigned i = 0; i < n_feeds; i++) { /* feeds are numbered from 1 */
        struct poll_outcome o = work_fetch(&a, (int64_t)i + 1, i, 0, n_entries, 0);

        for (unsigned k = 0; k < n_entries; k++)
            write_entry(&a, (struct entry_change *)(uintptr_t)&o.entries.changes[k], number++);
        work_outcome(s, &o);
        arena_release(&a);
    }
    work_wait();
    store_close(&s);
    return 0;
}
