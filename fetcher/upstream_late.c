/* fetcher/upstream_late.c - see upstream_late.h. */
#include "fetcher/upstream_late.h"

#include "base/mem.h"
#include "fetcher/delivery.h"
#include "fetcher/upstream_table.h"

/* The node that has made a subscription may ask the hub before others can see the row. */
#define TRIES 4

/* So many calls may wait for a second look, and so many deliveries, with their bodies, for any;
 * others are to come later. Anybody may call with a token of his fancy: what a first look finds
 * must not wait for those, so it has a bound of its own, which is for memory only. */
#define LATE_MOST 256
#define LOOKS_MOST 16384
#define LATE_BYTES_MOST (32 * 1024 * 1024) /* of all bodies that wait: two of the largest */

struct late {
    STAILQ_ENTRY(late) link;
    int n_tries;
    atomic_int *place; /* it counts among these; NULL: among none yet */
    int64_t n_bytes;   /* of its body, counted in `late_bytes` */
    struct fetcher *f;
    struct arena arena;
    enum { VERIFY, DELIVER, NOTIFY } kind;
    struct upstream_verification v;
    struct upstream_delivery d;
    struct upstream_notification n;
    upstream_done_fn *done;
    void *ctx;
};

static upstream_done_fn on_verified;

static enum upstream_verdict handle(struct late *l)
{
    switch (l->kind) {
    case VERIFY:
        return upstream_subs_verify(l->f->upstreams, &l->v, on_verified, l);
    case DELIVER:
        return delivery_take(l->f, &l->d, l->done, l->ctx);
    case NOTIFY:
        return upstream_subs_notify(l->f->upstreams, &l->n, l->done, l->ctx);
    }
    return VERDICT_UNKNOWN;
}

static bool is_no(enum upstream_verdict verdict)
{
    return verdict == VERDICT_UNKNOWN || verdict == VERDICT_ENDED;
}

static bool take_place(atomic_int *n, int most)
{
    if (atomic_fetch_add(n, 1) < most)
        return true;
    atomic_fetch_sub(n, 1);
    return false;
}

/* False: too many wait like this. */
static bool has_place(struct late *l, atomic_int *n)
{
    if (l->place == NULL && take_place(n, LATE_MOST))
        l->place = n;
    return l->place != NULL;
}

/* False: the bodies that wait have too many bytes already. */
static bool has_room(struct late *l, int64_t n_bytes)
{
    if (atomic_fetch_add(&l->f->late_bytes, n_bytes) + n_bytes <= LATE_BYTES_MOST) {
        l->n_bytes = n_bytes;
        return true;
    }
    atomic_fetch_sub(&l->f->late_bytes, n_bytes);
    return false;
}

static void end(struct late *l, enum upstream_verdict verdict)
{
    atomic_fetch_sub(&l->f->late_bytes, l->n_bytes);
    if (verdict != VERDICT_PENDING)
        l->done(l->ctx, verdict);
    if (l->place != NULL)
        atomic_fetch_sub(l->place, 1);
    atomic_fetch_sub(&l->f->n_looks, 1);
    arena_release(&l->arena);
    mem_free(l);
}

/* Loop. It is tried again a little later. */
static void on_no(void *ctx)
{
    struct late *l = ctx;

    if (l->f->stopping)
        end(l, VERDICT_BUSY);
    else
        STAILQ_INSERT_TAIL(&l->f->lates, l, link);
}

/* Try it again a little later, or say this. */
static void try_or_end(struct late *l, enum upstream_verdict verdict)
{
    if (++l->n_tries >= TRIES || atomic_load(&l->f->give_up))
        end(l, verdict);
    else if (has_place(l, &l->f->n_lates))
        loop_post(l->f->loop, on_no, l);
    else
        end(l, VERDICT_BUSY);
}

/* The storer's thread. If another node has changed the row meanwhile, it is read again. */
static void on_verified(void *ctx, enum upstream_verdict verdict)
{
    if (verdict == VERDICT_BUSY)
        try_or_end(ctx, verdict);
    else
        end(ctx, verdict);
}

