/* storage/storer.c - commits many operations in one transaction.
 *
 * A commit waits for the disk once, however many operations it has. During a commit the next
 * operations collect in the queue, and form the next batch. A single operation is committed at
 * once. Only under load, when the last batch had more than one operation, does the storer wait for
 * more of them, for batch_ms at most. */
#include "storage/storer.h"

#include <inttypes.h>
#include <pthread.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/queue.h"
#include "base/stats.h"
#include "storage/sqlite/feed_events.h"
#include "storage/sqlite/contents.h"
#include "storage/sqlite/feeds.h"
#include "storage/sqlite/held_rows.h"
#include "storage/sqlite/revisions.h"
#include "storage/sqlite/views.h"
#include "storage/wants.h"

#define LISTENERS_MAX 8
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

struct storer {
    struct db *db;
    struct directory *dir;
    struct queue *queue;
    pthread_t thread;
    bool started;
    int batch_ops, batch_ms;
    struct listener {
        store_notice_fn *fn;
        void *ctx;
    } listeners[LISTENERS_MAX];
    size_t n_listeners;
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

/* ---- the directory --------------------------------------------------------------------------- */

/* When the content of a metadata record of the feed is due; TIME_UNKNOWN for a feed that is not
 * scheduled, or fails. */
static enum rc content_due(struct db *db, const struct feed *r, int64_t *at, struct err *err)
{
    enum rc rc = RC_OK;

    *at = TIME_UNKNOWN;
    if (r->harvest_to != TIME_UNKNOWN && r->next_fetch_at != TIME_UNKNOWN && r->state == FEED_OK)
        rc = contents_due(db, r->id, at, err);
    if (*at != TIME_UNKNOWN && *at < r->content_wait_at)
        *at = r->content_wait_at;
    return rc;
}

/* Read what the directory keeps of a feed. `saved`: the present row of the feed; NULL: read it. */
static enum rc read_feed(struct db *db, int64_t id, const struct feed_row *saved, struct arena *a,
                         struct directory_feed *out, struct err *err)
{
    struct feed_row row;
    struct str *aliases;
    size_t n_aliases;
    int64_t last_seq, event_seq;
    int64_t content_at;
    enum rc rc = RC_OK;

    if (saved != NULL)
        row = *saved;
    else
        rc = feeds_load(db, id, false, a, &row, err);
    if (rc == RC_OK)
        rc = content_due(db, &row.feed, &content_at, err);
    if (rc == RC_OK)
        rc = aliases_load(db, id, a, &aliases, &n_aliases, err);
    if (rc == RC_OK)
        rc = revisions_last(db, id, &last_seq, err);
    if (rc == RC_OK)
        rc = feed_events_last(db, id, &event_seq, err);
    if (rc != RC_OK)
        return rc;
    *out = (struct directory_feed){.brief = {.id = id,
                                             .version = row.feed.version,
                                             .state = row.feed.state,
                                             .fetched = row.fetched,
                                             .partial = row.feed.partial,
                                             .last_check_at = row.feed.last_check_at,
                                             .next_fetch_at = row.feed.next_fetch_at,
                                             .content_at = content_at,
                                             .wanted_at = row.feed.wanted_at,
                                             .last_status = row.feed.last_status,
                                             .level = row.feed.level,
                                             .n_subscriptions = row.feed.n_subscriptions},
                                   .url = row.feed.url,
                                   .credential = row.feed.credential,
                                   .access_key = row.feed.access_key,
                                   .page_url = row.feed.page_url,
                                   .site_url = row.feed.site_url,
                                   .aliases = aliases,
                                   .n_aliases = n_aliases,
                                   .last_seq = last_seq,
                                   .event_seq = event_seq};
    return RC_OK;
}

/* The newest keys of one feed, in the order of the index. */
struct key_run {
    size_t n;
    bool complete;
    struct merge_key keys[DIRECTORY_KEYS];
};

static void add_to_run(void *ctx, const struct merge_key *key)
{
    struct key_run *run = ctx;

    if (run->n < DIRECTORY_KEYS)
        run->keys[run->n++] = *key;
    else
        run->complete = false;
}

static enum rc read_keys(struct db *db, int64_t feed_id, struct key_run *run, struct err *err)
{
    run->n = 0;
    run->complete = true;
    return keys_of_feed(db, feed_id, DIRECTORY_KEYS + 1, add_to_run, run, err);
}

struct directory_load {
    struct db *db;
    struct directory *dir;
    struct key_run run;
    enum rc rc;
    struct err *err;
};

static void load_one(void *ctx, int64_t feed_id, int64_t next_fetch_at UNUSED,
                     enum fetch_reason reason UNUSED)
{
    struct directory_load *l = ctx;
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct directory_feed f;

