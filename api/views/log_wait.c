/* api/views/log_wait.c - a list of waits. Only the function that unlinks a wait may wake it.
 *
 * A commit notice unlinks a wait on any thread, and posts it to its loop. The loop unlinks it
 * itself when its time is over or the client has left. The loop always frees it.
 */
#include "api/views/log_wait.h"

#include <sys/queue.h>

#include "api/http/reply.h"
#include "api/http/ticket.h"
#include "api/views/sub_book.h"
#include "base/clock.h"
#include "base/mem.h"
#include "model/view.h"

#define LOOK_MS 5000     /* so often it is asked whether the caller may still wait */
#define SETS_LOOK_MS 1000 /* the same, and whether sets have changed: many changes are one wake */

struct log_wait {
    TAILQ_ENTRY(log_wait) link;
    bool linked;    /* in the list; guarded by the list's lock */
    bool timed_out; /* set when it is unlinked */
    struct log_waiters *all_waits;
    struct ticket ticket;
    struct loop_timer *timer;
    int64_t until_ms; /* monotonic */
    bool all;
    int64_t shown; /* the edition of its sets, or LOG_WAIT_NO_SETS */
    size_t n;
    log_wake_fn *wake;
    void *ctx;
    int64_t ids[];
};

TAILQ_HEAD(wait_list, log_wait);

struct log_waiters {
    pthread_mutex_t lock;
    struct wait_list list;
    size_t n;
    bool ended; /* goes false -> true once: no request may wait any more */
};

struct log_waiters *log_waiters_new(void)
{
    struct log_waiters *w = NEW(struct log_waiters);

    pthread_mutex_init(&w->lock, NULL);
    TAILQ_INIT(&w->list);
    return w;
}

void log_waiters_free(struct log_waiters **wp)
{
    struct log_waiters *w = *wp;
    struct log_wait *one;

    if (w == NULL)
        return;
    while ((one = TAILQ_FIRST(&w->list)) != NULL) { /* the loops of these waits are gone */
        TAILQ_REMOVE(&w->list, one, link);
        mem_free(one);
    }
    pthread_mutex_destroy(&w->lock);
    mem_free(w);
    *wp = NULL;
}

static bool unlink_locked(struct log_wait *w)
{
    if (!w->linked)
        return false;
    w->linked = false;
    TAILQ_REMOVE(&w->all_waits->list, w, link);
    w->all_waits->n--;
    return true;
}

/* Unlink a wait. True: this call has unlinked it; false: another one had done so before. */
static bool unlink_wait(struct log_wait *w)
{
    bool mine;

    pthread_mutex_lock(&w->all_waits->lock);
    mine = unlink_locked(w);
    pthread_mutex_unlock(&w->all_waits->lock);
    return mine;
}

static bool may_go_on(const struct request *req)
{
    return ask_may_go_on(req->ask.api, req->ask.cfg, &req->ask.caller);
}

static void refuse(struct request *req)
{
    struct problem p;

    problem_set(&p, req->ask.arena, PROBLEM_UNAUTHORIZED,
                "While this request waited, its caller lost the right to read here.");
    reply_problem(req, &p);
}

static void end(struct log_wait *w)
{
    struct request *req = w->ticket.request;
    bool timed_out = w->timed_out;
    log_wake_fn *wake = w->wake;
    void *ctx = w->ctx;

    if (w->timer != NULL)
        loop_timer_cancel(&w->timer);
    req->on_gone = NULL;
    mem_free(w);
    if (may_go_on(req))
        wake(req, timed_out, ctx);
    else
        refuse(req);
}

static void on_woken(struct request *req, void *work)
{
    struct log_wait *w = work;

    if (req != NULL)
        end(w);
    else
        mem_free(w);
}

static void on_timeout(void *ctx);

static void set_timer(struct log_wait *w)
{
    int64_t left_ms = w->until_ms - clock_mono_ms();
    int64_t look_ms = w->shown == LOG_WAIT_NO_SETS ? LOOK_MS : SETS_LOOK_MS;

    w->timer = loop_timer_start(
        w->ticket.loop, left_ms < look_ms ? (left_ms < 0 ? 0 : left_ms) : look_ms, on_timeout, w);
}

static bool has_other_sets(const struct log_wait *w)
{
    return w->shown != LOG_WAIT_NO_SETS &&
           sub_book_edition(w->ticket.request->ask.api->subs) != w->shown;
}

