/* storage/storer.c - collects operations, and has the engine carry out many in one transaction.
 *
 * A commit waits for the disk once, however many operations it has. During a commit the next
 * operations collect in the queue, and form the next batch. A single operation is committed at
 * once. Only under load, when the last batch had more than one operation, does the storer wait for
 * more of them, for batch_ms at most. It looks for them now and then: to be woken by each would take
 * more of the processor, and let it begin with fewer. */
#include "storage/storer.h"

#include <pthread.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/histogram.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pulse.h"
#include "base/queue.h"
#include "base/stats.h"
#include "storage/tail.h"

#define LOOK_MS 2     /* under load, look so often for more operations */
#define QUIET_MS 3000 /* after this time without a write, the engine may rest */

/* At the end, wait so long for a database that is not within reach, and look so often. */
#define END_AWAY_MS 3000
#define END_LOOK_MS 50

struct storer {
    struct db *db;
    struct tail *tail;
    struct queue *queue;
    pthread_t thread;
    bool started;
    int batch_ops, batch_ms;
    struct arena arena; /* lives with the storer */
    struct log_facts facts;
    pthread_mutex_t lock;              /* guards the next two */
    pthread_cond_t end;                /* has_ended is true now */
    bool has_ended;                    /* the thread has nothing more to do */
    struct levels levels;              /* for the next batch */
    struct txn txn;                    /* only the storer's thread uses this and the next members */
    struct tail_news news;             /* of the transaction that is being committed */
    bool had_company;                  /* the last batch had more than one operation */
    bool is_counted;                   /* the transaction that is being told was counted */
    bool is_shared;                    /* the log has several writers */
    struct histogram_series *arrivals; /* of new entries, since they were published */
};

/* ---- one batch ------------------------------------------------------------------------------- */

/* Take the settings for this batch. After a reload has returned, all operations that are pushed
 * must get the new settings. */
static void take_settings(struct storer *s)
{
    pthread_mutex_lock(&s->lock);
    s->txn.levels = s->levels;
    pthread_mutex_unlock(&s->lock);
}

/* Count the outcome of a source, and how long ago its new entries were published. */
static void count_news(struct storer *s, const struct op *op)
{
    stats_add(STAT_entries_deleted_total, op->result.n_deleted);
    stats_set(STAT_fetch_stored_age_seconds, clock_mono_ms());
    quotas_take(s->txn.quotas, op->result.id, op->result.n_counted, clock_now_s());
    if (op->result.tells_loss)
        quotas_tell(s->txn.quotas, op->result.id, clock_now_s());
    for (size_t i = 0; i < op->n_published; i++)
        histogram_add(s->arrivals, clock_now_us() - op->published_at[i] * 1000000);
}

static void count(struct storer *s, struct op **ops, size_t n)
{
    stats_inc(STAT_store_commits_total);
    stats_lasts(STAT_store_failing_seconds, false);
    stats_add(STAT_store_ops_total, (int64_t)n);
    for (size_t i = 0; i < n; i++) {
        stats_add(STAT_entries_new_total, ops[i]->result.n_new);
        stats_add(STAT_entries_changed_total, ops[i]->result.n_changed);
        if (ops[i]->kind == OP_FORGET)
            stats_add(STAT_feeds_forgotten_total, ops[i]->result.n_deleted);
        if (op_brings_news(ops[i]) && ops[i]->rc == RC_OK)
            count_news(s, ops[i]);
    }
}

static void forget_news(struct storer *s)
{
    tail_news_release(&s->news);
    s->news = (struct tail_news)TAIL_NEWS_INIT;
}

static enum rc read_news(void *ctx, struct txn *t, struct err *err)
{
    struct storer *s = ctx;

    forget_news(s);
    return tail_read(t, &s->news, err);
}

static enum rc on_stored(void *ctx, struct txn *t, struct op **ops, size_t n, struct err *err)
{
    struct storer *s = ctx;

