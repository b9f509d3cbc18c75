/* storage/keeper.c - see keeper.h. */
#include "storage/keeper.h"

#include <pthread.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "storage/index.h"
#include "storage/nodes.h"
#include "storage/retention.h"

/* Between two rounds through all feeds: a multiple of what the last one took. */
#define PAUSE_TIMES 9
#define PAUSE_LEAST_MS 1000
#define PAUSE_MOST_MS 30000
#define PAUSE_IDLE_MS 5000 /* nobody wants anything to be taken */

#define STEP_US 15000           /* of one operation at the storer */
#define REST_MS 5               /* between two operations */
#define BUSY_MS 20              /* the same while others wait for the storer */
#define ENDS_MS 3600000         /* between two looks at what was taken long ago */
#define FREE_KEPT (1024 * 1024) /* bytes that stay free in the file, for what comes next */
#define AT_ONCE 256             /* feeds whose wishes are read together */

/* Nothing of a feed is to be taken until its row is of another edition, or the log is old up to
 * `next`, or another number of entries is to be kept. */
struct settled {
    int64_t edition; /* 0: not known */
    int64_t entries, next;
};

struct keeper {
    struct store *store;
    struct keep options; /* without 0 */
    bool is_bounded;     /* they bound something */
    bool takes;          /* something is to be taken of some feed; stays true once it is */
    struct reader *reader;
    struct {
        int64_t age_s, seq;
    } seen;                  /* in this round */
    struct settled *settled; /* by the id of the feed */
    size_t cap_settled;
    bool keeps_space;   /* the file gives nothing back */
    int64_t ends_at_ms; /* the next look at what was taken long ago; monotonic */
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards the next ones */
    pthread_cond_t come;
    bool is_stopped, is_answered;
    enum rc rc;
    struct store_result result;
};

static void on_done(void *ctx, enum rc rc, const struct store_result *res, const struct err *err)
{
    struct keeper *k = ctx;

    if (rc != RC_OK && rc != RC_CLOSED)
        log_warn("storage", "retention_failed", "error=%s effect=again",
                 log_quote(str_from(err == NULL ? "" : err->text)));
    pthread_mutex_lock(&k->lock);
    k->rc = rc;
    k->result = *res;
    k->is_answered = true;
    pthread_cond_signal(&k->come);
    pthread_mutex_unlock(&k->lock);
}

/* False: the thread is to end. */
static bool wait_ms(struct keeper *k, int64_t ms)
{
    struct timespec until = clock_mono_after_ms(ms);
    bool goes_on;
    int late = 0;

    pthread_mutex_lock(&k->lock);
    while (!k->is_stopped && late == 0)
        late = pthread_cond_timedwait(&k->come, &k->lock, &until);
    goes_on = !k->is_stopped;
    pthread_mutex_unlock(&k->lock);
    return goes_on;
}

/* Wait for the answer to what was handed over. `rc`: of the handing over. RC_CLOSED: the thread is
 * to end. Then nobody waits any more: the storer may wait for a database that is away, and is told
 * to give up only after we have ended. Its answer comes before keeper_free(). */
static enum rc answer_of(struct keeper *k, enum rc rc)
{
    if (rc != RC_OK)
        return rc;
    pthread_mutex_lock(&k->lock);
    while (!k->is_answered && !k->is_stopped)
        pthread_cond_wait(&k->come, &k->lock);
    rc = k->is_answered ? k->rc : RC_CLOSED;
    k->is_answered = false;
    pthread_mutex_unlock(&k->lock);
    return rc;
}

static enum rc take(struct keeper *k, int64_t feed_id, int64_t after, int64_t limit)
{
    enum rc rc = answer_of(k, store_retain(k->store, feed_id, after, limit, STEP_US, on_done, k));

    if (rc == RC_OK)
        stats_add(STAT_retention_taken_total, k->result.n_deleted);
    return rc;
}

/* Let others have their turn at the storer. False: the thread is to end. */
static bool rest(struct keeper *k)
{
    return wait_ms(k, store_is_busy(k->store) ? BUSY_MS : REST_MS);
}

/* The last revision that is older than this; 0: there is none. Mostly all feeds have the same age.
 */
static enum rc old_seq(struct keeper *k, int64_t age_s, int64_t *out, struct err *err)
{
    enum rc rc = RC_OK;

    *out = 0;
    if (age_s == KEEP_ALL)
        return RC_OK;
    if (k->seen.age_s != age_s)
        rc = reader_seq_at(k->reader, (clock_now_s() - age_s) * 1000000, &k->seen.seq, err);
    k->seen.age_s = rc == RC_OK ? age_s : 0;
    *out = k->seen.seq;
    return rc;
}

static struct settled *settled_of(struct keeper *k, int64_t feed_id)
{
    size_t old = k->cap_settled;

    if ((size_t)feed_id >= old) {
        k->settled = mem_grow(k->settled, &k->cap_settled, (size_t)feed_id + 1, sizeof *k->settled);
        memset(k->settled + old, 0, (k->cap_settled - old) * sizeof *k->settled);
    }
    return &k->settled[feed_id];
}

/* One feed, until nothing of it is to go; after an error, until the next round. False: the thread
 * is to end. */
