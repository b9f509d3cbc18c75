/* bench/bench_scale.c - what bench/scale starts: a node that stores, a connection that inserts the
 * same rows bare, and two nodes of which one reads what the other has stored.
 *
 * Usage: bench_scale write URI NUMBER SECONDS
 *        bench_scale bare URI NUMBER SECONDS
 *        bench_scale see URI COUNT
 *        bench_scale pace URI COUNT
 *
 * The first two say "ready", wait for a line, work for so many seconds, and print how many outcomes
 * of 20 new entries are on disk, and in how many seconds. NUMBER: which writer it is; each has
 * feeds of its own. The tables bare_entries, bare_revisions and bare_bodies are as those of the
 * log, with their indexes; their numbers come from a sequence, so no writer waits for another one.
 * "see" prints rows of the table of bench/run. "pace" says "ready", waits for a line, and stores so
 * many outcomes with a pause after each; it prints the last number of the log and the monotonic
 * time in seconds at which each was acknowledged. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/digest.h"
#include "base/mem.h"
#include "rounds.h"
#include "storage/pg/link.h"
#include "storage/pg/uri.h"
#include "work.h"

#define FEEDS 200  /* of a writer */
#define ENTRIES 20 /* of an outcome */
#define ENTRY_LEN 2000
#define BATCH 256  /* outcomes of a transaction, as in work_store() */
#define MERGED 100 /* feeds of the merged view */
#define SHOWN 50   /* entries of it */
#define PACE_US 7000

static void add_feeds(struct store *s, int number, int64_t *ids, size_t n)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    for (size_t i = 0; i < n; i++)
        ids[i] = work_feed(s, arena_printf(&a, "http://writer%d.example.org/%zu", number, i));
}

static void wait_for_start(void)
{
    printf("ready\n");
    fflush(stdout);
    ASSERT(getchar() != EOF);
}

static void print_rate(unsigned n_outcomes, double seconds)
{
    printf("%u %f\n", n_outcomes, seconds);
    fflush(stdout);
}

/* Outcome number n of a writer: its feeds take turns, each time with newer entries. */
static struct poll_outcome outcome(struct arena *a, const int64_t *feeds, unsigned n)
{
    return work_fetch(a, feeds[n % FEEDS], n % FEEDS, n / FEEDS * ENTRIES, ENTRIES, ENTRY_LEN);
}

/* ---- a node ---------------------------------------------------------------------------------- */

static int run_write(const char *uri, int number, double seconds)
{
    struct store *s = work_node(uri);
    int64_t feeds[FEEDS];
    unsigned n = 0;
    double from;

    add_feeds(s, number, feeds, FEEDS);
    wait_for_start();
    from = rounds_now();
    while (rounds_now() - from < seconds) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct poll_outcome o = outcome(&a, feeds, n++);

        work_outcome(s, &o);
    }
    work_wait();
    print_rate(n, rounds_now() - from);
    store_close(&s);
    return 0;
}

/* ---- bare inserts ---------------------------------------------------------------------------- */

/* $1 feeds, $2 uids, $3 dates, $4 digests, $5 to $10 texts. Entries, revisions and bodies have the
 * same numbers here. */
static const char sql_bodies[] =
    "INSERT INTO bare_bodies (id, title, link, summary, author, doc, ext)"
    " SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[],"
    " $6::text[], $7::text[])";
static const char sql_entries[] =
    "INSERT INTO bare_entries (id, feed_id, uid, first_seq, seq, sort_at, dated, iri_hash, essence,"
    " doc_hash) SELECT id, feed, uid, id, id, at, 1, id, digest, digest"
    " FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bytea[])"
    " AS r (id, feed, uid, at, digest)";
static const char sql_revisions[] =
    "INSERT INTO bare_revisions (seq, entry_id, feed_id, batch, kind, initial, at_us, sort_at,"
    " published_at, updated_at, body) SELECT id, id, feed, id, 0, 0, id, at, at, at, id"
    " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS r (id, feed, at)";
static const char sql_ids[] = "SELECT nextval('bare_ids')";

struct bare {
    struct pg_uri *uri;
    struct pg_link *l;
    struct pg_params bodies, entries, revisions;
    struct pg_param *body[7], *entry[5], *revision[3];
    int64_t next_id;
};