static void on_timeout(void *ctx)
{
    struct log_wait *w = ctx;

    w->timer = NULL;
    if (clock_mono_ms() < w->until_ms && may_go_on(w->ticket.request) && !has_other_sets(w)) {
        set_timer(w);
    } else if (unlink_wait(w)) {
        w->timed_out = clock_mono_ms() >= w->until_ms;
        end(w);
    }
}

static void on_gone(struct request *req)
{
    struct log_wait *w = req->gone_ctx;

    if (w->timer != NULL)
        loop_timer_cancel(&w->timer);
    if (unlink_wait(w))
        mem_free(w); /* otherwise a wake has been posted, which frees it */
}

void log_wait_start(struct request *req, const int64_t *ids, size_t n, bool all, int64_t shown,
                    int64_t seen, int64_t ms, log_wake_fn *wake, void *ctx)
{
    struct log_waiters *waits = req->ask.api->waiters;
    struct log_wait *w = mem_zalloc(sizeof(*w) + n * sizeof(*ids));

    w->all_waits = waits;
    req->has_waited = true;
    w->ticket = ticket_take(req, 0); /* the request is held already */
    w->all = all;
    w->shown = shown;
    w->n = n;
    w->wake = wake;
    w->ctx = ctx;
    if (n > 0)
        memcpy(w->ids, ids, n * sizeof(*ids));
    req->on_gone = on_gone;
    req->gone_ctx = w;
    w->until_ms = clock_mono_ms() + ms;
    set_timer(w);
    pthread_mutex_lock(&waits->lock);
    TAILQ_INSERT_TAIL(&waits->list, w, link);
    w->linked = true;
    waits->n++;
    w->timed_out = waits->ended;
    /* a commit since the caller looked at the log did not know of this wait */
    if ((waits->ended || store_last_seq(req->ask.api->store) != seen) && unlink_locked(w))
        ticket_post(&w->ticket, on_woken, w);
    pthread_mutex_unlock(&waits->lock);
}

static bool concerns(const struct log_wait *w, int64_t feed_id)
{
    return view_ids_have(w->ids, w->n, feed_id);
}

/* Is there a new revision for this wait, as far as the notice says? */
static bool is_for(const struct log_wait *w, const struct commit_notice *notice)
{
    for (size_t i = 0; i < notice->n_feeds; i++)
        if (notice->feeds[i].first_seq != 0 && (w->all || concerns(w, notice->feeds[i].feed_id)))
            return true;
    if (w->shown != LOG_WAIT_NO_SETS && notice->has_view_news)
        return true;
    return notice->is_anew; /* it names no revisions: whoever was woken in vain waits again */
}

void log_waiters_notice(struct log_waiters *waits, const struct commit_notice *notice)
{
    struct log_wait *w, *next;

    pthread_mutex_lock(&waits->lock);
    for (w = TAILQ_FIRST(&waits->list); w != NULL; w = next) {
        next = TAILQ_NEXT(w, link);
        if (is_for(w, notice) && unlink_locked(w))
            ticket_post(&w->ticket, on_woken, w);
    }
    pthread_mutex_unlock(&waits->lock);
}

/* A request is there for as long as its wait is linked. */
void log_waiters_look(struct log_waiters *waits)
{
    struct log_wait *w, *next;

    pthread_mutex_lock(&waits->lock);
    for (w = TAILQ_FIRST(&waits->list); w != NULL; w = next) {
        next = TAILQ_NEXT(w, link);
        if (!may_go_on(w->ticket.request) && unlink_locked(w))
            ticket_post(&w->ticket, on_woken, w);
    }
    pthread_mutex_unlock(&waits->lock);
}

void log_waiters_end(struct log_waiters *waits)
{
    struct log_wait *w;

    pthread_mutex_lock(&waits->lock);
    waits->ended = true;
    while ((w = TAILQ_FIRST(&waits->list)) != NULL) {
        (void)unlink_locked(w);
        w->timed_out = true;
        ticket_post(&w->ticket, on_woken, w);
    }
    pthread_mutex_unlock(&waits->lock);
}

size_t log_waiters_count(struct log_waiters *waits)
{
    size_t n;

    pthread_mutex_lock(&waits->lock);
    n = waits->n;
    pthread_mutex_unlock(&waits->lock);
    return n;
}
