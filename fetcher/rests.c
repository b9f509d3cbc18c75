/* fetcher/rests.c - see rests.h. */
#include "fetcher/rests.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "fetcher/fetch_loop.h"
#include "net/url.h"

#define COOL_S_MAX 86400  /* longest pause, whatever Retry-After says */

/* ---- who rests ------------------------------------------------------------------------------- */

/* For how many milliseconds a host is left alone after a 429 or 503. */
static int64_t cool_ms(const struct response *resp)
{
    if (resp->retry_after_s < 0)
        return RESPONSE_PAUSE_S * (int64_t)1000;
    return 1000 * (resp->retry_after_s < COOL_S_MAX ? resp->retry_after_s : COOL_S_MAX);
}

void rests_heed(struct fetcher *f, struct str url, const struct response *resp)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct host_rest rest;

    if (resp->kind == RESPONSE_LIMITED && !resp->is_held &&
        work_queue_cool(f->queue, url_authority(&a, url), cool_ms(resp), clock_mono_ms(), &rest))
        rests_keep(f, &rest);
}

int64_t rests_left_ms(void *fetcher, struct str authority)
{
    struct fetcher *f = fetcher;

    return work_queue_rest_ms(f->queue, authority, clock_mono_ms());
}

bool rests_refuse(struct fetcher *f, int64_t feed_id, struct arena *a, struct fetch_result *out)
{
    struct str url = store_feed_url(f->store, feed_id, a);
    int64_t ms = str_is_null(url) ? 0 : rests_left_ms(f, url_authority(a, url));
    struct feed_brief brief;
    char until[CLOCK_TEXT];

    if (ms <= 0 || !store_brief(f->store, feed_id, &brief))
        return false;
    clock_rfc3339((clock_now_us() + ms * 1000 + 999999) / 1000000, until);
    *out = (struct fetch_result){
        .rc = brief.fetched ? RC_OK : RC_RESTING,
        .feed_id = feed_id,
        .rest_s = (ms + 999) / 1000,
        .url = STR(""),
        .text = str_printf(a, "not asked, as its host asked for a pause until %s", until)};
    return true;
}

/* ---- keeping --------------------------------------------------------------------------------- */

struct unkept_rest {
    STAILQ_ENTRY(unkept_rest) link;
    char *host;
    int64_t cool_until_ms, gentle_until_ms; /* monotonic */
};

static void put_off(struct fetcher *f, const struct host_rest *rest)
{
    struct unkept_rest *u = NEW(struct unkept_rest);
    int64_t now_ms = clock_mono_ms();

    u->host = mem_strndup(rest->host.ptr, rest->host.len);
    u->cool_until_ms = now_ms + rest->cool_ms;
    u->gentle_until_ms = now_ms + rest->gentle_ms;
    STAILQ_INSERT_TAIL(&f->unkept_rests, u, link);
}

void rests_keep(struct fetcher *f, const struct host_rest *rest)
{
    if (store_host_rest(f->store, rest) == RC_FULL)
        put_off(f, rest);
}

static void drop_first(struct fetcher *f)
{
    struct unkept_rest *u = STAILQ_FIRST(&f->unkept_rests);

    STAILQ_REMOVE_HEAD(&f->unkept_rests, link);
    mem_free(u->host);
    mem_free(u);
}

static void keep_again(struct fetcher *f)
{
    struct unkept_rest *u;

    while ((u = STAILQ_FIRST(&f->unkept_rests)) != NULL) {
        int64_t now_ms = clock_mono_ms();
        struct host_rest rest = {.host = str_from(u->host),
                                 .cool_ms = u->cool_until_ms - now_ms,
                                 .gentle_ms = u->gentle_until_ms - now_ms};

        if (store_host_rest(f->store, &rest) == RC_FULL)
            return;
        drop_first(f);
    }
}

void rests_release(struct fetcher *f)
{
    while (!STAILQ_EMPTY(&f->unkept_rests))
        drop_first(f);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct rests {
    struct fetcher *f;
    struct arena arena;
    struct host_rest *list;
    size_t n;
    int64_t at_ms; /* when it was read: times count from then */
    enum rc rc;
};

static enum rc read_rests(struct rests *rests, struct reader *r, struct err *err)
{
    rests->at_ms = clock_mono_ms();
    rests->rc = reader_host_rests(r, &rests->arena, &rests->list, &rests->n, err);
    return rests->rc;
}

/* Loop. */
static void take(void *ctx)
{
    const struct rests *rests = ctx;

    for (size_t i = 0; i < rests->n; i++)
        work_queue_rest(rests->f->queue, &rests->list[i], rests->at_ms);
}

enum rc rests_load(struct fetcher *f, struct reader *r, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct rests *rests = ARENA_NEW(&a, struct rests);
    enum rc rc;

    rests->f = f;
    rc = read_rests(rests, r, err);
    if (rc == RC_OK)
        loop_call(f->loop, take, rests);
    arena_release(&rests->arena);
    return rc;
}

static void ask(struct fetcher *f);

/* Loop. */
static void on_read(void *ctx)
{
    struct rests *rests = ctx;
    struct fetcher *f = rests->f;

    f->rests_reading = false;
    if (rests->rc == RC_OK)
        take(rests);
    else
        f->rests_changed = true; /* the loop's watch tries again */
    work_queue_hold(f->queue, f->rests_changed);
    if (rests->rc == RC_OK) {
        ask(f); /* for what has come meanwhile */
        fetch_loop_pump(f);
    }
    arena_release(&rests->arena);
    mem_free(rests);
}

/* On a reader's thread. */
static void read_all(void *ctx, struct reader *r)
{
    struct rests *rests = ctx;
    struct err err = ERR_INIT;

    if (read_rests(rests, r, &err) != RC_OK)
        log_warn("fetcher", "rests_unread", "error=%s effect=again", log_quote(str_from(err.text)));
    loop_post(rests->f->loop, on_read, rests);
}

static void ask(struct fetcher *f)
{
    struct rests *rests;

    if (!f->rests_changed || f->rests_reading || f->stopping)
        return;
    rests = NEW(struct rests);
    rests->f = f;
    if (store_read(f->store, read_all, rests) != RC_OK) {
        mem_free(rests); /* the loop's watch tries again */
        return;
    }
    f->rests_changed = false;
    f->rests_reading = true;
}

void rests_changed(struct fetcher *f)
{
    f->rests_changed = true;
    work_queue_hold(f->queue, true);
    ask(f);
}

void rests_again(struct fetcher *f)
{
    if (f->stopping) /* the store may be closed */
        return;
    keep_again(f);
    ask(f);
}
