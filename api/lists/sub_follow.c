/* api/lists/sub_follow.c - see sub_follow.h. */
#include "api/lists/sub_follow.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "api/views/asks.h"
#include "base/log.h"
#include "base/mem.h"

#define AT_ONCE 256 /* subscriptions that are read together */

struct sub_follow {
    struct api *api;
    atomic_bool is_due;    /* something has changed, and nobody has looked since */
    atomic_bool is_queued; /* a reader will look */
};

struct sub_follow *sub_follow_new(struct api *api)
{
    struct sub_follow *f = NEW(struct sub_follow);

    f->api = api;
    return f;
}

void sub_follow_free(struct sub_follow **fp)
{
    mem_free(*fp);
    *fp = NULL;
}

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

static void follow(struct sub_follow *f, const struct subscription *sub)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct asks_found found;
    struct problem p;

    if (!asks_find(f->api, &a, sub->asks, &found, &p)) { /* it keeps what it has */
        log_warn("api", "not_followed", "sub=%" PRId64 " error=%s", sub->id, log_quote(p.detail));
        return;
    }
    if (has_all(sub, &found, &a))
        return;
    if (store_follow_sub(f->api->store,
                         &(struct sub_following){.sub_id = sub->id,
                                                 .asks = sub->asks,
                                                 .filter = found.filter,
                                                 .feeds = found.feeds,
                                                 .n_feeds = found.n},
                         NULL, NULL) != RC_OK)
        atomic_store(&f->is_due, true); /* the next commit looks again */
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
            follow(f, &subs[i]);
    return rc;
}

/* On a reader thread. The books are filled only if somebody follows something. */
static void look(void *ctx, struct reader *r)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct sub_follow *f = ctx;
    struct err err = ERR_INIT;
    int64_t *ids = NULL;
    size_t n = 0;
    enum rc rc;

    atomic_store(&f->is_due, false);
    atomic_store(&f->is_queued, false); /* what comes from now on is looked at again */
    rc = reader_asking(r, &a, &ids, &n, &err);
    if (rc == RC_OK && n > 0)
        rc = sub_book_refresh(f->api->subs, r, &err);
    for (size_t at = 0; rc == RC_OK && at < n; at += AT_ONCE)
        rc = follow_some(f, r, ids + at, n - at < AT_ONCE ? n - at : AT_ONCE, &err);
    if (rc == RC_OK)
        return;
    log_debug("api", "not_followed", "error=%s", log_quote(str_from(err.text)));
    atomic_store(&f->is_due, true);
}

static void tell(struct sub_follow *f)
{
    if (atomic_exchange(&f->is_queued, true))
        return;
    if (store_read(f->api->store, look, f) != RC_OK)
        atomic_store(&f->is_queued, false); /* it is still due */
}

void sub_follow_start(struct sub_follow *f)
{
    atomic_store(&f->is_due, true);
    tell(f);
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
    if (notice->n_subs > 0 || notice->has_view_news || notice->is_anew || has_merger(notice))
        atomic_store(&f->is_due, true);
    if (atomic_load(&f->is_due))
        tell(f);
}
