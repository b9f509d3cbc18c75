/* notifier/notifier.c - start and stop, and the listener for commits.
 *
 * The listener puts ids into lists under a lock, and the loop takes them. A feed with new revisions
 * makes its members due (turns.h). A subscription that was made, changed or ended is read again
 * (reload.h). */
#include "notifier/notifier.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "notifier/lag.h"
#include "notifier/push_test.h"
#include "notifier/reload.h"
#include "notifier/turns.h"
#include "notifier/verifier.h"

#define NOTIFIER_MAGIC 0x6e6f7469u

/* What the commits have announced, until the loop takes it. */
struct news {
    int64_t *feeds; /* feeds with new revisions */
    int64_t *moved; /* feeds that were merged into another one */
    int64_t *subs;  /* subscriptions made, changed or ended */
    int64_t *tried; /* of these, those that are to be tried now */
    size_t n_feeds, n_moved, n_subs, n_tried;
    size_t cap_feeds, cap_moved, cap_subs, cap_tried;
};

struct notifier {
    unsigned magic;
    struct notifier_cfg cfg; /* belongs to the loop once it runs */
    struct loop *loop;       /* NULL before the start */
    struct http_client *client;
    struct verifier *verifier; /* NULL: there is neither a hub nor a cloud */
    struct turns turns;
    struct reload reload;
    struct lag_watch lag;

    pthread_mutex_t lock; /* any thread; guards the rest */
    bool listening;
    bool posted; /* the loop has been told of `news` */
    bool hub_news;
    bool has_slots; /* `gained` and `lost` have something */
    struct slot_set gained, lost;
    struct news news;
};

/* ---- commit notices ------------------------------------------------------------------------- */

static void news_release(struct news *news)
{
    mem_free(news->feeds);
    mem_free(news->moved);
    mem_free(news->subs);
    mem_free(news->tried);
    *news = (struct news){0};
}

static void take_news(struct notifier *n)
{
    struct news news;
    struct member *const *members;
    size_t n_members;

    pthread_mutex_lock(&n->lock);
    news = n->news;
    n->news = (struct news){0};
    pthread_mutex_unlock(&n->lock);
    for (size_t i = 0; i < news.n_subs && !n->turns.stopped; i++)
        reload_want(&n->reload, news.subs[i]);
    for (size_t i = 0; i < news.n_tried && !n->turns.stopped; i++)
        reload_try(&n->reload, news.tried[i]);
    for (size_t i = 0; i < news.n_moved && !n->turns.stopped; i++) {
        members = roster_of_feed(&n->turns.roster, news.moved[i], &n_members);
        for (size_t k = 0; k < n_members; k++)
            reload_want(&n->reload, members[k]->id);
    }
    for (size_t i = 0; i < news.n_feeds && !n->turns.stopped; i++) {
        members = roster_of_feed(&n->turns.roster, news.feeds[i], &n_members);
        for (size_t k = 0; k < n_members; k++)
            turns_event(&n->turns, members[k], ATTEMPT_NEWS);
    }
    news_release(&news);
    if (n->turns.stopped)
        return;
    reload_run(&n->reload);
    turns_run(&n->turns);
}

/* Slots were gained or lost. */
static void take_slots(struct notifier *n)
{
    static const struct slot_set none;
    struct slot_set gained, lost;
    bool has_slots;

    pthread_mutex_lock(&n->lock);
    has_slots = n->has_slots;
    gained = n->gained;
    lost = n->lost;
    n->has_slots = false;
    n->gained = n->lost = none;
    pthread_mutex_unlock(&n->lock);
    if (!has_slots || n->turns.stopped)
        return;
    owned_change(&n->turns.owned, &gained, &lost);
    turns_lost(&n->turns, &lost);
    turns_forget_left(&n->turns);
    if (n->verifier != NULL)
        verifier_lost(n->verifier, &lost);
    if (n->verifier != NULL && slot_set_count(&gained) > 0)
        verifier_wake(n->verifier);
    if (slot_set_count(&gained) > 0)
        reload_want_all(&n->reload);
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
    take_slots(n);
    take_news(n);
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
        else if (f->first_seq != 0 || f->has_event)
            append_id(&news->feeds, &news->n_feeds, &news->cap_feeds, f->feed_id);
    }
    for (size_t i = 0; i < notice->n_subs && n->listening; i++)
        append_id(&news->subs, &news->n_subs, &news->cap_subs, notice->sub_ids[i]);
    for (size_t i = 0; i < notice->n_tried_subs && n->listening; i++)
        append_id(&news->tried, &news->n_tried, &news->cap_tried, notice->tried_sub_ids[i]);
    n->hub_news = n->listening && (n->hub_news || notice->has_hub_news);
    post = !n->posted && (n->hub_news || news->n_feeds + news->n_moved + news->n_subs > 0);
    if (post) {
        n->posted = true;
        loop_post(n->loop, on_news, n);
    }
    pthread_mutex_unlock(&n->lock);
}

/* On the thread of the nodes. */
static void on_slots(void *ctx, const struct slot_set *gained, const struct slot_set *lost)
{
    struct notifier *n = ctx;

    pthread_mutex_lock(&n->lock);
    n->has_slots = true;
    for (size_t i = 0; i < ARRAY_LEN(gained->words); i++) {
        n->lost.words[i] |= lost->words[i];
        n->gained.words[i] = (n->gained.words[i] & ~lost->words[i]) | gained->words[i];
    }
    if (n->listening && !n->posted) {
        n->posted = true;
        loop_post(n->loop, on_news, n);
    }
    pthread_mutex_unlock(&n->lock);
}

