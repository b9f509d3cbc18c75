/* notifier/notifier.c - start and stop, and the roster kept true to the database.
 *
 * Commits leave ids under a lock; the loop takes them. A feed with new revisions makes its members
 * due. A subscription that was made, changed or ended is read again, many at a time, one read at a
 * time: what a commit told before the read was asked for is in its snapshot.
 */
#include "notifier/notifier.h"

#include <errno.h>
#include <inttypes.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "notifier/dispatch.h"
#include "notifier/verifier.h"

#define LOAD_AGAIN_MS 100

/* ---- subscriptions -------------------------------------------------------------------------- */

static struct reload *reload_new(struct notifier *n, uint64_t number)
{
    struct reload *l = NEW(struct reload);

    l->n = n;
    l->number = number;
    return l;
}

static void reload_free(struct reload *l)
{
    arena_free(&l->arena);
    mem_free(l->ids);
    mem_free(l);
}

/* Bring the member of a subscription up to date with its record. */
static void apply(struct notifier *n, uint64_t number, const struct subscription *sub)
{
    struct member *m = roster_find(&n->roster, sub->id);
    int64_t *ids;

    if (m != NULL && !str_eq(sub->endpoint, str_from(m->endpoint->url))) {
        dispatch_remove(n, m);
        m = NULL;
    }
    if (str_is_null(sub->endpoint))
        return;
    if (m == NULL) {
        m = roster_add(&n->roster, sub->id, sub->endpoint);
        m->notifier = n;
    }
    ids = mem_alloc((sub->n_feeds + 1) * sizeof *ids);
    for (size_t i = 0; i < sub->n_feeds; i++)
        ids[i] = sub->feeds[i].feed_id;
    roster_set_feeds(&n->roster, m, ids, sub->n_feeds);
    mem_free(ids);
    if (sub->state == SUB_SUSPENDED) {
        if (m->turn == NULL && m->ack == NULL) /* a turn under way finds out for itself */
            dispatch_event(n, m, ATTEMPT_GAVE_UP);
    } else if (sub->next_try_at == TIME_UNKNOWN) {
        dispatch_event(n, m, ATTEMPT_RESUMED);
    }
    dispatch_event(n, m, ATTEMPT_NEWS);
    dispatch_reloaded(n, m, number, sub->position);
}

static void reload_run(struct notifier *n);
static void reload_send(struct notifier *n);

static void on_load_again(void *ctx)
{
    struct notifier *n = ctx;

    n->load_again = NULL;
    reload_send(n);
}

static void on_loaded(void *ctx)
{
    struct reload *l = ctx;
    struct notifier *n = l->n;
    size_t k = 0;

    if (n->stopped) {
        reload_free(l);
        return;
    }
    if (l->rc != RC_OK) {
        log_warn("notifier", "subscriptions_unread", "error=%s tried again",
                 log_quote(str_from(l->err.text)));
        n->load_again = loop_timer_start(n->loop, LOAD_AGAIN_MS * 10, on_load_again, n);
        return;
    }
    n->loading = NULL;
    n->reload_done = l->number;
    for (size_t i = 0; i < l->n_subs; i++)
        apply(n, l->number, &l->subs[i]);
    for (size_t i = 0; i < l->n_ids; i++) { /* the records are in the order of the ids */
        struct member *m = roster_find(&n->roster, l->ids[i]);

        if (k < l->n_subs && l->subs[k].id == l->ids[i])
            k++;
        else if (m != NULL)
            dispatch_remove(n, m);
    }
    if (l->all)
        log_info("notifier", "started", "subscriptions=%zu endpoints=%zu",
                 map_count(&n->roster.members), map_count(&n->roster.endpoints));
    reload_free(l);
    reload_run(n);
    dispatch_run(n);
}

/* On a reader thread. */
static void load(void *ctx, struct reader *r)
{
    struct reload *l = ctx;

    arena_free(&l->arena);
    l->arena = arena_new();
    l->err = (struct err)ERR_INIT;
    l->rc =
        reader_subs(r, l->all ? NULL : l->ids, l->n_ids, l->arena, &l->subs, &l->n_subs, &l->err);
    loop_post(l->n->loop, on_loaded, l);
}