static void begin_bare(struct bare *b)
{
    static const enum pg_kind body[] = {PG_INT,  PG_TEXT, PG_TEXT, PG_TEXT,
                                        PG_TEXT, PG_TEXT, PG_TEXT},
                              entry[] = {PG_INT, PG_INT, PG_TEXT, PG_INT, PG_BYTES};

    pg_params_reset(&b->bodies);
    pg_params_reset(&b->entries);
    pg_params_reset(&b->revisions);
    for (size_t i = 0; i < ARRAY_LEN(body); i++)
        b->body[i] = pg_put_array(&b->bodies, body[i]);
    for (size_t i = 0; i < ARRAY_LEN(entry); i++)
        b->entry[i] = pg_put_array(&b->entries, entry[i]);
    for (size_t i = 0; i < ARRAY_LEN(b->revision); i++)
        b->revision[i] = pg_put_array(&b->revisions, PG_INT);
}

static void add_bare(struct bare *b, int64_t feed, const struct entry_change *c)
{
    const struct str texts[] = {c->title, c->link, c->summary, c->author, c->doc, c->ext};
    int64_t id = b->next_id++;

    pg_add_int(b->body[0], id);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        pg_add_text(&b->bodies, b->body[1 + i], texts[i]);
    pg_add_int(b->entry[0], id);
    pg_add_int(b->entry[1], feed);
    pg_add_text(&b->entries, b->entry[2], c->uid);
    pg_add_int(b->entry[3], c->published_at);
    pg_add_bytes(b->entry[4], str_of((const char *)c->essence, sizeof c->essence));
    pg_add_int(b->revision[0], id);
    pg_add_int(b->revision[1], feed);
    pg_add_int(b->revision[2], c->published_at);
}

/* One trip. */
static void commit_bare(struct bare *b)
{
    struct err err = ERR_INIT;

    pg_queue_begin(b->l);
    pg_queue(b->l, sql_bodies, &b->bodies, "", NULL);
    pg_queue(b->l, sql_entries, &b->entries, "", NULL);
    pg_queue(b->l, sql_revisions, &b->revisions, "", NULL);
    if (pg_commit(b->l, &err) != RC_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
}

static void connect_bare(struct bare *b, const char *uri)
{
    struct pg_answer ids;

    ASSERT(pg_uri_read(uri, &b->uri, NULL) == RC_OK);
    b->l = pg_link_new(&(struct pg_link_cfg){.uri = b->uri, .for_writing = true});
    ASSERT(pg_connect(b->l, NULL) == RC_OK);
    pg_queue(b->l, sql_ids, NULL, "i", &ids);
    ASSERT(pg_run(b->l, NULL) == RC_OK);
    b->next_id = pg_get_int(&ids, 0, 0) * 100000000; /* a range of its own */
}

static void end_bare(struct bare *b)
{
    pg_params_release(&b->bodies);
    pg_params_release(&b->entries);
    pg_params_release(&b->revisions);
    pg_link_free(&b->l);
    pg_uri_free(&b->uri);
}

static int run_bare(const char *uri, int number, double seconds)
{
    struct bare b = {.l = NULL};
    int64_t feeds[FEEDS];
    unsigned n = 0;
    double from;

    connect_bare(&b, uri);
    for (int i = 0; i < FEEDS; i++)
        feeds[i] = number * FEEDS + i;
    wait_for_start();
    from = rounds_now();
    while (rounds_now() - from < seconds) {
        begin_bare(&b);
        for (int k = 0; k < BATCH && rounds_now() - from < seconds; k++) {
            AUTO(arena_release) struct arena a = ARENA_INIT;
            struct poll_outcome o = outcome(&a, feeds, n++);

            for (size_t i = 0; i < o.entries.n; i++)
                add_bare(&b, o.check.feed_id, &o.entries.changes[i]);
        }
        commit_bare(&b);
    }
    print_rate(n, rounds_now() - from);
    end_bare(&b);
    return 0;
}

/* ---- another node ---------------------------------------------------------------------------- */

static int by_size(const void *x, const void *y)
{
    const double *a = x, *b = y;

    return (*a > *b) - (*a < *b);
}

static void print_times(const char *what, double *ms, size_t n)
{
    qsort(ms, n, sizeof *ms, by_size);
    printf("%s, median\tms\t%f\t-\t-\n", what, ms[n / 2]);
    printf("%s, 99 %%\tms\t%f\t-\t-\n", what, ms[n * 99 / 100]);
}

static void store_next(struct store *writer, const int64_t *feeds, size_t i)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct poll_outcome o = outcome(&a, feeds, (unsigned)i);

    work_outcome(writer, &o);
    while (store_last_seq(writer) < (int64_t)(i + 1) * ENTRIES)
        usleep(20);
}