/* ---- life cycle ----------------------------------------------------------------------------- */

struct notifier *notifier_new(const struct notifier_cfg *cfg)
{
    struct notifier *n = NEW(struct notifier);

    n->magic = NOTIFIER_MAGIC;
    n->cfg = *cfg;
    turns_init(&n->turns, &n->cfg);
    reload_init(&n->reload, &n->turns, cfg->store);
    lag_init(&n->lag, &n->turns, cfg->store);
    pthread_mutex_init(&n->lock, NULL);
    store_listen(cfg->store, on_commit, n);
    if (cfg->nodes != NULL)
        nodes_listen(cfg->nodes, on_slots, n);
    return n;
}

static void on_start(void *ctx)
{
    struct notifier *n = ctx;
    struct http_client_cfg cfg = {.guard = n->cfg.guard,
                                  .user_agent = n->cfg.user_agent,
                                  .max_total = n->cfg.max_calls + VERIFIER_CALLS_MAX};

    n->client = http_client_new(n->loop, &cfg);
    if (n->cfg.draw != NULL || n->cfg.has_cloud)
        n->verifier = verifier_new(n->loop, n->client, &n->cfg, &n->turns.owned);
    turns_start(&n->turns, n->loop, n->client);
    take_slots(n);
    if (n->verifier != NULL)
        verifier_wake(n->verifier);
    reload_want_all(&n->reload);
    reload_run(&n->reload);
    lag_start(&n->lag);
}

enum rc notifier_start(struct notifier *n, struct err *err)
{
    if (n->loop != NULL)
        return err_set(err, RC_CONFLICT, "the notifier was started already");
    n->loop = loop_new("notify");
    /* from here on no commit is missed, because the first read comes later */
    pthread_mutex_lock(&n->lock);
    n->listening = true;
    pthread_mutex_unlock(&n->lock);
    loop_call(n->loop, on_start, n);
    return RC_OK;
}

static void on_stop_begin(void *ctx)
{
    struct notifier *n = ctx;

    turns_drain(&n->turns);
}

static void on_stop_end(void *ctx)
{
    struct notifier *n = ctx;

    push_tests_stop(&n->turns);
    turns_stop(&n->turns);
    reload_stop(&n->reload);
    lag_stop(&n->lag);
    if (n->verifier != NULL)
        verifier_stop(n->verifier);
    http_client_free(&n->client);
}

void notifier_stop(struct notifier *n, int64_t ms)
{
    struct timespec until = clock_mono_after_ms(ms);

    if (n->loop == NULL || n->turns.stopped)
        return;
    pthread_mutex_lock(&n->lock);
    n->listening = false;
    pthread_mutex_unlock(&n->lock);
    loop_call(n->loop, on_stop_begin, n);
    turns_wait_drained(&n->turns, &until);
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
    loop_free(&n->loop); /* frees late answers of readers and storer */
    verifier_free(&n->verifier);
    reload_release(&n->reload);
    turns_release(&n->turns);
    news_release(&n->news);
    pthread_mutex_destroy(&n->lock);
    mem_free(n);
}

/* ---- tests ------------------------------------------------------------------------------------
 */

struct test_wish {
    struct notifier *n;
    int64_t sub_id;
    push_test_done_fn *done;
    void *done_ctx;
};

static void on_test(void *ctx)
{
    struct test_wish *wish = ctx;

    push_test_start(&wish->n->turns, wish->sub_id, wish->done, wish->done_ctx);
    mem_free(wish);
}

enum rc notifier_test(struct notifier *n, int64_t sub_id, push_test_done_fn *done, void *done_ctx)
{
    struct test_wish *wish;
    enum rc rc = RC_CLOSED;

    /* under the lock: after notifier_stop() no test may come, as nobody would answer it */
    pthread_mutex_lock(&n->lock);
    if (n->listening) {
        wish = NEW(struct test_wish);
        *wish = (struct test_wish){n, sub_id, done, done_ctx};
        loop_post(n->loop, on_test, wish);
        rc = RC_OK;
    }
    pthread_mutex_unlock(&n->lock);
    return rc;
}

int64_t notifier_held(struct notifier *n, struct str endpoint)
{
    return holds_get(n->turns.holds, endpoint);
}

/* ---- reload -----------------------------------------------------------------------------------
 */

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
    struct component *component = cfg->component;
    struct nodes *nodes = cfg->nodes;

    *cfg = *r->cfg;
    cfg->draw = draw;
    cfg->store = store; /* these never change */
    cfg->guard = guard;
    cfg->component = component;
    cfg->nodes = nodes;
    bodies_clear(r->n->turns.jobs.bodies);
    if (!r->n->turns.stopped && r->n->client != NULL)
        turns_run(&r->n->turns);
}

void notifier_reload(struct notifier *n, const struct notifier_cfg *cfg)
{
    struct reconfigure r = {n, cfg};

    if (n->loop == NULL)
        on_reconfigure(&r);
    else
        loop_call(n->loop, on_reconfigure, &r);
}
