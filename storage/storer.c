/* storage/storer.c - commits many operations in one transaction.
 *
 * A commit waits for the disk once, however many operations it has. During a commit the next
 * operations collect in the queue, and form the next batch. A single operation is committed at
 * once. Only under load, when the last batch had more than one operation, does the storer wait for
 * more of them, for batch_ms at most. */
#include "storage/storer.h"

#include <pthread.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/queue.h"
#include "base/stats.h"
#include "storage/sqlite/held_rows.h"
#include "storage/tail.h"
#include "storage/wants.h"

#define LINGER_MS 1   /* under load, wait for the next operation so long */
#define QUIET_MS 3000 /* after this time without a write, the write-ahead log is emptied */

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

struct storer {
    struct db *db;
    struct tail *tail;
    struct queue *queue;
    pthread_t thread;
    bool started;
    int batch_ops, batch_ms;
    struct arena arena; /* lives with the storer */
    struct str log_id, secret;
    struct db_file *file;
    pthread_mutex_t lock;   /* guards the next two */
    struct levels levels;   /* for the next transaction */
    struct err lost;        /* which file of the database was lost; RC_OK: none */
    struct txn txn;         /* only the storer's thread uses this and the next members */
    struct wants wants;     /* of the operations whose rows were loaded last */
    bool had_company;       /* the last batch had more than one operation */
    bool has_unmoved_pages; /* something was committed since the last checkpoint */
    bool has_file_news;     /* `lost` has changed, and the log does not say so yet */
    int log_max_pages;      /* when the write-ahead log is longer, wait for its readers */
};

/* ---- one batch ------------------------------------------------------------------------------- */

static void fail_all(struct op **ops, size_t n, const struct err *why)
{
    for (size_t i = 0; i < n; i++) {
        ops[i]->rc = why->rc == RC_UNAVAILABLE ? RC_UNAVAILABLE : RC_IO;
        ops[i]->err = *why;
        ops[i]->result = (struct store_result){0};
    }
}

/* The source of an outcome has read the feed's row already; hold that row if nothing has changed it
 * since. */
static void take_loaded(struct storer *s, const struct want_feed *w)
{
    struct txn *t = &s->txn;
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

/* Load the rows of ops[i], and of some of those after it that use rows, too. Returns through *end
 * the first one whose rows were not loaded. */
static enum rc load_rows(struct storer *s, struct op **ops, size_t n, size_t i, size_t *end,
                         struct err *err)
{
    struct wants *w = &s->wants;
    struct rows *rows = &s->txn.rows;
    size_t n_held = shelf_count(&rows->shelves[ROW_ENTRY]) + shelf_count(&rows->shelves[ROW_SUB]);
    enum rc rc =
        n_held >= ROWS_MOST ? txn_use_statements(&s->txn, err) : held_write(s->db, rows, err);

    wants_reset(w);
    *end = i;
    do
        op_wants(ops[(*end)++], w);
    while (*end < n && op_uses_rows(ops[*end]) && !op_looks_up(ops[*end]) &&
           w->entries.n + w->subs.n < ROWS_MOST);
    for (size_t k = 0; k < w->n_feeds && rc == RC_OK; k++)
        take_loaded(s, &w->feeds[k]);
    return rc == RC_OK ? held_load(s->db, rows, w, err) : rc;
}

/* Carry out an operation that reads or writes by statements. */
static enum rc run_statements(struct storer *s, struct op *op, struct err *err)
{
    struct txn_mark mark = txn_mark(&s->txn);
    enum rc rc = txn_use_statements(&s->txn, err);

    if (rc == RC_OK)
        rc = db_savepoint(s->db, err);
    if (rc != RC_OK)
        return rc;
    op->rc = op_apply(&s->txn, op);
    if (op->rc == RC_OK)
        op->rc = held_write(s->db, &s->txn.rows, &op->err);
    if (op->rc == RC_OK)
        return db_release(s->db, err);
    txn_undo(&s->txn, mark);
    rows_forget(&s->txn.rows);
    op->result = (struct store_result){0};
    if (!db_in_transaction(s->db)) /* a full disk ends the whole transaction */
        return err_set(err, RC_IO, "%s", op->err.text);
    return db_undo(s->db, err);
}

static enum rc apply_all(struct storer *s, struct op **ops, size_t n, struct err *err)
{
    struct rows *rows = &s->txn.rows;
    unsigned generation = rows->generation;
    size_t loaded = 0; /* the rows of these operations were loaded */
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        if (op_uses_rows(ops[i]) && (i >= loaded || rows->generation != generation)) {
            rc = load_rows(s, ops, n, i, &loaded, err);
            generation = rows->generation;
        }
        if (rc == RC_OK && !op_uses_rows(ops[i]))
            rc = run_statements(s, ops[i], err);
        else if (rc == RC_OK && !op_compute(&s->txn, ops[i]))
            rc = err_set(err, RC_IO, "%s", ops[i]->err.text);
    }
    return rc == RC_OK ? held_write(s->db, rows, err) : rc;
}

