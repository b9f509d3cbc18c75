/* api/lists/sub_follow.c - see sub_follow.h. */
#include "api/lists/sub_follow.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>

#include "api/views/asks.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"

#define AT_ONCE 16     /* subscriptions that are read together: each may have all feeds that there are */
#define PAUSE_MS 1000 /* from one look to the next, or as long as the look took */

struct sub_follow {
    struct api *api;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t woken;
    bool is_due; /* something has changed, and nobody has looked since */
    bool is_urgent; /* the same, and it must not wait */
    bool has_thread, stops;
};

/* ---- one subscription ------------------------------------------------------------------------ */

/* Does it have what was found? The feeds found are ascending, its own are not. */
static bool has_all(const struct subscription *sub, const struct asks_found *found, struct arena *a)
{
    int64_t *ids = ARENA_ARRAY(a, int64_t, sub->n_feeds + 1);
    size_t n = sub->n_feeds;

    if (!str_eq(sub->filter, found->filter) || n != found->n)
        return false;
    for (size_t i = 0; i < n; i++)
        ids[i] = sub->feeds[i].feed_id;
    n = view_ids_sort(ids, n);
    for (size_t i = 0; i < n; i++)
        if (ids[i] != found->feeds[i].feed_id)
            return false;
    return true;
}

/* RC_FULL: the storer has no room now. */
static enum rc follow(struct sub_follow *f, const struct subscription *sub)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct asks_found found;
    struct problem p;

    if (!asks_find(f->api, &a, sub->asks, &found, &p)) { /* it keeps what it has */
        log_warn("api", "not_followed", "sub=%" PRId64 " error=%s", sub->id, log_quote(p.detail));
        return RC_OK;
    }
    if (has_all(sub, &found, &a))
        return RC_OK;
    return store_follow_sub(f->api->store,
                            &(struct sub_following){.sub_id = sub->id,
                                                    .asks = sub->asks,
                                                    .filter = found.filter,
                                                    .feeds = found.feeds,
                                                    .n_feeds = found.n},
                            NULL, NULL);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static enum rc follow_some(struct sub_follow *f, struct reader *r, const int64_t *ids, size_t n, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct subscription *subs;
    size_t n_subs;
    enum rc rc = reader_subs(r, ids, n, &a, &subs, &n_subs, err);

    for (size_t i = 0; rc == RC_OK && i < n_subs; i++)
        if (!str_is_null(subs[i].asks))
            rc = follow(f, &subs[i]);
    return rc;
}

static bool stops(struct sub_follow *f)
{
    bool stops;

    pthread_mutex_lock(&f->lock);
    stops = f->stops;
    pthread_mutex_unlock(&f->lock);
    return stops;
}

/* *n: how many follow something. The books are filled only if there are some. */
static enum rc look(struct sub_follow *f, struct reader *r, size_t *n, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    int64_t *ids = NULL;
    enum rc rc = reader_asking(r, &a, &ids, n, err);

    stats_inc(STAT_sub_looks_total);
    if (rc == RC_OK && *n > 0)
        rc = sub_book_refresh(f->api->subs, r, err);
    for (size_t at = 0; rc == RC_OK && at < *n && !stops(f); at += AT_ONCE)
        rc = follow_some(f, r, ids + at, *n - at < AT_ONCE ? *n - at : AT_ONCE, err);
    return rc;
}

/* ---- when ------------------------------------------------------------------------------------ */

/* `at_once`: a protected feed must not go to others for one second more. */
static void set_due(struct sub_follow *f, bool at_once)
{
    pthread_mutex_lock(&f->lock);
    stats_add(STAT_work_pending, f->is_due ? 0 : 1);
    f->is_due = true;
    f->is_urgent |= at_once;
    pthread_cond_signal(&f->woken);
    pthread_mutex_unlock(&f->lock);
}

/* False: it is over. What comes from now on is looked at again. */
static bool wait_until_due(struct sub_follow *f)
{
    bool goes_on;

    pthread_mutex_lock(&f->lock);
    while (!f->is_due && !f->stops)
        pthread_cond_wait(&f->woken, &f->lock);
    f->is_due = f->is_urgent = false;
    goes_on = !f->stops;
    pthread_mutex_unlock(&f->lock);
    return goes_on;
}

static void rest(struct sub_follow *f, int64_t ms)
{
    struct timespec until = clock_mono_after_ms(ms);

    pthread_mutex_lock(&f->lock);
    while (!f->stops && !f->is_urgent && pthread_cond_timedwait(&f->woken, &f->lock, &until) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&f->lock);
}

/* Returns how many subscriptions follow something. */
static size_t look_again(struct sub_follow *f, struct reader *r)
{
    struct err err = ERR_INIT;
    size_t n = 0;
    enum rc rc = r == NULL ? RC_IO : look(f, r, &n, &err);

    if (rc != RC_OK) {
        log_debug("api", "not_followed", "error=%s", log_quote(str_from(err.text)));
        set_due(f, false);
    }
    return rc == RC_OK ? n : 1; /* else it may be the database that is away */
}

/* Many commits in a row cost one look a second. */
static void *run(void *ctx)
{
    struct sub_follow *f = ctx;
    struct reader *r = NULL;

    thread_set_name("sets");
    while (wait_until_due(f)) {
        int64_t began_ms = clock_mono_ms(), took_ms;
        size_t n;

        if (r == NULL)
            r = reader_open(f->api->store);
        n = look_again(f, r);
        stats_add(STAT_work_pending, -1);
        took_ms = clock_mono_ms() - began_ms;
        if (n > 0)
            rest(f, took_ms > PAUSE_MS ? took_ms : PAUSE_MS);
    }
    reader_close(&r);
    return NULL;
}

static bool has_merger(const struct commit_notice *notice)
{
    for (size_t i = 0; i < notice->n_feeds; i++)
        if (notice->feeds[i].merged_into != 0)
            return true;
    return false;
}

void sub_follow_notice(struct sub_follow *f, const struct commit_notice *notice)
{
    if (notice->n_subs > 0 || notice->has_view_news || notice->is_anew ||
        notice->has_protected || has_merger(notice))
        set_due(f, notice->has_protected);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct sub_follow *sub_follow_new(struct api *api)
{
    struct sub_follow *f = NEW(struct sub_follow);
    pthread_condattr_t attr;

    f->api = api;
    pthread_mutex_init(&f->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&f->woken, &attr);
    pthread_condattr_destroy(&attr);
    return f;
}

void sub_follow_start(struct sub_follow *f)
{
    set_due(f, false);
    f->has_thread = true;
    ASSERT(pthread_create(&f->thread, NULL, run, f) == 0);
}

void sub_follow_stop(struct sub_follow *f)
{
    if (!f->has_thread)
        return;
    pthread_mutex_lock(&f->lock);
    f->stops = true;
    pthread_cond_signal(&f->woken);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    f->has_thread = false;
}

void sub_follow_free(struct sub_follow **fp)
{
    struct sub_follow *f = *fp;

    if (f == NULL)
        return;
    sub_follow_stop(f);
    pthread_cond_destroy(&f->woken);
    pthread_mutex_destroy(&f->lock);
    mem_free(f);
    *fp = NULL;
}
