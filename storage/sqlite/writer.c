/* storage/sqlite/writer.c - see writer.h.
 *
 * A transaction loads the rows of several operations, lets these compute on them, and writes what
 * has changed. */
#include "storage/sqlite/writer.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pulse.h"
#include "base/stats.h"
#include "storage/sqlite/db_priv.h"
#include "storage/sqlite/feeds.h"
#include "storage/sqlite/file.h"
#include "storage/sqlite/forget_feed.h"
#include "storage/sqlite/retain.h"
#include "storage/sqlite/held_rows.h"
#include "storage/sqlite/merge_feeds.h"
#include "storage/sqlite/mirrors.h"
#include "storage/sqlite/mover.h"
#include "storage/sqlite/seal_feeds.h"
#include "storage/sqlite/terms.h"
#include "storage/wants.h"

/* When a file of the database is lost, the write-ahead log must be emptied. Wait so long for
 * readers that still need its older part. */
#define RESCUE_WAIT_MS 1000

/* As long as there is always some reader, the write-ahead log cannot start anew, and grows. When it
 * has so many pages, the next commit waits for the readers that need its older part; new readers do
 * not need it. If that does not help, the log may grow by the same size before the next wait. */
#define LOG_LONG_PAGES 16384
#define LOG_WAIT_MS 250

/* Entries and subscriptions of one transaction that are held in memory; after so many, rows are
 * written and forgotten before more are loaded. An operation that looks at more loads them all the
 * same. */
#define ROWS_MOST 8192

/* Rows that were forgotten keep their memory until the end of the transaction. When it has so many
 * bytes and more have to be loaded, it ends, and the other operations get another transaction. */
#define BYTES_MOST (64u << 20)

struct sqlite_writer {
    struct db_file *file;   /* this process has locked it */
    struct mover *mover;    /* of pages of the write-ahead log */
    pthread_mutex_t lock;   /* guards the next one */
    struct err lost;        /* which file of the database was lost; RC_OK: none */
    struct wants wants;     /* of the operations whose rows were loaded last */
    bool has_unmoved_pages; /* something was committed since the last checkpoint */
    bool has_file_news;     /* `lost` has changed, and the log does not say so yet */
    int log_max_pages;      /* when the write-ahead log is longer, wait for its readers */
};

static struct sqlite_writer *writer_of(const struct db *db)
{
    return ((const struct sqlite_db *)db)->writer;
}

/* ---- one transaction ------------------------------------------------------------------------- */

/* The source of an outcome has read the feed's row already; hold that row if nothing has changed it
 * since. */
static void take_loaded(struct txn *t, const struct want_feed *w)
{
    bool is_current = w->loaded != NULL && w->loaded->row != NULL &&
                      w->loaded->edition == directory_edition(t->dir, w->id) &&
                      !txn_has_changed(t, w->id);
    struct held_feed *f;

    if (!is_current || rows_feed(&t->rows, w->id) != NULL)
        return;
    f = rows_add_feed(&t->rows, w->id);
    f->row = (struct feed_row){*w->loaded->row, w->loaded->fetched};
    f->has_head = true;
}

/* What else the operations look at, by what was loaded. */
static bool wants_more(struct txn *t, struct op **ops, size_t n)
{
    struct wants *w = &writer_of(t->db)->wants;
    bool wants = false;

    wants_reset(w);
    for (size_t i = 0; i < n; i++)
        wants |= op_wants_more(ops[i], &t->rows, w);
    return wants;
}

/* Load the rows of ops[i], and of some of those after it, of at most `most` operations. Returns
 * through *end the first one whose rows were not loaded. */
static enum rc load_rows(struct txn *t, struct op **ops, size_t n, size_t i, size_t most,
                         size_t *end, struct err *err)
{
    struct wants *w = &writer_of(t->db)->wants;
    struct rows *rows = &t->rows;
    size_t n_held = shelf_count(&rows->shelves[ROW_ENTRY]) + shelf_count(&rows->shelves[ROW_SUB]) +
                    shelf_count(&rows->shelves[ROW_PLACE]);
    enum rc rc = held_write(t->db, rows, err);

    if (n_held >= ROWS_MOST)
        rows_forget(rows);
    wants_reset(w);
    *end = i;
    do
        op_wants(ops[(*end)++], w);
    while (*end < n && *end - i < most && !op_looks_up(ops[*end]) &&
           w->entries.n + w->subs.n + w->n_names < ROWS_MOST);
    for (size_t k = 0; k < w->n_feeds && rc == RC_OK; k++)
        take_loaded(t, &w->feeds[k]);
    if (rc == RC_OK)
        rc = held_load(t->db, rows, w, err);
    while (rc == RC_OK && wants_more(t, ops + i, *end - i))
        rc = held_load(t->db, rows, w, err);
    return rc;
}