    if (!s->is_counted) /* before anybody can see the news */
        count(s, ops, n);
    s->is_counted = true;
    if (s->is_shared)
        return tail_turn(s->tail, t, err);
    tail_take(s->tail, &s->news);
    forget_news(s);
    return RC_OK;
}

static void answer(void *ctx, struct op **ops, size_t n)
{
    struct storer *s = ctx;

    s->is_counted = false;
    for (size_t i = 0; i < n; i++) {
        if (ops[i]->done != NULL)
            ops[i]->done(ops[i]->ctx, ops[i]->rc, &ops[i]->result, &ops[i]->err);
        op_free(ops[i]);
    }
    queue_done(n);
}

static void run_batch(struct storer *s, struct op **ops, size_t n)
{
    const struct group_calls calls = {s, read_news, on_stored, answer};

    take_settings(s);
    if (!s->db->writes->run(s->db, &s->txn, ops, n, &calls))
        log_warn("storage", "storer_stopped", "queued=%zu effect=writes_lost", queue_len(s->queue));
}

static bool is_alone(const struct op *op)
{
    return op->kind == OP_INDEX || op->kind == OP_MIRROR || op->kind == OP_GIVE_BACK;
}

/* Words and mirrored files are never in a transaction with entries: those would wait for them.
 * Leaves the other operations in ops, in their order; returns how many those are. */
static size_t part(struct op **ops, size_t n, struct op **alone, size_t *n_alone)
{
    size_t kept = 0;

    *n_alone = 0;
    for (size_t i = 0; i < n; i++)
        if (is_alone(ops[i]))
            alone[(*n_alone)++] = ops[i];
        else
            ops[kept++] = ops[i];
    return kept;
}