    if (l->rc == RC_OK)
        l->rc = read_feed(l->db, feed_id, NULL, &a, &f, l->err);
    if (l->rc == RC_OK)
        l->rc = read_keys(l->db, feed_id, &l->run, l->err);
    if (l->rc != RC_OK)
        return;
    directory_put(l->dir, &f);
    directory_set_keys(l->dir, feed_id, l->run.keys, l->run.n, l->run.complete);
}

static enum rc load_directory(struct storer *s, struct err *err)
{
    struct directory_load l = {.db = s->db, .dir = s->dir, .rc = RC_OK, .err = err};
    enum rc rc;

    directory_lock(s->dir);
    rc = feeds_each(s->db, load_one, &l, err);
    if (rc == RC_OK)
        rc = l.rc;
    directory_set_last_seq(s->dir, s->txn.last_seq);
    directory_unlock(s->dir);
    return rc;
}

/* ---- one batch ------------------------------------------------------------------------------- */

/* The changes that a commit makes in the directory. They are read inside the transaction. */
struct directory_news {
    struct arena arena;
    struct directory_feed *feeds; /* one for each of txn.feeds; brief.id 0: the feed is gone */
    struct key_run **runs;        /* the same; NULL: only single keys have changed (txn.keys) */
};

static void fail_all(struct op **ops, size_t n, const struct err *why)
{
    for (size_t i = 0; i < n; i++) {
        ops[i]->rc = why->rc == RC_UNAVAILABLE ? RC_UNAVAILABLE : RC_IO;
        ops[i]->err = *why;
        ops[i]->result = (struct store_result){0};
    }
}

/* Hold the row of a feed. The source of the outcome has read it already; that row is used if
 * nothing has changed it since. */
static enum rc load_feed(struct storer *s, const struct want_feed *w, struct err *err)
{
    struct txn *t = &s->txn;
    bool is_current = w->loaded != NULL && w->loaded->row != NULL &&
                      w->loaded->edition == directory_edition(t->dir, w->id) &&
                      !txn_has_changed(t, w->id);

    if (is_current && rows_feed(&t->rows, w->id) == NULL) {
        struct held_feed *f = rows_add_feed(&t->rows, w->id);

        f->row = (struct feed_row){*w->loaded->row, w->loaded->fetched};
        f->has_head = true;
    }
    return held_feed_load(s->db, &t->rows, w->id, w->with_head, w->with_past, err);
}

/* Load the rows of ops[i], and of those after it that are outcomes, too. Returns through *end the
 * first one whose rows were not loaded. */
static enum rc load_rows(struct storer *s, struct op **ops, size_t n, size_t i, size_t *end,
                         struct err *err)
{
    struct wants *w = &s->wants;
    struct held_entry *entry;
    enum rc rc = RC_OK;