/* Carry out operations, until there is too much in memory; *n becomes how many they were, 1 at
 * least. At first the rows of `most` operations are loaded together. When one has made others
 * forget their rows, few are loaded at once, because it may not be the last one that does so. */
static enum rc apply_all(struct txn *t, struct op **ops, size_t *n, size_t most, struct err *err)
{
    struct rows *rows = &t->rows;
    unsigned generation = rows->generation;
    size_t loaded = 0; /* the rows of these operations were loaded */
    enum rc rc = RC_OK;

    for (size_t i = 0; i < *n && rc == RC_OK; i++) {
        bool forgot = rows->generation != generation, needs_load = i >= loaded || forgot;

        if (needs_load && i > 0 && arena_size(&rows->arena) > BYTES_MOST) {
            *n = i;
        } else if (needs_load) {
            most = forgot ? 1 : i > 0 && most < *n ? 2 * most : most;
            rc = load_rows(t, ops, *n, i, most, &loaded, err);
            generation = rows->generation;
        }
        if (rc == RC_OK && i < *n && !op_compute(t, ops[i]))
            rc = err_set(err, RC_IO, "%s", ops[i]->err.text);
    }
    return rc == RC_OK ? held_write(t->db, rows, err) : rc;
}

static enum rc write_numbers(struct txn *t, const struct txn_mark *before, struct err *err)
{
    enum rc rc = RC_OK;

    if (t->last_seq != before->last_seq) {
        rc = db_meta_set_number(t->db, "last_seq", t->last_seq, err);
        if (rc == RC_OK)
            rc = db_meta_set_number(t->db, "last_at_us", t->last_at_us, err);
    }
    if (rc == RC_OK && t->version != before->version)
        rc = db_meta_set_number(t->db, "version", t->version, err);
    return rc;
}

/* ---- the files ------------------------------------------------------------------------------- */

/* Empty the log. Only one connection can move pages at a time. */
static bool empty_log(struct db *db, int wait_ms)
{
    mover_wait(writer_of(db)->mover);
    return db_checkpoint(db, wait_ms);
}

static void checkpoint(struct db *db, int wait_ms)
{
    struct sqlite_writer *w = writer_of(db);

    if (w->has_unmoved_pages && empty_log(db, wait_ms))
        w->has_unmoved_pages = false;
}

/* Are the files of the database still there? Without this check, a commit to a file that has lost
 * its name would be acknowledged, and would be gone after a restart. */
static enum rc check_files(struct sqlite_writer *w, struct err *err)
{
    struct err now = ERR_INIT;
    enum rc rc = db_file_check(w->file, &now);
    bool changed;

    pthread_mutex_lock(&w->lock);
    changed = w->lost.rc != rc;
    w->lost = now;
    pthread_mutex_unlock(&w->lock);
    stats_set(STAT_store_unavailable, rc != RC_OK);
    w->has_file_news |= changed;
    if (rc != RC_OK && err != NULL)
        *err = now;
    return rc;
}

/* After check_files(), when no transaction is open. A file of the database may have lost its name,
 * but we still have it open. Move earlier commits from the write-ahead log to the database file: if
 * that one still has its name, a restart finds them there. Whoever reads the log, or gets an
 * answer, may copy the file that we still have open: all must be in it then. */
static void mind_files(struct db *db)
{
    struct sqlite_writer *w = writer_of(db);
    bool is_lost = w->lost.rc != RC_OK; /* no other thread changes it */

    if (is_lost)
        checkpoint(db, RESCUE_WAIT_MS);
    if (w->has_file_news && is_lost)
        log_error("storage", "files_lost", "error=%s effect=writes_refused",
                  log_quote(str_from(w->lost.text)));
    else if (w->has_file_news)
        log_info("storage", "files_back", "%s", "effect=writes_taken");
    w->has_file_news = false;
}

static void bound_log(struct db *db)
{
    struct sqlite_writer *w = writer_of(db);
    int pages = db_log_pages(db);

    if (db_log_grew(db) && mover_tell(w->mover, pages))
        db_move_pages(db);
    if (pages < LOG_LONG_PAGES)
        w->log_max_pages = LOG_LONG_PAGES;
    else if (pages >= w->log_max_pages && !empty_log(db, LOG_WAIT_MS))
        w->log_max_pages = pages + LOG_LONG_PAGES;
}

/* When the disk was full, try whether something can be written: nobody else may want to write. */
static void look_for_room(struct db *db)
{
    struct sqlite_writer *w = writer_of(db);

    if (db_file_has_full_disk(db_file_path(w->file))) {
        stats_lasts(STAT_store_full_seconds, true);
    } else if (stats_get(STAT_store_full_seconds) != 0 && w->lost.rc == RC_OK) {
        if (db_script(db, "BEGIN IMMEDIATE; UPDATE meta SET value = value; COMMIT", NULL) == RC_OK)
            stats_lasts(STAT_store_full_seconds, false);
        else
            db_rollback(db);
    }
}

