/* fetcher/wishes.c - see wishes.h. */
#include "fetcher/wishes.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "fetcher/fetch_loop.h"
#include "fetcher/ownership.h"
#include "fetcher/rests.h"

#define AGAIN_MS 2000
#define GIVE_UP_MS 120000 /* callers wait less; it only ends what nobody will ever answer */

struct wish {
    int64_t feed_id;
    int64_t since_ms, asked_ms; /* asked_ms: when the notice was written last */
    struct waiter_list waiters;
};

static struct str id_key(const int64_t *feed_id)
{
    return str_of((const char *)feed_id, sizeof *feed_id);
}

/* ---- wishing --------------------------------------------------------------------------------- */

static void ask(struct fetcher *f, struct wish *w, int64_t now_ms)
{
    w->asked_ms = now_ms;
    if (store_wish(f->store, w->feed_id) != RC_OK)
        log_debug("fetcher", "wish_kept", "feed=%lld effect=again", (long long)w->feed_id);
}

static struct wish *wish_of(struct fetcher *f, int64_t feed_id)
{
    struct wish *w = map_get(&f->wishes, id_key(&feed_id));
    int64_t now_ms = clock_mono_ms();

    if (w != NULL)
        return w;
    w = NEW(struct wish);
    w->feed_id = feed_id;
    w->since_ms = now_ms;
    STAILQ_INIT(&w->waiters);
    map_put(&f->wishes, id_key(&w->feed_id), w);
    atomic_fetch_add(&f->n_wishes, 1); /* before the notice, or its answer could be missed */
    ask(f, w, now_ms);
    return w;
}

void wishes_add(struct fetcher *f, int64_t feed_id, fetch_done_fn *done, void *ctx)
{
    struct waiter *waiter = NEW(struct waiter);

    waiter->done = done;
    waiter->ctx = ctx;
    STAILQ_INSERT_TAIL(&wish_of(f, feed_id)->waiters, waiter, link);
}

void wishes_take(struct fetcher *f, struct slot *slot)
{
    struct waiting *waiting = waiting_of(slot);

    waiting->is_wished = false;
    if (!STAILQ_EMPTY(&waiting->waiters))
        STAILQ_CONCAT(&wish_of(f, slot->feed_id)->waiters, &waiting->waiters);
}

/* ---- the end of a wish ----------------------------------------------------------------------- */

/* Tell those who wait, and forget the wish. */
static void end(struct fetcher *f, struct wish *w, const struct fetch_result *res)
{
    struct waiter_list waiters = STAILQ_HEAD_INITIALIZER(waiters);

    STAILQ_CONCAT(&waiters, &w->waiters);
    map_del(&f->wishes, id_key(&w->feed_id));
    atomic_fetch_sub(&f->n_wishes, 1);
    mem_free(w);
    waiting_tell_list(&waiters, res);
}

static void fail(struct fetcher *f, struct wish *w, enum rc rc, const char *text)
{
    end(f, w,
        &(struct fetch_result){
            .rc = rc, .feed_id = w->feed_id, .url = STR(""), .text = str_from(text)});
}

/* The host is ours now: wait as for any fetch of ours. */
static void fetch_here(struct fetcher *f, struct wish *w)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct fetch_result at_rest;
    struct slot *slot;

    if (rests_refuse(f, w->feed_id, &a, &at_rest)) {
        end(f, w, &at_rest);
        return;
    }
    slot = work_queue_want(f->queue, w->feed_id, REASON_READER, clock_mono_ms());
    STAILQ_CONCAT(&waiting_of(slot)->waiters, &w->waiters);
    end(f, w, NULL);
}

static void look_at(struct fetcher *f, struct wish *w, int64_t now_ms)
{
    if (own_feed(f, w->feed_id))
        fetch_here(f, w);
    else if (now_ms - w->since_ms >= GIVE_UP_MS)
        fail(f, w, RC_TIMEOUT, "the node that fetches from this host has not answered");
    else if (now_ms - w->asked_ms >= AGAIN_MS)
        ask(f, w, now_ms);
}

