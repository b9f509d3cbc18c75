/* search/indexer.c - see indexer.h. */
#include "search/indexer.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/assert.h"

#define GROUP 256       /* revisions of one transaction */
#define JUDGE_MS 5000   /* between two looks at how much of the index is waste ... */
#define JUDGE_SHARE 500 /* ... and so many times as long as the last one took */
#define LOOK_MS 2000    /* without news, see so often whether this node has become the leader */
#define AGAIN_MS 1000   /* after an error */
#define SHARE 4         /* while others wait for the storer, rest so many times as long as it took */
#define REST_MAX_MS 2000

struct indexer {
    struct store *store;
    search_terms_fn *terms;
    int64_t cut;
    struct reader *reader;
    pthread_t thread;
    bool started;
    int64_t judge_at_ms;  /* it is judged again then, by the leader; monotonic; the thread's */
    pthread_mutex_t lock; /* guards the next ones */
    pthread_cond_t come;
    bool has_news, is_stopped;
    bool is_answered; /* the group that was handed over */
    enum rc rc;
};

/* ---- waiting --------------------------------------------------------------------------------- */

static void on_notice(void *ctx, const struct commit_notice *notice)
{
    struct indexer *x = ctx;

    (void)notice;
    pthread_mutex_lock(&x->lock);
    x->has_news = true;
    pthread_cond_signal(&x->come);
    pthread_mutex_unlock(&x->lock);
}

static void on_done(void *ctx, enum rc rc, const struct store_result *res, const struct err *err)
{
    struct indexer *x = ctx;

    (void)res;
    if (rc != RC_OK && rc != RC_CONFLICT && rc != RC_CLOSED)
        log_warn("search", "index_failed", "error=%s effect=again",
                 log_quote(str_from(err == NULL ? "" : err->text)));
    pthread_mutex_lock(&x->lock);
    x->rc = rc;
    x->is_answered = true;
    pthread_cond_signal(&x->come);
    pthread_mutex_unlock(&x->lock);
}

/* Wait for so long, or until there is news if that counts. False: the thread is to end. */
static bool wait_ms(struct indexer *x, int64_t ms, bool for_news)
{
    struct timespec until = clock_mono_after_ms(ms);
    bool goes_on;
    int late = 0;

    pthread_mutex_lock(&x->lock);
    while (!x->is_stopped && late == 0 && !(for_news && x->has_news))
        late = pthread_cond_timedwait(&x->come, &x->lock, &until);
    x->has_news = false;
    goes_on = !x->is_stopped;
    pthread_mutex_unlock(&x->lock);
    return goes_on;
}

/* Hand a group over, and wait for its end. RC_CLOSED: the thread is to end. Then nobody waits any
 * more: the storer may wait for a database that is away, and is told to give up only after we have
 * ended. Its answer comes before indexer_free(). */
static enum rc add(struct indexer *x, const struct index_group *g)
{
    enum rc rc;

    pthread_mutex_lock(&x->lock);
    x->is_answered = false;
    pthread_mutex_unlock(&x->lock);
    rc = store_index(x->store, g, on_done, x);
    if (rc != RC_OK)
        return rc;
    pthread_mutex_lock(&x->lock);
    while (!x->is_answered && !x->is_stopped)
        pthread_cond_wait(&x->come, &x->lock);
    rc = x->is_answered ? x->rc : RC_CLOSED;
    pthread_mutex_unlock(&x->lock);
    return rc;
}