static void reload_send(struct notifier *n)
{
    if (store_read(n->cfg.store, load, n->loading) != RC_OK)
        n->load_again = loop_timer_start(n->loop, LOAD_AGAIN_MS, on_load_again, n);
}

/* Read what has been collected, unless a read is under way: then after it. */
static void reload_run(struct notifier *n)
{
    if (n->loading != NULL || (n->collecting->n_ids == 0 && !n->collecting->all))
        return;
    n->loading = n->collecting;
    n->collecting = reload_new(n, n->loading->number + 1);
    reload_send(n);
}

static void reload_want(struct notifier *n, int64_t sub_id)
{
    struct reload *l = n->collecting;
    struct member *m = roster_find(&n->roster, sub_id);

    if (m != NULL && m->reload == l->number)
        return; /* it is among them */
    if (m != NULL)
        m->reload = l->number;
    l->ids = mem_grow(l->ids, &l->cap_ids, l->n_ids + 1, sizeof *l->ids);
    l->ids[l->n_ids++] = sub_id;
}

/* ---- commit notices ------------------------------------------------------------------------- */

static void news_release(struct news *news)
{
    mem_free(news->feeds);
    mem_free(news->moved);
    mem_free(news->subs);
    *news = (struct news){0};
}

void notifier_take_news(struct notifier *n)
{
    struct news news;
    struct member *const *members;
    size_t n_members;

    pthread_mutex_lock(&n->lock);
    news = n->news;
    n->news = (struct news){0};
    pthread_mutex_unlock(&n->lock);
    for (size_t i = 0; i < news.n_subs && !n->stopped; i++)
        reload_want(n, news.subs[i]);
    for (size_t i = 0; i < news.n_moved && !n->stopped; i++) {
        members = roster_of_feed(&n->roster, news.moved[i], &n_members);
        for (size_t k = 0; k < n_members; k++)
            reload_want(n, members[k]->id);
    }
    for (size_t i = 0; i < news.n_feeds && !n->stopped; i++) {
        members = roster_of_feed(&n->roster, news.feeds[i], &n_members);
        for (size_t k = 0; k < n_members; k++)
            dispatch_event(n, members[k], ATTEMPT_NEWS);
    }
    news_release(&news);
    if (n->stopped)
        return;
    reload_run(n);
    dispatch_run(n);
}

static void on_news(void *ctx)
{
    struct notifier *n = ctx;
    bool hub_news;

    pthread_mutex_lock(&n->lock);
    n->posted = false;
    hub_news = n->hub_news;
    n->hub_news = false;
    pthread_mutex_unlock(&n->lock);
    notifier_take_news(n);
    if (hub_news && n->verifier != NULL)
        verifier_wake(n->verifier);
}

static void append_id(int64_t **ids, size_t *n, size_t *cap, int64_t id)
{
    *ids = mem_grow(*ids, cap, *n + 1, sizeof **ids);
    (*ids)[(*n)++] = id;
}

/* On the storer's thread, after each commit. */
static void on_commit(void *ctx, const struct commit_notice *notice)
{
    struct notifier *n = ctx;
    struct news *news = &n->news;
    bool post;

    ASSERT(n->magic == NOTIFIER_MAGIC);
    pthread_mutex_lock(&n->lock);
    for (size_t i = 0; i < notice->n_feeds && n->listening; i++) {
        const struct feed_notice *f = &notice->feeds[i];

        if (f->merged_into != 0)
            append_id(&news->moved, &news->n_moved, &news->cap_moved, f->feed_id);
        else if (f->first_seq != 0)
            append_id(&news->feeds, &news->n_feeds, &news->cap_feeds, f->feed_id);
    }
    for (size_t i = 0; i < notice->n_subs && n->listening; i++)
        append_id(&news->subs, &news->n_subs, &news->cap_subs, notice->sub_ids[i]);
    n->hub_news = n->listening && (n->hub_news || notice->has_hub_news);
    post = !n->posted && (n->hub_news || news->n_feeds + news->n_moved + news->n_subs > 0);
    if (post) {
        n->posted = true;
        loop_post(n->loop, on_news, n);
    }
    pthread_mutex_unlock(&n->lock);
}