static void rest(struct db *db)
{
    checkpoint(db, 0);
    (void)!check_files(writer_of(db), NULL);
    mind_files(db);
    look_for_room(db);
}

static enum rc health(struct db *db, struct err *err)
{
    struct sqlite_writer *w = writer_of(db);
    enum rc rc;

    pthread_mutex_lock(&w->lock);
    rc = w->lost.rc;
    if (rc != RC_OK && err != NULL)
        *err = w->lost;
    pthread_mutex_unlock(&w->lock);
    return rc;
}

/* ---- one group ------------------------------------------------------------------------------- */

static enum rc run_transaction(struct txn *t, struct op **ops, size_t *n, size_t most,
                               const struct group_calls *calls, struct err *err)
{
    struct txn_mark before = txn_mark(t);
    enum rc rc = db_begin(t->db, err);

    if (rc == RC_OK)
        rc = apply_all(t, ops, n, most, err);
    if (rc == RC_OK)
        rc = write_numbers(t, &before, err);
    if (rc == RC_OK)
        rc = calls->read_news(calls->ctx, t, err);
    if (rc == RC_OK)
        rc = check_files(writer_of(t->db), err);
    if (rc == RC_OK)
        rc = db_commit(t->db, err);
    if (rc != RC_OK) {
        db_rollback(t->db);
        txn_undo(t, before);
    }
    return rc;
}

static void fail_all(struct op **ops, size_t n, const struct err *why)
{
    bool is_full = stats_get(STAT_store_full_seconds) != 0;
    enum rc rc = why->rc == RC_UNAVAILABLE || is_full ? RC_UNAVAILABLE : RC_IO;

    if (why->rc != RC_UNAVAILABLE) /* mind_files() logs that */
        log_error("storage", "commit_failed", "operations=%zu error=%s", n,
                  log_quote(str_from(why->text)));
    stats_lasts(STAT_store_failing_seconds, true);
    for (size_t i = 0; i < n; i++) {
        ops[i]->rc = rc;
        ops[i]->err = *why;
        ops[i]->result = (struct store_result){0};
    }
}

static bool run(struct db *db, struct txn *t, struct op **ops, size_t n,
                const struct group_calls *calls);

/* The operations were not committed together. So that a bad one does not take the others with it,
 * carry each out in a transaction of its own. */
static void run_singly(struct db *db, struct txn *t, struct op **ops, size_t n,
                       const struct group_calls *calls)
{
    for (size_t i = 0; i < n; i++) {
        ops[i]->rc = RC_OK;
        ops[i]->err = (struct err)ERR_INIT;
        ops[i]->result = (struct store_result){0};
        pulse_beat();
        run(db, t, &ops[i], 1, calls);
    }
}

/* Carry out the first of the operations in one transaction. Returns how many they were. `most`: as
 * in apply_all(). */
static size_t run_first(struct db *db, struct txn *t, struct op **ops, size_t n, size_t most,
                        const struct group_calls *calls)
{
    struct err err = ERR_INIT;
    size_t done = n;
    enum rc rc = run_transaction(t, ops, &done, most, calls, &err);

    if (rc != RC_OK && rc != RC_UNAVAILABLE && done > 1) {
        log_warn("storage", "commit_failed", "operations=%zu error=%s effect=one_by_one", done,
                 log_quote(str_from(err.text)));
        txn_reset(t);
        run_singly(db, t, ops, done, calls);
        return done;
    }
    if (rc == RC_OK) {
        stats_lasts(STAT_store_full_seconds, false);
        writer_of(db)->has_unmoved_pages = true;
        (void)!calls->stored(calls->ctx, t, ops, done, &err); /* with one writer it cannot fail */
    } else {
        fail_all(ops, done, &err);
    }
    txn_reset(t);
    mind_files(db);
    calls->answer(calls->ctx, ops, done);
    bound_log(db);
    return done;
}