/* From the acknowledgement at one node until the other one answers with it. */
static void see_commits(struct store *writer, struct store *other, const int64_t *feeds, size_t n)
{
    double *ms = mem_alloc(n * sizeof *ms), from;

    for (size_t i = 0; i < n; i++) {
        store_next(writer, feeds, i);
        from = rounds_now();
        while (store_last_seq(other) < store_last_seq(writer))
            usleep(20);
        ms[i] = (rounds_now() - from) * 1000;
        work_wait();
    }
    print_times("commit to visible at another node", ms, n);
    mem_free(ms);
}

static double draw_merge(struct reader *r, const int64_t *feeds)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct view v = {.feed_ids = feeds,
                     .n_feeds = MERGED,
                     .order = VIEW_NEWEST,
                     .before_seq = INT64_MAX,
                     .len = SHOWN};
    struct revision *rows;
    double from = rounds_now();
    size_t n;

    ASSERT(reader_rows(r, &v, &a, &rows, &n, NULL) == RC_OK && n == SHOWN);
    return (rounds_now() - from) * 1000;
}

/* The first view of the first feeds, and later ones. Before, the reader has read others. */
static void see_merges(struct store *s, const int64_t *feeds, const char *where)
{
    struct reader *r = reader_open(s);
    double ms[11];

    ASSERT(r != NULL);
    (void)draw_merge(r, feeds + MERGED);
    printf("merge of 100 feeds, %s, first time\tms\t%f\t-\t-\n", where, draw_merge(r, feeds));
    for (size_t i = 0; i < ARRAY_LEN(ms); i++)
        ms[i] = draw_merge(r, feeds);
    qsort(ms, ARRAY_LEN(ms), sizeof *ms, by_size);
    printf("the same again\tms\t%f\t-\t-\n", ms[ARRAY_LEN(ms) / 2]);
    reader_close(&r);
}

static int run_see(const char *uri, size_t n)
{
    struct store *writer = work_node(uri), *other = work_node(uri);
    int64_t feeds[FEEDS];

    add_feeds(writer, 0, feeds, FEEDS);
    see_commits(writer, other, feeds, n);
    see_merges(other, feeds, "at another node");
    see_merges(writer, feeds, "at the same node");
    store_close(&other);
    store_close(&writer);
    return 0;
}

static int run_pace(const char *uri, size_t n)
{
    struct store *writer = work_node(uri);
    int64_t feeds[FEEDS];

    add_feeds(writer, 0, feeds, FEEDS);
    wait_for_start();
    for (size_t i = 0; i < n; i++) {
        store_next(writer, feeds, i);
        printf("%" PRId64 " %f\n", store_last_seq(writer), rounds_now());
        fflush(stdout);
        work_wait();
        usleep(PACE_US);
    }
    store_close(&writer);
    return 0;
}

int main(int argc, char **argv)
{
    digest_init();
    if (argc == 5 && strcmp(argv[1], "write") == 0)
        return run_write(argv[2], atoi(argv[3]), atof(argv[4]));
    if (argc == 5 && strcmp(argv[1], "bare") == 0)
        return run_bare(argv[2], atoi(argv[3]), atof(argv[4]));
    if (argc == 4 && strcmp(argv[1], "see") == 0)
        return run_see(argv[2], (size_t)atoi(argv[3]));
    if (argc == 4 && strcmp(argv[1], "pace") == 0)
        return run_pace(argv[2], (size_t)atoi(argv[3]));
    fprintf(stderr, "usage: bench_scale write|bare URI NUMBER SECONDS | see|pace URI COUNT\n");
    return 2;
}