/* All wishes, so that they may be ended one by one. */
static struct wish **all(struct fetcher *f, size_t *n)
{
    struct wish **list = mem_alloc((map_count(&f->wishes) + 1) * sizeof(struct wish *));
    void *it = NULL, *value;
    struct str key;

    *n = 0;
    while (map_next(&f->wishes, &it, &key, &value))
        list[(*n)++] = value;
    return list;
}

void wishes_look(struct fetcher *f)
{
    size_t n;
    struct wish **list = all(f, &n);

    for (size_t i = 0; i < n; i++)
        look_at(f, list[i], clock_mono_ms());
    mem_free(list);
}

void wishes_again(struct fetcher *f)
{
    size_t n;
    struct wish **list = all(f, &n);

    for (size_t i = 0; i < n && !f->stopping; i++)
        ask(f, list[i], clock_mono_ms());
    mem_free(list);
    if (!f->stopping)
        wishes_look(f);
}

void wishes_stop(struct fetcher *f)
{
    size_t n;
    struct wish **list = all(f, &n);

    for (size_t i = 0; i < n; i++)
        fail(f, list[i], RC_CLOSED, "shutting down");
    mem_free(list);
    map_release(&f->wishes, NULL);
}

/* ---- answers --------------------------------------------------------------------------------- */

struct answer {
    struct fetcher *f;
    int64_t feed_id, result_id;
    enum rc rc;
    struct arena arena; /* the rest; it is read only after a failure */
    int status;
    struct str text;
};

/* Loop. */
static void on_read(void *ctx)
{
    struct answer *a = ctx;
    struct wish *w = map_get(&a->f->wishes, id_key(&a->feed_id));

    if (w != NULL)
        end(a->f, w,
            &(struct fetch_result){.rc = a->rc,
                                   .feed_id = a->result_id,
                                   .status = a->status,
                                   .url = STR(""),
                                   .text = a->text});
    arena_release(&a->arena);
    mem_free(a);
}

/* On a reader's thread: what the feed's row says of the failure. */
static void read_why(void *ctx, struct reader *r)
{
    struct answer *a = ctx;
    struct feed *row;

    if (reader_feed(r, a->result_id, &a->arena, &row, NULL) == RC_OK) {
        a->status = row->last_status;
        if (row->last_error.len > 0)
            a->text = row->last_error;
    }
    loop_post(a->f->loop, on_read, a);
}

static void on_answer(void *ctx)
{
    struct answer *a = ctx;

    if (map_get(&a->f->wishes, id_key(&a->feed_id)) == NULL || a->rc == RC_OK ||
        store_read(a->f->store, read_why, a) != RC_OK)
        on_read(a);
}

static void post(struct fetcher *f, int64_t feed_id, int64_t result_id, enum rc rc)
{
    struct answer *a = NEW(struct answer);

    *a = (struct answer){.f = f,
                         .feed_id = feed_id,
                         .result_id = result_id,
                         .rc = rc,
                         .arena = ARENA_INIT,
                         .text = rc == RC_OK ? STR("") : str_from(rc_meaning(rc))};
    loop_post(f->loop, on_answer, a);
}

void wishes_notice(struct fetcher *f, const struct commit_notice *notice)
{
    if (!notice->is_foreign)
        return;
    for (size_t i = 0; i < notice->n_feeds && atomic_load(&f->n_wishes) > 0; i++) {
        const struct feed_notice *feed = &notice->feeds[i];

        if (feed->merged_into != 0)
            post(f, feed->feed_id, feed->merged_into, RC_OK);
        else if (feed->is_gone)
            post(f, feed->feed_id, feed->feed_id, RC_NOT_FOUND);
        else if (feed->is_answered)
            post(f, feed->feed_id, feed->feed_id, feed->answer);
    }
}
