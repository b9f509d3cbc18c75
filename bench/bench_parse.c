/* bench/bench_parse.c - feed_parse() compared with libxml2's bare SAX2 push parser, on made-up
 * feeds.
 *
 * The limit only reads the XML (sax.h). feed_parse() also decides the encoding, sanitizes HTML,
 * reads dates and builds the object form. Each uses one core. Counts the processor time of this
 * process, not the wall clock. */
#include "base/arena.h"
#include "base/assert.h"
#include "base/digest.h"
#include "documents.h"
#include "feed/read/parse.h"
#include "rounds.h"
#include "sax.h"

#define DOCUMENTS 8
#define ENTRIES 40
#define ENTRY_LEN 4000

struct parse_load {
    struct buf docs[DOCUMENTS];
};

static double ours(void *ctx, double seconds)
{
    struct parse_load *d = ctx;
    double from = rounds_cpu(), used = 0, bytes = 0;

    for (size_t i = 0; used < seconds; i++, used = rounds_cpu() - from) {
        struct arena a = ARENA_INIT;
        struct parse_input in = {.body = buf_view(&d->docs[i % DOCUMENTS]),
                                 .url = STR("http://example.org/feed")};
        struct feed_doc *doc = feed_parse(&a, &in);

        ASSERT(doc->n_entries == ENTRIES && !doc->bozo);
        bytes += (double)in.body.len;
        arena_release(&a);
    }
    return bytes / used / 1e6;
}

static double limit(void *ctx, double seconds)
{
    struct parse_load *d = ctx;
    double from = rounds_cpu(), used = 0, bytes = 0;

    for (size_t i = 0; used < seconds; i++, used = rounds_cpu() - from) {
        struct str body = buf_view(&d->docs[i % DOCUMENTS]);
        bool is_well_formed = sax_read(body);

        ASSERT(is_well_formed);
        bytes += (double)body.len;
    }
    return bytes / used / 1e6;
}

typedef void make_fn(struct buf *out, unsigned seed, unsigned first, unsigned n, size_t entry_len);

static void run(const char *row, make_fn *make)
{
    struct parse_load d;
    struct rounds r = {row, "MB/s of a core", ours, limit, &d, 7, 0.5, false};

    for (unsigned i = 0; i < DOCUMENTS; i++) {
        d.docs[i] = (struct buf)BUF_INIT(BUF_ANY);
        make(&d.docs[i], i, ENTRIES, ENTRIES, ENTRY_LEN);
    }
    rounds_run(&r);
    for (size_t i = 0; i < DOCUMENTS; i++)
        buf_release(&d.docs[i]);
}

int main(void)
{
    digest_init();
    sax_init();
    run("parse RSS 160 KB", documents_rss);
    run("parse Atom 160 KB", documents_atom);
    return 0;
}