static bool run(struct db *db, struct txn *t, struct op **ops, size_t n,
                const struct group_calls *calls)
{
    size_t most = n;

    for (size_t done; n > 0; ops += done, n -= done) {
        done = run_first(db, t, ops, n, most, calls);
        most = 1; /* rows of many were too much */
    }
    return true;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const char *address(const struct db *db)
{
    return db_file_path(writer_of(db)->file);
}

static enum rc facts(struct db *db, struct arena *a, struct log_facts *out, struct err *err)
{
    enum rc rc = db_meta_text(db, "log_id", a, &out->log_id, err);

    if (rc == RC_OK)
        rc = db_meta_text(db, "secret", a, &out->secret, err);
    if (rc == RC_OK)
        rc = db_meta_number(db, "last_seq", &out->last_seq, err);
    if (rc == RC_OK)
        rc = db_meta_number(db, "last_at_us", &out->last_at_us, err);
    if (rc == RC_OK)
        rc = db_meta_number(db, "version", &out->version, err);
    return rc;
}

/* The end of a transaction that began and went so far with `rc`. */
static enum rc end_alone(struct db *db, enum rc rc, struct err *err)
{
    if (rc == RC_OK)
        rc = check_files(writer_of(db), err);
    if (rc == RC_OK)
        rc = db_commit(db, err);
    if (rc == RC_OK)
        writer_of(db)->has_unmoved_pages = true;
    else
        db_rollback(db);
    mind_files(db);
    bound_log(db);
    return rc;
}

static enum rc index_words(struct db *db, const struct index_group *g, struct err *err)
{
    enum rc rc = db_begin(db, err);

    if (rc == RC_OK)
        rc = terms_add(db, g, err);
    return end_alone(db, rc, err);
}

static enum rc store_mirrors(struct db *db, const struct mirror_change *c, struct err *err)
{
    enum rc rc = db_begin(db, err);

    if (rc == RC_OK)
        rc = mirrors_write(db, c, err);
    return end_alone(db, rc, err);
}

#define FREE_PAGES_STEP "64" /* pages that one step gives back */

/* A file that was made by an older program gives nothing back (feedmill compact makes it one that
 * does). */
static enum rc give_back(struct db *db, int64_t *n, struct err *err)
{
    int64_t before = 0, after = 0, size = 0;
    enum rc rc = db_begin(db, err);

    if (rc == RC_OK)
        rc = db_number(db, "PRAGMA page_count", &before, err);
    if (rc == RC_OK)
        rc = db_script(db, "PRAGMA incremental_vacuum(" FREE_PAGES_STEP ")", err);
    if (rc == RC_OK)
        rc = db_number(db, "PRAGMA page_count", &after, err);
    if (rc == RC_OK)
        rc = db_number(db, "PRAGMA page_size", &size, err);
    *n = (before - after) * size;
    return end_alone(db, rc, err);
}

/* Nothing here waits for long. */
static void stop(struct db *db UNUSED)
{
}

static enum rc write_rows(struct db *db, struct txn *t, struct err *err)
{
    return held_write(db, &t->rows, err);
}

static enum rc drop_feeds(struct db *db, const int64_t *ids, size_t n, struct err *err)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n && rc == RC_OK; i++)
        rc = feeds_delete(db, ids[i], err);
    return rc;
}

static const struct writes sqlite_writes = {
    .address = address,
    .facts = facts,
    .seal = seal_feeds,
    .run = run,
    .index = index_words,
    .give_back = give_back,
    .mirror = store_mirrors,
    .rest = rest,
    .health = health,
    .stop = stop,
    .load = held_load,
    .write = write_rows,
    .merge_feeds = merge_feeds,
    .drop_feeds = drop_feeds,
    .forget_feed = forget_feed,
    .old_revisions = old_revisions,
    .take_revisions = take_revisions,
    .gone_entries = gone_entries,
    .end_entries = end_entries,
};

/* ---- life ------------------------------------------------------------------------------------ */

/* If two processes wrote to one database, the directory of each would soon be wrong: so the file is
 * locked. */
enum rc writer_open(const char *path, bool check, bool is_shared UNUSED, struct db **out,
                    struct err *err)
{
    struct sqlite_writer *w = NEW(struct sqlite_writer);
    struct db *db = NULL;
    enum rc rc = db_file_claim(path, &w->file, err);

    pthread_mutex_init(&w->lock, NULL);
    w->has_unmoved_pages = true; /* perhaps a process that was killed has left a write-ahead log */
    if (rc == RC_OK && check)
        rc = db_check(db_file_path(w->file), err);
    if (rc == RC_OK)
        rc = db_open_writer(db_file_path(w->file), &db, err);
    if (rc == RC_OK)
        rc = mover_new(db_file_path(w->file), &w->mover, err);
    if (rc == RC_OK)
        rc = db_file_note_companions(w->file, err);
    if (db != NULL) {
        OWN(db)->writer = w;
        db->writes = &sqlite_writes;
    } else {
        writer_free(&w);
    }
    if (rc != RC_OK)
        db_close(&db);
    else
        *out = db;
    return rc;
}

void writer_end(struct db *db)
{
    mover_free(&writer_of(db)->mover);
    checkpoint(db, 0);
}

void writer_free(struct sqlite_writer **wp)
{
    struct sqlite_writer *w = *wp;

    if (w == NULL)
        return;
    db_file_release(&w->file); /* all connections are closed now */
    wants_release(&w->wants);
    pthread_mutex_destroy(&w->lock);
    mem_free(w);
    *wp = NULL;
}