static bool sweep_feed(struct keeper *k, const struct keep_wishes *w)
{
    struct keep keep = keep_that_counts(w, &k->options);
    int64_t entries = keep.entries == KEEP_ALL ? 0 : keep.entries, old, after = 0;
    struct settled *s = settled_of(k, w->feed_id);
    struct old_limit limit;
    struct feed_brief brief;
    struct err err = ERR_INIT;
    bool goes_on = true;

    do {
        if (old_seq(k, keep.age_s, &old, &err) != RC_OK ||
            !store_brief(k->store, w->feed_id, &brief))
            return rest(k);
        if (s->edition == brief.edition && s->entries == entries && old < s->next)
            return true;
        s->edition = 0;
        if (reader_old_limit(k->reader, w->feed_id, old, entries, &limit, &err) != RC_OK ||
            (limit.limit > 0 && take(k, w->feed_id, after, limit.limit) != RC_OK))
            return rest(k);
        if (limit.limit == 0 || k->result.is_settled) {
            *s = (struct settled){brief.edition, entries, limit.next};
            return limit.limit == 0 || rest(k);
        }
        after = k->result.last_seq; /* at the end it begins anew, and finds nothing more */
        goes_on = rest(k);
    } while (goes_on && k->result.has_more);
    return goes_on;
}

/* False: the thread is to end. */
static bool sweep(struct keeper *k)
{
    struct err err = ERR_INIT;
    struct keep_wishes wishes[AT_ONCE];
    bool goes_on = true;
    int64_t after = 0;
    size_t n;

    k->seen.age_s = 0;
    do {
        if (reader_keep_wishes(k->reader, after, AT_ONCE, k->is_bounded, wishes, &n, &err) != RC_OK)
            return true;
        if (n > 0)
            k->takes = true;
        if (!nodes_leads(store_nodes(k->store)))
            return true;
        for (size_t i = 0; i < n && goes_on; i++)
            goes_on = sweep_feed(k, &wishes[i]);
        after = n > 0 ? wishes[n - 1].feed_id : after;
    } while (goes_on && n == AT_ONCE);
    return goes_on;
}

/* Forget who those were that are gone for long. False: the thread is to end. */
static bool end_entries(struct keeper *k)
{
    int64_t ids[AT_ONCE], after = 0, before = clock_now_s() - RETENTION_LOOK_S;
    struct err err = ERR_INIT;
    bool goes_on = true;
    size_t n;

    if (!nodes_leads(store_nodes(k->store)) || clock_mono_ms() < k->ends_at_ms)
        return true;
    k->ends_at_ms = clock_mono_ms() + ENDS_MS;
    if (k->cap_settled >
        0) /* what another node's poll without news has changed is told to nobody */
        memset(k->settled, 0, k->cap_settled * sizeof *k->settled);
    do {
        if (reader_gone_feeds(k->reader, after, before, AT_ONCE, ids, &n, &err) != RC_OK)
            return true;
        for (size_t i = 0; i < n && goes_on; i++) {
            if (answer_of(k, store_end_entries(k->store, ids[i], on_done, k)) != RC_OK)
                return true;
            goes_on = rest(k);
        }
        after = n > 0 ? ids[n - 1] : after;
    } while (goes_on && n == AT_ONCE);
    return goes_on;
}

/* Give back what is free in the file. False: the thread is to end. */
static bool give_back(struct keeper *k)
{
    struct err err = ERR_INIT;
    bool goes_on = true;
    int64_t n;

    while (goes_on && !k->keeps_space && reader_free_bytes(k->reader, &n, &err) == RC_OK &&
           n > FREE_KEPT) {
        if (answer_of(k, store_give_back(k->store, on_done, k)) != RC_OK)
            return true;
        k->keeps_space = k->result.n_deleted == 0;
        goes_on = rest(k);
    }
    return goes_on;
}

static int64_t pause_of(const struct keeper *k, int64_t took_ms)
{
    int64_t ms = PAUSE_TIMES * took_ms;

    if (!k->takes)
        return PAUSE_IDLE_MS;
    return ms < PAUSE_LEAST_MS ? PAUSE_LEAST_MS : ms > PAUSE_MOST_MS ? PAUSE_MOST_MS : ms;
}

static void *keeper_main(void *arg)
{
    struct keeper *k = arg;
    int64_t began;

    thread_set_name("keeper");
    do {
        began = clock_mono_ms();
        if (!sweep(k))
            break;
        stats_inc(STAT_retention_rounds_total);
    } while (end_entries(k) && give_back(k) && wait_ms(k, pause_of(k, clock_mono_ms() - began)));
    return NULL;
}

struct keeper *keeper_new(struct store *s, const struct keep *options)
{
    struct keeper *k = NEW(struct keeper);
    pthread_condattr_t monotonic;

    k->store = s;
    k->options = (struct keep){options->age_s == 0 ? KEEP_ALL : options->age_s,
                               options->entries == 0 ? KEEP_ALL : options->entries};
    k->is_bounded = options->age_s != 0 || options->entries != 0;
    k->takes = k->is_bounded;
    pthread_mutex_init(&k->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&k->come, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return k;
}

enum rc keeper_start(struct keeper *k, struct err *err)
{
    k->reader = reader_open(k->store);
    if (k->reader == NULL)
        return err_set(err, RC_IO, "cannot open a reader for retention");
    if (pthread_create(&k->thread, NULL, keeper_main, k) != 0)
        return err_set(err, RC_IO, "cannot start the thread of retention");
    k->started = true;
    return RC_OK;
}

void keeper_stop(struct keeper *k)
{
    pthread_mutex_lock(&k->lock);
    k->is_stopped = true;
    pthread_cond_signal(&k->come);
    pthread_mutex_unlock(&k->lock);
    if (k->started)
        pthread_join(k->thread, NULL);
    k->started = false;
    reader_close(&k->reader);
}

void keeper_free(struct keeper **kp)
{
    struct keeper *k = *kp;

    if (k == NULL)
        return;
    pthread_mutex_destroy(&k->lock);
    pthread_cond_destroy(&k->come);
    mem_free(k->settled);
    mem_free(k);
    *kp = NULL;
}
