/* bench/bench_store.c - entries per second through store_poll_outcome(), compared with bare inserts
 * of the same rows.
 *
 * Usage: bench_store DIR. Both write to files in DIR with synchronous=FULL in WAL mode, with the
 * same number of rows per transaction. The limit is one table without a second index, with a
 * prepared statement, and does not check whether an entry is known. Ours finds feed and entry, and
 * writes entries and revisions with their indexes, the feed's row and the notices. Wall clock until
 * the last commit is on disk. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/digest.h"
#include "rounds.h"
#include "work.h"

#define FEEDS 200
#define ENTRIES 20 /* per fetch */
#define ENTRY_LEN 2000
#define BATCH_FETCHES 256 /* per transaction, as in the store */

struct work {
    struct store *store;
    int64_t feeds[FEEDS];
    sqlite3 *db;
    sqlite3_stmt *insert;
    unsigned n_ours, n_limit; /* fetches so far */
};

/* Returns fetch number n. The feeds take turns, each time with newer entries. */
static struct poll_outcome fetch(struct arena *a, const struct work *w, unsigned n)
{
    return work_fetch(a, w->feeds[n % FEEDS], n % FEEDS, n / FEEDS * ENTRIES, ENTRIES, ENTRY_LEN);
}

static double ours(void *ctx, double seconds)
{
    struct work *w = ctx;
    double from = rounds_now();
    unsigned began = w->n_ours;

    while (rounds_now() - from < seconds) {
        struct arena a = ARENA_INIT;
        struct poll_outcome o = fetch(&a, w, w->n_ours++);

        work_outcome(w->store, &o);
        arena_release(&a);
    }
    work_wait();
    return (w->n_ours - began) * (double)ENTRIES / (rounds_now() - from);
}

static void run_sql(sqlite3 *db, const char *sql)
{
    char *message = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", sql, message);
        exit(1);
    }
}

static void bind(sqlite3_stmt *st, int i, struct str s)
{
    sqlite3_bind_text(st, i, s.ptr, (int)s.len, SQLITE_STATIC);
}

static double limit(void *ctx, double seconds)
{
    struct work *w = ctx;
    double from = rounds_now();
    unsigned began = w->n_limit;

    while (rounds_now() - from < seconds) {
        run_sql(w->db, "BEGIN IMMEDIATE");
        for (int k = 0; k < BATCH_FETCHES && rounds_now() - from < seconds; k++) {
            struct arena a = ARENA_INIT;
            struct poll_outcome o = fetch(&a, w, w->n_limit++);

            for (size_t i = 0; i < o.entries.n; i++) {
                const struct entry_change *c = &o.entries.changes[i];

                sqlite3_bind_int64(w->insert, 1, o.check.feed_id);
                bind(w->insert, 2, c->uid);
                sqlite3_bind_blob(w->insert, 3, c->essence, sizeof c->essence, SQLITE_STATIC);
                sqlite3_bind_int64(w->insert, 4, c->published_at);
                sqlite3_bind_int64(w->insert, 5, c->updated_at);
                bind(w->insert, 6, c->title);
                bind(w->insert, 7, c->link);
                bind(w->insert, 8, c->summary);
                bind(w->insert, 9, c->author);
                bind(w->insert, 10, c->doc);
                ASSERT(sqlite3_step(w->insert) == SQLITE_DONE);
                sqlite3_reset(w->insert);
            }
            arena_release(&a);
        }
        run_sql(w->db, "COMMIT");
    }
    return (w->n_limit - began) * (double)ENTRIES / (rounds_now() - from);
}

static void open_bare(struct work *w, const char *dir)
{
    struct arena a = ARENA_INIT;

    ASSERT(sqlite3_open(arena_printf(&a, "%s/bare.db", dir), &w->db) == SQLITE_OK);
    run_sql(w->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                   "CREATE TABLE rows (seq INTEGER PRIMARY KEY, feed_id INTEGER, uid TEXT,"
                   " essence BLOB, published_at INTEGER, updated_at INTEGER, title TEXT, link TEXT,"
                   " summary TEXT, author TEXT, doc TEXT) STRICT");
    ASSERT(sqlite3_prepare_v2(w->db,
                              "INSERT INTO rows (feed_id, uid, essence, published_at, updated_at,"
                              " title, link, summary, author, doc)"
                              " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                              -1, &w->insert, NULL) == SQLITE_OK);
    arena_release(&a);
}

int main(int argc, char **argv)
{
    struct work w = {0};
    struct rounds r = {"store entries 2 KB", "entries/s", ours, limit, &w, 5, 1.5, false};

    if (argc != 2) {
        fprintf(stderr, "usage: bench_store DIR\n");
        return 2;
    }
    digest_init();
    w.store = work_store(argv[1], "store");
    for (int i = 0; i < FEEDS; i++) {
        struct arena a = ARENA_INIT;

        w.feeds[i] = work_feed(w.store, arena_printf(&a, "http://example.org/%d", i));
        arena_release(&a);
    }
    open_bare(&w, argv[1]);
    rounds_run(&r);
    sqlite3_finalize(w.insert);
    sqlite3_close(w.db);
    store_close(&w.store);
    return 0;
}