/* Leave the storer to those who wait for it, most of the time. False: the thread is to end. */
static bool rest(struct indexer *x, int64_t took_ms)
{
    int64_t ms = SHARE * (took_ms + 1);

    return !store_is_busy(x->store) || wait_ms(x, ms < REST_MAX_MS ? ms : REST_MAX_MS, false);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Empty it, step by step. */
static enum rc clear(struct indexer *x, struct err *err)
{
    struct index_group anew = {.anew = true};
    bool is_stale = true;
    enum rc rc = RC_OK;

    log_info("search", "index_anew", "effect=emptied");
    while (rc == RC_OK && is_stale) {
        int64_t began = clock_mono_ms();

        rc = add(x, &anew);
        if (rc == RC_OK && !rest(x, clock_mono_ms() - began))
            rc = RC_CLOSED;
        if (rc == RC_OK)
            rc = reader_index_is_stale(x->reader, x->cut, &is_stale, err);
    }
    return rc;
}

/* An index with many rows of revisions that are gone, or whose terms were cut by other rules, is
 * made anew. A node that takes the lead looks at it before it adds anything: the one before may
 * have been an older program, or have ended while it emptied the index. Revisions go at any time,
 * also while none come, so it is looked at again and again. */
static enum rc judge(struct indexer *x, struct err *err)
{
    bool is_stale = false;
    int64_t began = clock_mono_ms(), now;
    enum rc rc = reader_index_is_stale(x->reader, x->cut, &is_stale, err);

    now = clock_mono_ms();
    if (rc == RC_OK && is_stale)
        rc = clear(x, err);
    if (rc == RC_OK)
        x->judge_at_ms = now + JUDGE_MS + JUDGE_SHARE * (now - began);
    return rc;
}

/* Add the next group. *more: there may be another. */
static enum rc step(struct indexer *x, bool *more, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    int64_t end = store_last_seq(x->store);
    struct index_place place;
    struct index_group g;
    enum rc rc = reader_index_place(x->reader, &place, err);

    *more = false;
    if (!nodes_leads(store_nodes(x->store)))
        x->judge_at_ms = 0;
    else if (rc == RC_OK && clock_mono_ms() >= x->judge_at_ms && (rc = judge(x, err)) == RC_OK)
        rc = reader_index_place(x->reader, &place, err);
    if (rc != RC_OK)
        return rc;
    stats_set(STAT_index_position, place.seq);
    stats_set(STAT_index_lag, end > place.seq ? end - place.seq : 0);
    if (place.seq >= end || !nodes_leads(store_nodes(x->store)))
        return RC_OK;
    rc = search_rows(x->reader, x->terms, place.seq, end, GROUP, &a, &g, err);
    g.cut = x->cut;
    if (rc == RC_OK && g.to > place.seq)
        rc = add(x, &g);
    if (rc != RC_OK)
        return rc == RC_CONFLICT ? RC_OK : rc; /* another node was faster */
    stats_add(STAT_index_rows_total, (int64_t)g.n);
    stats_set(STAT_index_position, g.to);
    stats_set(STAT_index_lag, end - g.to);
    *more = g.to < end;
    return RC_OK;
}

static void *indexer_main(void *arg)
{
    struct indexer *x = arg;
    bool goes_on = true;

    thread_set_name("indexer");
    while (goes_on) {
        int64_t began = clock_mono_ms();
        struct err err = ERR_INIT;
        bool more;
        enum rc rc = step(x, &more, &err);

        if (rc != RC_OK)
            goes_on = wait_ms(x, AGAIN_MS, false);
        else if (more)
            goes_on = rest(x, clock_mono_ms() - began) && wait_ms(x, 0, false);
        else
            goes_on = wait_ms(x, LOOK_MS, true);
    }
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct indexer *indexer_new(const struct indexer_cfg *cfg)
{
    struct indexer *x = NEW(struct indexer);
    pthread_condattr_t monotonic;

    x->store = cfg->store;
    x->terms = cfg->terms;
    x->cut = cfg->cut;
    pthread_mutex_init(&x->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&x->come, &monotonic);
    pthread_condattr_destroy(&monotonic);
    store_listen(x->store, on_notice, x);
    return x;
}

enum rc indexer_start(struct indexer *x, struct err *err)
{
    x->reader = reader_open(x->store);
    if (x->reader == NULL)
        return err_set(err, RC_IO, "cannot open a reader for the index of words");
    if (pthread_create(&x->thread, NULL, indexer_main, x) != 0)
        return err_set(err, RC_IO, "cannot start the thread of the index of words");
    x->started = true;
    return RC_OK;
}

void indexer_stop(struct indexer *x)
{
    if (x == NULL)
        return;
    pthread_mutex_lock(&x->lock);
    x->is_stopped = true;
    pthread_cond_signal(&x->come);
    pthread_mutex_unlock(&x->lock);
    if (x->started)
        pthread_join(x->thread, NULL);
    x->started = false;
    reader_close(&x->reader);
}

void indexer_free(struct indexer **xp)
{
    struct indexer *x = *xp;

    if (x == NULL)
        return;
    pthread_mutex_destroy(&x->lock);
    pthread_cond_destroy(&x->come);
    mem_free(x);
    *xp = NULL;
}