static void on_read(void *ctx, bool is_read)
{
    struct late *l = ctx;
    bool is_told = l->kind == VERIFY; /* on_verified() has it then, perhaps already */
    enum upstream_verdict verdict = is_read ? handle(l) : VERDICT_BUSY;

    if (verdict == VERDICT_PENDING && is_told)
        return;
    if (is_no(verdict))
        try_or_end(l, verdict);
    else
        end(l, verdict);
}

static struct str token_of(const struct late *l)
{
    return l->kind == VERIFY ? l->v.token : l->kind == DELIVER ? l->d.token : l->n.token;
}

/* Read the row again, then handle the call. */
static void ask(struct late *l)
{
    upstream_subs_read_one(l->f->upstreams, token_of(l), on_read, l);
}

void upstream_late_again(struct fetcher *f)
{
    struct late *l;

    while ((l = STAILQ_FIRST(&f->lates)) != NULL) {
        STAILQ_REMOVE_HEAD(&f->lates, link);
        if (f->stopping)
            end(l, VERDICT_BUSY);
        else
            ask(l);
    }
}

/* NULL: too many calls wait. */
static struct late *late_new(struct fetcher *f, upstream_done_fn *done, void *ctx)
{
    struct late *l;

    if (!take_place(&f->n_looks, LOOKS_MOST))
        return NULL;
    l = NEW(struct late);
    l->f = f;
    l->done = done;
    l->ctx = ctx;
    return l;
}

static struct str keep(struct late *l, struct str s)
{
    return str_is_null(s) ? STR_NULL : str_dup(&l->arena, s);
}

static enum upstream_verdict later(struct late *l)
{
    ask(l);
    return VERDICT_PENDING;
}

enum upstream_verdict upstream_late_verify(struct fetcher *f, const struct upstream_verification *v,
                                           upstream_done_fn *done, void *ctx)
{
    struct late *l;

    if (f->is_alone)
        return upstream_subs_verify(f->upstreams, v, done, ctx);
    if (!upstream_token_is_possible(v->token))
        return VERDICT_UNKNOWN;
    l = late_new(f, done, ctx); /* always: it depends on what was asked of the hub last */
    if (l == NULL)
        return VERDICT_BUSY;
    l->kind = VERIFY;
    l->v = (struct upstream_verification){keep(l, v->token), keep(l, v->mode), keep(l, v->topic),
                                          keep(l, v->lease), keep(l, v->reason)};
    return later(l);
}

enum upstream_verdict upstream_late_deliver(struct fetcher *f, const struct upstream_delivery *d,
                                            upstream_done_fn *done, void *ctx)
{
    enum upstream_verdict verdict = delivery_take(f, d, done, ctx);
    struct late *l;

    if (f->is_alone || !is_no(verdict) || !upstream_token_is_possible(d->token))
        return verdict;
    l = late_new(f, done, ctx);
    if (l == NULL)
        return VERDICT_BUSY;
    if (!has_place(l, &f->n_late_bodies) || !has_room(l, (int64_t)d->body.len)) {
        end(l, VERDICT_PENDING); /* the caller is told below */
        return VERDICT_BUSY;
    }
    l->kind = DELIVER;
    l->d = (struct upstream_delivery){.token = keep(l, d->token),
                                      .signature = keep(l, d->signature),
                                      .content_type = keep(l, d->content_type),
                                      .content_coding = keep(l, d->content_coding),
                                      .content_language = keep(l, d->content_language),
                                      .content_location = keep(l, d->content_location),
                                      .body = keep(l, d->body)};
    return later(l);
}

enum upstream_verdict upstream_late_notify(struct fetcher *f, const struct upstream_notification *n,
                                           upstream_done_fn *done, void *ctx)
{
    enum upstream_verdict verdict = upstream_subs_notify(f->upstreams, n, done, ctx);
    struct late *l;

    if (f->is_alone || !is_no(verdict) || !upstream_token_is_possible(n->token))
        return verdict;
    l = late_new(f, done, ctx);
    if (l == NULL)
        return VERDICT_BUSY;
    l->kind = NOTIFY;
    l->n = (struct upstream_notification){keep(l, n->token), keep(l, n->url), n->is_challenge};
    return later(l);
}