static enum rc write_numbers(struct storer *s, const struct txn_mark *before, struct err *err)
{
    enum rc rc = RC_OK;

    if (s->txn.last_seq != before->last_seq) {
        rc = db_meta_set_number(s->db, "last_seq", s->txn.last_seq, err);
        if (rc == RC_OK)
            rc = db_meta_set_number(s->db, "last_at_us", s->txn.last_at_us, err);
    }
    if (rc == RC_OK && s->txn.version != before->version)
        rc = db_meta_set_number(s->db, "version", s->txn.version, err);
    return rc;
}

/* A file of the database has lost its name, but we still have it open. Move earlier commits from
 * the write-ahead log to the database file. If the database file still has its name, a restart
 * finds them there. */
static void rescue(struct storer *s)
{
    if (s->has_unmoved_pages && db_checkpoint(s->db, RESCUE_WAIT_MS))
        s->has_unmoved_pages = false;
}

/* Are the files of the database still there? Without this check, a commit to a file that has lost
 * its name would be acknowledged, and would be gone after a restart. */
static enum rc check_files(struct storer *s, struct err *err)
{
    struct err now = ERR_INIT;
    enum rc rc = db_file_check(s->file, &now);
    bool changed;

    pthread_mutex_lock(&s->lock);
    changed = s->lost.rc != rc;
    s->lost = now;
    pthread_mutex_unlock(&s->lock);
    stats_set(STAT_store_unavailable, rc != RC_OK);
    s->has_file_news |= changed;
    if (rc != RC_OK && err != NULL)
        *err = now;
    return rc;
}

/* After check_files(), when no transaction is open. Whoever reads the log, or gets an answer, may
 * copy the file that we still have open: all must be in it then. */
static void mind_files(struct storer *s)
{
    bool is_lost = s->lost.rc != RC_OK; /* no other thread changes it */

    if (is_lost)
        rescue(s);
    if (s->has_file_news && is_lost)
        log_error("storage", "files_lost", "error=%s effect=writes_refused",
                  log_quote(str_from(s->lost.text)));
    else if (s->has_file_news)
        log_info("storage", "files_back", "%s", "effect=writes_taken");
    s->has_file_news = false;
}

/* Take the settings for this batch. After a reload has returned, all operations that are pushed
 * must get the new settings. */
static void take_settings(struct storer *s)
{
    pthread_mutex_lock(&s->lock);
    s->txn.levels = s->levels;
    pthread_mutex_unlock(&s->lock);
}

static enum rc run_transaction(struct storer *s, struct op **ops, size_t n, struct tail_news *news,
                               struct err *err)
{
    struct txn_mark before = txn_mark(&s->txn);
    enum rc rc = db_begin(s->db, err);

    take_settings(s);
    if (rc == RC_OK)
        rc = apply_all(s, ops, n, err);
    if (rc == RC_OK)
        rc = write_numbers(s, &before, err);
    if (rc == RC_OK)
        rc = tail_read(&s->txn, news, err);
    if (rc == RC_OK)
        rc = check_files(s, err);
    if (rc == RC_OK)
        rc = db_commit(s->db, err);
    if (rc != RC_OK) {
        db_rollback(s->db);
        txn_undo(&s->txn, before);
    }
    return rc;
}