/* ---- life cycle ----------------------------------------------------------------------------- */

struct notifier *notifier_new(const struct notifier_cfg *cfg)
{
    struct notifier *n = NEW(struct notifier);
    pthread_condattr_t attr;

    n->magic = NOTIFIER_MAGIC;
    n->cfg = *cfg;
    roster_init(&n->roster);
    n->bodies = bodies_new();
    n->collecting = reload_new(n, 1);
    pthread_mutex_init(&n->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&n->drained, &attr);
    pthread_condattr_destroy(&attr);
    store_listen(cfg->store, on_commit, n);
    return n;
}

static void on_start(void *ctx)
{
    struct notifier *n = ctx;
    struct http_client_cfg cfg = {
        .guard = n->cfg.guard, .user_agent = n->cfg.user_agent, .max_total = n->cfg.max_calls};

    n->client = http_client_new(n->loop, &cfg);
    if (n->cfg.draw != NULL) {
        n->verifier = verifier_new(n->loop, n->client, &n->cfg);
        verifier_wake(n->verifier);
    }
    n->collecting->all = true;
    reload_run(n);
}

enum rc notifier_start(struct notifier *n, struct err *err)
{
    if (n->loop != NULL)
        return err_set(err, RC_CONFLICT, "the notifier was started already");
    n->loop = loop_new("notify");
    pthread_mutex_lock(&n->lock); /* from here on nothing is missed: the first read comes later */
    n->listening = true;
    pthread_mutex_unlock(&n->lock);
    loop_call(n->loop, on_start, n);
    return RC_OK;
}

static void on_stop_begin(void *ctx)
{
    struct notifier *n = ctx;

    n->stopping = true;
    dispatch_check_drained(n);
}

static void on_stop_end(void *ctx)
{
    struct notifier *n = ctx;

    n->stopped = true;
    if (n->load_again != NULL) { /* then nobody else has it */
        loop_timer_cancel(&n->load_again);
        reload_free(n->loading);
    }
    n->loading = NULL;
    dispatch_abandon(n);
    if (n->verifier != NULL)
        verifier_stop(n->verifier);
    http_client_free(&n->client);
}

void notifier_stop(struct notifier *n, int64_t ms)
{
    struct timespec until = clock_mono_after_ms(ms);

    if (n->loop == NULL || n->stopped)
        return;
    pthread_mutex_lock(&n->lock);
    n->listening = false;
    pthread_mutex_unlock(&n->lock);
    loop_call(n->loop, on_stop_begin, n);
    pthread_mutex_lock(&n->lock);
    while (!n->is_drained && pthread_cond_timedwait(&n->drained, &n->lock, &until) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&n->lock);
    loop_call(n->loop, on_stop_end, n);
    loop_stop(n->loop);
}

void notifier_free(struct notifier **np)
{
    struct notifier *n = *np;

    *np = NULL;
    if (n == NULL)
        return;
    notifier_stop(n, 0);
    loop_free(&n->loop); /* late answers of readers and storer are disposed of here */
    verifier_free(&n->verifier);
    roster_release(&n->roster);
    bodies_free(&n->bodies);
    reload_free(n->collecting);
    news_release(&n->news);
    pthread_mutex_destroy(&n->lock);
    pthread_cond_destroy(&n->drained);
    mem_free(n);
}

struct reconfigure {
    struct notifier *n;
    const struct notifier_cfg *cfg;
};

static void on_reconfigure(void *ctx)
{
    struct reconfigure *r = ctx;
    struct notifier_cfg *cfg = &r->n->cfg;
    struct store *store = cfg->store;
    struct guard *guard = cfg->guard;
    topic_draw_fn *draw = cfg->draw;

    *cfg = *r->cfg;
    cfg->draw = draw;
    cfg->store = store; /* these three stay for life */
    cfg->guard = guard;
    bodies_clear(r->n->bodies);
    if (!r->n->stopped && r->n->client != NULL)
        dispatch_run(r->n);
}

void notifier_reload(struct notifier *n, const struct notifier_cfg *cfg)
{
    struct reconfigure r = {n, cfg};

    if (n->loop == NULL)
        on_reconfigure(&r);
    else
        loop_call(n->loop, on_reconfigure, &r);
}