    wants_reset(w);
    for (; i < n && op_brings_news(ops[i]); i++)
        op_wants(ops[i], w);
    *end = i;
    for (size_t k = 0; k < w->n_feeds && rc == RC_OK; k++)
        rc = load_feed(s, &w->feeds[k], err);
    for (size_t k = 0; k < w->n_entries && rc == RC_OK; k++)
        rc = held_entry_load(s->db, &s->txn.rows, w->entries[k].feed_id, w->entries[k].uid, &entry,
                             err);
    return rc;
}

/* Carry out an operation on rows alone. */
static void compute(struct storer *s, struct op *op)
{
    struct txn_mark notes = txn_mark(&s->txn);
    struct rows_mark rows = rows_mark(&s->txn.rows);

    op->rc = op_apply(&s->txn, op);
    if (op->rc == RC_OK)
        return;
    txn_undo(&s->txn, notes);
    rows_undo(&s->txn.rows, rows);
    op->result = (struct store_result){0};
}

/* Carry out an operation that reads or writes by statements. */
static enum rc run_statements(struct storer *s, struct op *op, struct err *err)
{
    struct txn_mark mark = txn_mark(&s->txn);
    enum rc rc = op_brings_news(op) ? held_write(s->db, &s->txn.rows, err)
                                    : txn_use_statements(&s->txn, err);

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
        if (op_brings_news(ops[i]) && (i >= loaded || rows->generation != generation)) {
            rc = load_rows(s, ops, n, i, &loaded, err);
            generation = rows->generation;
        }
        if (rc == RC_OK && op_is_computed(ops[i], rows))
            compute(s, ops[i]);
        else if (rc == RC_OK)
            rc = run_statements(s, ops[i], err);
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

static enum rc read_news(struct storer *s, struct directory_news *news, struct err *err)
{
    struct txn *t = &s->txn;
    enum rc rc = RC_OK;

    txn_fold(t);
    news->feeds = ARENA_ARRAY(&news->arena, struct directory_feed, t->n_feeds + 1);
    news->runs = ARENA_ARRAY(&news->arena, struct key_run *, t->n_feeds + 1);
    for (size_t i = 0; i < t->n_feeds && rc == RC_OK; i++) {
        const struct txn_feed *f = &t->feeds[i];

        if (f->merged_into != 0)
            continue;
        rc =
            read_feed(s->db, f->id, f->is_read ? NULL : f->row, &news->arena, &news->feeds[i], err);
        if (rc == RC_NOT_FOUND) { /* it was noted, but does not exist any more */
            news->feeds[i].brief.id = 0;
            rc = RC_OK;
        }
        if (rc == RC_OK && f->reload_keys) {
            news->runs[i] = ARENA_NEW(&news->arena, struct key_run);
            rc = read_keys(s->db, f->id, news->runs[i], err);
        }
    }
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

static enum rc run_transaction(struct storer *s, struct op **ops, size_t n,
                               struct directory_news *news, struct err *err)
{
    struct txn_mark before = txn_mark(&s->txn);
    enum rc rc = db_begin(s->db, err);