static void count(struct op **ops, size_t n)
{
    stats_inc(STAT_store_commits_total);
    stats_add(STAT_store_ops_total, (int64_t)n);
    for (size_t i = 0; i < n; i++) {
        stats_add(STAT_entries_new_total, ops[i]->result.n_new);
        stats_add(STAT_entries_changed_total, ops[i]->result.n_changed);
        if (op_brings_news(ops[i]))
            stats_add(STAT_entries_deleted_total, ops[i]->result.n_deleted);
    }
}

static void bound_log(struct storer *s)
{
    int pages = db_log_pages(s->db);

    if (pages < LOG_LONG_PAGES)
        s->log_max_pages = LOG_LONG_PAGES;
    else if (pages >= s->log_max_pages && !db_checkpoint(s->db, LOG_WAIT_MS))
        s->log_max_pages = pages + LOG_LONG_PAGES;
}

static void run_batch(struct storer *s, struct op **ops, size_t n);

/* The operations were not committed together. So that a bad one does not take the others with it,
 * carry each out in a transaction of its own. */
static void run_singly(struct storer *s, struct op **ops, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ops[i]->rc = RC_OK;
        ops[i]->err = (struct err)ERR_INIT;
        ops[i]->result = (struct store_result){0};
        run_batch(s, &ops[i], 1);
    }
}

