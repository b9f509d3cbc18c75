/* notifier/acks.c - see acks.h. */
#include "notifier/acks.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/stats.h"
#include "notifier/roster.h"
#include "storage/pushes.h"

#define WRITE_MAX 512    /* outcomes in one write: a few milliseconds of the storer */
#define WRITE_ENOUGH 256 /* with so many, a write does not wait for more */

/* What the storer has. */
struct ack_write {
    struct acks *acks;
    struct ack_list list;
    size_t n;
    enum rc rc; /* the storer's answer */
    enum push_fate fates[];
};

struct ack *ack_new(struct acks *a, const struct outcome *outcome)
{
    struct outcome o = *outcome;
    struct str *texts[] = {&o.write.endpoint, &o.write.error, &o.write.dead.uid,
                           &o.write.dead.answer};
    struct ack *ack;
    size_t len = 0;
    char *at;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        len += texts[i]->len;
    ack = mem_zalloc(sizeof *ack + len);
    at = ack->texts;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (texts[i]->len > 0)
            memcpy(at, texts[i]->ptr, texts[i]->len);
        if (!str_is_null(*texts[i]))
            *texts[i] = str_of(at, texts[i]->len);
        at += texts[i]->len;
    }
    o.write.note.error = o.write.error;
    ack->acks = a;
    ack->outcome = o;
    a->n++;
    return ack;
}

static void ungather(struct acks *a, struct ack *ack)
{
    TAILQ_REMOVE(&a->gathered, ack, next);
    a->n_gathered--;
}

void ack_free(struct ack *ack)
{
    ASSERT(ack->state != ACK_AT_STORER);
    if (ack->state == ACK_GATHERED)
        ungather(ack->acks, ack);
    ack->acks->n--;
    mem_free(ack);
}

void acks_init(struct acks *a, struct store *store, struct loop *loop, ack_done_fn *done, void *ctx)
{
    *a = (struct acks){.store = store, .loop = loop, .done = done, .ctx = ctx};
    TAILQ_INIT(&a->gathered);
}

/* Take the outcomes of the next write. */
static struct ack_write *take(struct acks *a)
{
    struct ack_write *w = mem_zalloc(sizeof *w + WRITE_MAX * sizeof w->fates[0]);
    struct ack *ack;

    w->acks = a;
    TAILQ_INIT(&w->list);
    while (w->n < WRITE_MAX && (ack = TAILQ_FIRST(&a->gathered)) != NULL) {
        if (ack->goes_alone && w->n > 0)
            break;
        ungather(a, ack);
        TAILQ_INSERT_TAIL(&w->list, ack, next);
        ack->state = ACK_AT_STORER;
        w->n++;
        if (ack->goes_alone)
            break;
    }
    return w;
}

static enum rc rc_of(enum push_fate fate)
{
    return fate == PUSH_GONE ? RC_NOT_FOUND : fate == PUSH_STALE ? RC_CONFLICT : RC_OK;
}

/* The write has ended: say so for each of its outcomes. */
static void end(struct ack_write *w, bool was_refused)
{
    struct acks *a = w->acks;
    struct ack *ack;

    for (size_t i = 0; (ack = TAILQ_FIRST(&w->list)) != NULL; i++) {
        TAILQ_REMOVE(&w->list, ack, next);
        ack->state = ACK_HERE;
        ack->goes_alone = was_refused;
        a->done(a->ctx, ack, w->rc == RC_OK ? rc_of(w->fates[i]) : w->rc);
    }
    mem_free(w);
}

static void write_next(struct acks *a);

/* The storer has answered. Runs on the loop. */
static void on_written(void *ctx)
{
    struct ack_write *w = ctx;
    struct acks *a = w->acks;

    a->is_writing = false;
    write_next(a);
    end(w, w->rc != RC_OK);
}

/* On the storer's thread. */
static void on_storer_answer(void *ctx, enum rc rc, const struct store_result *res,
                             const struct err *err UNUSED)
{
    struct ack_write *w = ctx;

    w->rc = rc;
    if (rc == RC_OK)
        memcpy(w->fates, res->fates, w->n * sizeof w->fates[0]);
    loop_post(w->acks->loop, on_written, w);
}

/* Give the outcomes to the storer. False: it does not take them; w->rc says why. */
static bool hand_over(struct acks *a, struct ack_write *w)
{
    struct push_outcome *list = mem_alloc(w->n * sizeof *list);
    struct ack *ack;
    size_t n = 0;
    enum rc rc;

    TAILQ_FOREACH (ack, &w->list, next)
        list[n++] = ack->outcome.write;
    rc = store_push_outcomes(a->store, list, n, on_storer_answer, w);
    if (rc != RC_OK) /* else the storer's answer may be in w->rc already */
        w->rc = rc;
    mem_free(list);
    return rc == RC_OK;
}

static void wait_end(struct acks *a)
{
    if (a->later == NULL)
        return;
    loop_timer_cancel(&a->later);
    stats_add(STAT_work_pending, -1);
}

static void on_later(void *ctx)
{
    struct acks *a = ctx;

    a->later = NULL;
    a->write_ms = 0;
    write_next(a);
    stats_add(STAT_work_pending, -1);
}

static void wait_begin(struct acks *a, int64_t now_ms)
{
    if (a->later != NULL && a->later_ms <= a->write_ms)
        return;
    wait_end(a);
    a->later_ms = a->write_ms;
    a->later = loop_timer_start(a->loop, a->write_ms - now_ms, on_later, a);
    stats_inc(STAT_work_pending);
}

/* Write what is gathered, or wait for more of it. */
static void write_next(struct acks *a)
{
    int64_t now_ms = clock_mono_ms();
    struct ack_write *w;

    while (!a->is_writing && a->n_gathered > 0) {
        if (a->write_ms > now_ms && a->n_gathered < WRITE_ENOUGH) {
            wait_begin(a, now_ms);
            return;
        }
        wait_end(a);
        w = take(a);
        a->is_writing = true; /* before the call, because the storer may answer at once */
        if (hand_over(a, w))
            return;
        a->is_writing = false;
        end(w, false);
    }
}

void acks_add(struct acks *a, struct ack *ack, int64_t wait_ms)
{
    int64_t until_ms = clock_mono_ms() + wait_ms;

    if (a->n_gathered == 0 || until_ms < a->write_ms)
        a->write_ms = until_ms;
    ack->state = ACK_GATHERED;
    TAILQ_INSERT_TAIL(&a->gathered, ack, next);
    a->n_gathered++;
    write_next(a);
}

void acks_stop(struct acks *a)
{
    struct ack_write *w;
    struct ack *ack;

    wait_end(a);
    while (!TAILQ_EMPTY(&a->gathered)) {
        w = take(a);
        if (hand_over(a, w))
            continue;
        while ((ack = TAILQ_FIRST(&w->list)) != NULL) {
            TAILQ_REMOVE(&w->list, ack, next);
            ack->state = ACK_HERE;
            if (ack->member != NULL)
                ack->member->ack = NULL;
            ack_free(ack);
        }
        mem_free(w);
    }
}