static void run_alone(struct storer *s, struct op *op)
{
    const struct writes *writes = s->db->writes;

    pulse_beat();
    if (op->kind == OP_INDEX)
        op->rc = writes->index(s->db, &op->as.index, &op->err);
    else if (op->kind == OP_MIRROR)
        op->rc = writes->mirror(s->db, &op->as.mirror, &op->err);
    else if (writes->give_back != NULL)
        op->rc = writes->give_back(s->db, &op->result.n_deleted, &op->err);
    answer(s, &op, 1);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Take the operations of the next batch from the queue. 0: none came for a while, or the queue is
 * closed and empty. */
static size_t gather(struct storer *s, void **ops)
{
    size_t max = (size_t)s->batch_ops, n, got;
    int64_t until;

    n = queue_pop(s->queue, ops, max, pulse_wait_ms(QUIET_MS));
    if (n == 0 || !s->had_company)
        return n;
    until = clock_mono_ms() + s->batch_ms;
    while (n < max && clock_mono_ms() < until) {
        usleep(LOOK_MS * 1000);
        got = queue_pop(s->queue, ops + n, max - n, 0);
        if (got == 0)
            break;
        n += got;
    }
    return n;
}

static void *storer_main(void *arg)
{
    struct storer *s = arg;
    void **ops = mem_alloc((size_t)s->batch_ops * sizeof *ops);
    struct op **alone = mem_alloc((size_t)s->batch_ops * sizeof *alone);
    size_t n, n_alone;

    thread_set_name("storer");
    pulse_join("storer");
    for (;;) {
        pulse_beat();
        n = gather(s, ops);
        stats_set(STAT_store_queued, (int64_t)queue_len(s->queue));
        if (n > 0) {
            n = part((struct op **)ops, n, alone, &n_alone);
            s->had_company = n > 1;
            stats_lasts(STAT_store_commit_age_seconds, true);
            if (n > 0)
                run_batch(s, (struct op **)ops, n);
            pulse_beat();
            for (size_t i = 0; i < n_alone; i++)
                run_alone(s, alone[i]);
            stats_lasts(STAT_store_commit_age_seconds, false);
        } else if (queue_is_closed(s->queue) && queue_len(s->queue) == 0) {
            break;
        } else {
            s->db->writes->rest(s->db);
        }
    }
    mem_free(ops);
    mem_free(alone);
    pulse_leave();
    pthread_mutex_lock(&s->lock);
    s->has_ended = true;
    pthread_cond_signal(&s->end);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Wait for END_LOOK_MS at most. */
static bool has_ended(struct storer *s)
{
    struct timespec until = clock_mono_after_ms(END_LOOK_MS);
    bool has_ended;

    pthread_mutex_lock(&s->lock);
    if (!s->has_ended)
        pthread_cond_timedwait(&s->end, &s->lock, &until);
    has_ended = s->has_ended;
    pthread_mutex_unlock(&s->lock);
    return has_ended;
}

/* Wait until all operations have been carried out. A database that is away is not waited for as
 * long as it takes: those who wait for an answer have gone. */
static void wait_for_end(struct storer *s)
{
    int64_t until = clock_mono_ms() + END_AWAY_MS;

    while (!has_ended(s))
        if (storer_health(s, NULL) == RC_OK)
            until = clock_mono_ms() + END_AWAY_MS;
        else if (clock_mono_ms() >= until)
            s->db->writes->stop(s->db);
    pthread_join(s->thread, NULL);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void free_op(void *op)
{
    op_free(op);
}

enum rc storer_new(const struct storer_cfg *cfg, struct storer **out, struct err *err)
{
    struct storer *s = NEW(struct storer);
    pthread_condattr_t monotonic;
    enum rc rc = cfg->engine->open_writer(cfg->address, cfg->check, cfg->is_shared, &s->db, err);

    ASSERT(cfg->batch_ops > 0 && cfg->queue_len > 0);
    s->tail = tail_new(cfg->dir);
    s->news = (struct tail_news)TAIL_NEWS_INIT;
    s->batch_ops = cfg->batch_ops;
    s->batch_ms = cfg->batch_ms;
    s->is_shared = cfg->engine->open_follower != NULL;
    s->arrivals = histogram_series(HISTOGRAM_publish_to_store_seconds, NULL, NULL);
    s->txn.db = s->db;
    s->txn.dir = cfg->dir;
    s->txn.quotas = quotas_new(cfg->feed_quota);
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->end, &monotonic);
    pthread_condattr_destroy(&monotonic);
    s->levels = cfg->levels;
    s->queue = queue_new(cfg->queue_len, free_op);
    queue_watch(s->queue, STAT_store_queue_oldest_age_seconds);
    if (rc == RC_OK && (cfg->key != NULL || cfg->has_no_key))
        rc = s->db->writes->seal(s->db, cfg->key, err);
    if (rc == RC_OK)
        rc = s->db->writes->facts(s->db, &s->arena, &s->facts, err);
    s->txn.last_seq = s->facts.last_seq;
    s->txn.last_at_us = s->facts.last_at_us;
    s->txn.version = s->facts.version;
    if (rc == RC_OK)
        rc = tail_load(s->tail, s->db, s->facts.last_seq, err);
    if (rc != RC_OK)
        storer_free(&s);
    else
        *out = s;
    return rc;
}

struct str storer_secret(const struct storer *s)
{
    return s->facts.secret;
}

struct str storer_log_id(const struct storer *s)
{
    return s->facts.log_id;
}

struct tail *storer_tail(struct storer *s)
{
    return s->tail;
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
    return s->db->writes->health(s->db, err);
}

const char *storer_address(const struct storer *s)
{
    return s->db->writes->address(s->db);
}

bool storer_is_busy(struct storer *s)
{
    return queue_len(s->queue) > 0;
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
    if (s->started)
        wait_for_end(s);
    queue_free(&s->queue);
    if (s->db != NULL)
        s->db->reads->close(&s->db);
    tail_free(&s->tail);
    tail_news_release(&s->news);
    quotas_free(&s->txn.quotas);
    txn_release(&s->txn);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->end);
    arena_release(&s->arena);
    mem_free(s);
    *sp = NULL;
}