static void run_batch(struct storer *s, struct op **ops, size_t n)
{
    struct tail_news news = TAIL_NEWS_INIT;
    struct err err = ERR_INIT;
    enum rc rc = run_transaction(s, ops, n, &news, &err);

    if (rc != RC_OK && rc != RC_UNAVAILABLE && n > 1) {
        log_warn("storage", "commit_failed", "operations=%zu error=%s effect=one_by_one", n,
                 log_quote(str_from(err.text)));
        txn_reset(&s->txn);
        tail_news_release(&news);
        run_singly(s, ops, n);
        return;
    }

    if (rc == RC_OK) {
        count(ops, n); /* before anybody can see the news */
        tail_take(s->tail, s->db, &news);
        s->has_unmoved_pages = true;
    } else {
        if (rc != RC_UNAVAILABLE) /* mind_files() logs that */
            log_error("storage", "commit_failed", "operations=%zu error=%s", n,
                      log_quote(str_from(err.text)));
        fail_all(ops, n, &err);
    }
    txn_reset(&s->txn);
    tail_news_release(&news);
    mind_files(s);
    for (size_t i = 0; i < n; i++) {
        if (ops[i]->done != NULL)
            ops[i]->done(ops[i]->ctx, ops[i]->rc, &ops[i]->result, &ops[i]->err);
        op_free(ops[i]);
    }
    queue_done(n);
    bound_log(s);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Take the operations of the next batch from the queue. 0: none came for QUIET_MS, or the queue is
 * closed and empty. */
static size_t gather(struct storer *s, void **ops)
{
    size_t max = (size_t)s->batch_ops, n, got;
    int64_t until;

    n = queue_pop(s->queue, ops, max, QUIET_MS);
    if (n == 0 || !s->had_company)
        return n;
    until = clock_mono_ms() + s->batch_ms;
    while (n < max && clock_mono_ms() < until) {
        got = queue_pop(s->queue, ops + n, max - n, LINGER_MS);
        if (got == 0)
            break;
        n += got;
    }
    return n;
}

/* When there are no writes: empty the write-ahead log, and check that the files are still there. */
static void in_quiet(struct storer *s)
{
    if (s->has_unmoved_pages && db_checkpoint(s->db, 0))
        s->has_unmoved_pages = false;
    (void)!check_files(s, NULL);
    mind_files(s);
}

static void *storer_main(void *arg)
{
    struct storer *s = arg;
    void **ops = mem_alloc((size_t)s->batch_ops * sizeof *ops);
    size_t n;

    thread_set_name("storer");
    for (;;) {
        n = gather(s, ops);
        stats_set(STAT_store_queued, (int64_t)queue_len(s->queue));
        if (n > 0) {
            s->had_company = n > 1;
            run_batch(s, (struct op **)ops, n);
        } else if (queue_is_closed(s->queue) && queue_len(s->queue) == 0) {
            break;
        } else {
            in_quiet(s);
        }
    }
    mem_free(ops);
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void free_op(void *op)
{
    op_free(op);
}

enum rc storer_new(const struct storer_cfg *cfg, struct storer **out, struct err *err)
{
    struct storer *s = NEW(struct storer);
    enum rc rc = db_open_writer(db_file_path(cfg->file), &s->db, err);

    ASSERT(cfg->batch_ops > 0 && cfg->queue_len > 0);
    s->tail = tail_new(cfg->dir);
    s->has_unmoved_pages = true; /* perhaps a process that was killed has left a write-ahead log */
    s->batch_ops = cfg->batch_ops;
    s->batch_ms = cfg->batch_ms;
    s->txn.db = s->db;
    s->txn.dir = cfg->dir;
    pthread_mutex_init(&s->lock, NULL);
    s->file = cfg->file;
    s->levels = cfg->levels;
    s->queue = queue_new(cfg->queue_len, free_op);
    if (rc == RC_OK)
        rc = db_file_note_companions(cfg->file, err);
    if (rc == RC_OK)
        rc = db_meta_text(s->db, "log_id", &s->arena, &s->log_id, err);
    if (rc == RC_OK)
        rc = db_meta_text(s->db, "secret", &s->arena, &s->secret, err);
    if (rc == RC_OK)
        rc = db_meta_number(s->db, "last_seq", &s->txn.last_seq, err);
    if (rc == RC_OK)
        rc = db_meta_number(s->db, "last_at_us", &s->txn.last_at_us, err);
    if (rc == RC_OK)
        rc = db_meta_number(s->db, "version", &s->txn.version, err);
    if (rc == RC_OK)
        rc = tail_load(s->tail, s->db, s->txn.last_seq, err);
    if (rc != RC_OK)
        storer_free(&s);
    else
        *out = s;
    return rc;
}

struct str storer_secret(const struct storer *s)
{
    return s->secret;
}

struct str storer_log_id(const struct storer *s)
{
    return s->log_id;
}

struct db *storer_db(struct storer *s)
{
    return s->db;
}

void storer_listen(struct storer *s, store_notice_fn *fn, void *ctx)
{
    tail_listen(s->tail, fn, ctx);
}

enum rc storer_start(struct storer *s, struct err *err)
{
    if (pthread_create(&s->thread, NULL, storer_main, s) != 0)
        return err_set(err, RC_IO, "cannot start the storer's thread");
    s->started = true;
    return RC_OK;
}

void storer_reload(struct storer *s, const struct levels *levels)
{
    pthread_mutex_lock(&s->lock);
    s->levels = *levels;
    pthread_mutex_unlock(&s->lock);
}

enum rc storer_health(struct storer *s, struct err *err)
{
    enum rc rc;

    pthread_mutex_lock(&s->lock);
    rc = s->lost.rc;
    if (rc != RC_OK && err != NULL)
        *err = s->lost;
    pthread_mutex_unlock(&s->lock);
    return rc;
}

enum rc storer_push(struct storer *s, struct op *op, int64_t wait_ms)
{
    return queue_push(s->queue, op, wait_ms);
}

void storer_free(struct storer **sp)
{
    struct storer *s = *sp;

    if (s == NULL)
        return;
    if (s->queue != NULL)
        queue_close(s->queue);
    if (s->started) {
        pthread_join(s->thread, NULL);
        db_checkpoint(s->db, 0);
    }
    queue_free(&s->queue);
    db_close(&s->db);
    tail_free(&s->tail);
    txn_release(&s->txn);
    wants_release(&s->wants);
    pthread_mutex_destroy(&s->lock);
    arena_release(&s->arena);
    mem_free(s);
    *sp = NULL;
}