    take_settings(s);
    if (rc == RC_OK)
        rc = apply_all(s, ops, n, err);
    if (rc == RC_OK)
        rc = write_numbers(s, &before, err);
    if (rc == RC_OK)
        rc = read_news(s, news, err);
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

static void publish(struct storer *s, const struct directory_news *news)
{
    const struct txn *t = &s->txn;

    directory_lock(s->dir);
    for (size_t i = 0; i < t->n_feeds; i++) {
        if (news->feeds[i].brief.id == 0)
            directory_remove(s->dir, t->feeds[i].id);
        else
            directory_put(s->dir, &news->feeds[i]);
    }
    for (size_t i = 0; i < t->n_edited; i++)
        directory_edited(s->dir, t->edited[i]);
    for (size_t i = 0; i < t->n_keys; i++)
        directory_key(s->dir, &t->keys[i]);
    for (size_t i = 0; i < t->n_feeds; i++)
        if (news->runs[i] != NULL)
            directory_set_keys(s->dir, t->feeds[i].id, news->runs[i]->keys, news->runs[i]->n,
                               news->runs[i]->complete);
    directory_set_last_seq(s->dir, t->last_seq);
    directory_unlock(s->dir);
}

static void notify(struct storer *s, const struct directory_news *news)
{
    const struct txn *t = &s->txn;
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed_notice *feeds = ARENA_ARRAY(&a, struct feed_notice, t->n_feeds + 1);
    struct commit_notice notice = {.last_seq = t->last_seq,
                                   .feeds = feeds,
                                   .n_feeds = t->n_feeds,
                                   .sub_ids = t->subs,
                                   .n_subs = t->n_subs,
                                   .settled = t->settled,
                                   .n_settled = t->n_settled,
                                   .has_hub_news = t->has_hub_news};

    if (t->n_feeds == 0 && t->n_subs == 0 && t->n_settled == 0 && !t->has_hub_news)
        return;
    for (size_t i = 0; i < t->n_feeds; i++)
        feeds[i] = (struct feed_notice){
            .feed_id = t->feeds[i].id,
            .merged_into = t->feeds[i].merged_into,
            .next_fetch_at =
                news->feeds[i].brief.id == 0 ? TIME_UNKNOWN : news->feeds[i].brief.next_fetch_at,
            .content_at =
                news->feeds[i].brief.id == 0 ? TIME_UNKNOWN : news->feeds[i].brief.content_at,
            .first_seq = t->feeds[i].first_seq,
            .has_event = t->feeds[i].has_event,
            .is_new = t->feeds[i].is_new,
            .is_pinged = t->feeds[i].is_pinged};
    for (size_t i = 0; i < s->n_listeners; i++)
        s->listeners[i].fn(s->listeners[i].ctx, &notice);
}

/* Deletions remove keys from the directory. If a feed has few left, but has more in the database,
 * read them. */
static void refill_keys(struct storer *s)
{
    struct key_run *run = NULL;
    struct err err = ERR_INIT;

    for (size_t i = 0; i < s->txn.n_keys; i++) {
        int64_t id = s->txn.keys[i].feed_id;

        if (!directory_wants_keys(s->dir, id))
            continue;
        if (run == NULL)
            run = NEW(struct key_run);
        if (read_keys(s->db, id, run, &err) != RC_OK) {
            log_warn("storage", "keys_unread", "feed=%" PRId64 " error=%s effect=slower_reads", id,
                     log_quote(str_from(err.text)));
            break;
        }
        directory_lock(s->dir);
        directory_set_keys(s->dir, id, run->keys, run->n, run->complete);
        directory_unlock(s->dir);
    }
    mem_free(run);
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
    struct directory_news news = {.arena = ARENA_INIT};
    struct err err = ERR_INIT;
    enum rc rc = run_transaction(s, ops, n, &news, &err);

    if (rc != RC_OK && rc != RC_UNAVAILABLE && n > 1) {
        log_warn("storage", "commit_failed", "operations=%zu error=%s effect=one_by_one", n,
                 log_quote(str_from(err.text)));
        txn_reset(&s->txn);
        arena_release(&news.arena);
        run_singly(s, ops, n);
        return;
    }

    if (rc == RC_OK) {
        count(ops, n); /* before anybody can see the news */
        publish(s, &news);
        notify(s, &news);
        refill_keys(s);
        s->has_unmoved_pages = true;
    } else {
        if (rc != RC_UNAVAILABLE) /* mind_files() logs that */
            log_error("storage", "commit_failed", "operations=%zu error=%s", n,
                      log_quote(str_from(err.text)));
        fail_all(ops, n, &err);
    }
    txn_reset(&s->txn);
    arena_release(&news.arena);
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
    s->dir = cfg->dir;
    s->has_unmoved_pages = true; /* perhaps a process that was killed has left a write-ahead log */
    s->batch_ops = cfg->batch_ops;
    s->batch_ms = cfg->batch_ms;
    s->txn.db = s->db;
    s->txn.dir = s->dir;
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
        rc = load_directory(s, err);
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
    ASSERT(s->n_listeners < LISTENERS_MAX);
    s->listeners[s->n_listeners++] = (struct listener){fn, ctx};
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
    txn_release(&s->txn);
    wants_release(&s->wants);
    pthread_mutex_destroy(&s->lock);
    arena_release(&s->arena);
    mem_free(s);
    *sp = NULL;
}
