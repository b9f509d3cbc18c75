/* fetcher/waiting.c - see waiting.h. */
#include "fetcher/waiting.h"

#include "base/assert.h"
#include "base/mem.h"

struct waiting *waiting_of(struct slot *slot)
{
    struct waiting *w = slot->user;

    if (w == NULL) {
        w = NEW(struct waiting);
        STAILQ_INIT(&w->waiters);
        slot->user = w;
    }
    return w;
}

void waiting_free(void *waiting)
{
    struct waiting *w = waiting;

    ASSERT(STAILQ_EMPTY(&w->waiters));
    arena_free(&w->failure_arena);
    mem_free(w);
}

void waiting_add(struct slot *slot, fetch_done_fn *done, void *ctx)
{
    struct waiter *waiter = NEW(struct waiter);

    waiter->done = done;
    waiter->ctx = ctx;
    STAILQ_INSERT_TAIL(&waiting_of(slot)->waiters, waiter, link);
}

static void remember(struct waiting *w, const struct fetch_result *res, int64_t now_ms)
{
    arena_free(&w->failure_arena);
    if (res->rc == RC_OK || res->rc == RC_CLOSED)
        return;
    w->failure_arena = arena_new();
    w->failure = *res;
    w->failure.url = str_dup(w->failure_arena, res->url);
    w->failure.text = str_dup(w->failure_arena, res->text);
    w->failed_ms = now_ms;
}

void waiting_tell_list(struct waiter_list *list, const struct fetch_result *res)
{
    struct waiter *waiter;

    while ((waiter = STAILQ_FIRST(list)) != NULL) {
        STAILQ_REMOVE_HEAD(list, link);
        waiter->done(waiter->ctx, res);
        mem_free(waiter);
    }
}

void waiting_tell(struct slot *slot, const struct fetch_result *res, int64_t now_ms)
{
    struct waiting *w = waiting_of(slot);

    remember(w, res, now_ms);
    waiting_tell_list(&w->waiters, res);
}

const struct fetch_result *waiting_failure(const struct slot *slot, int64_t now_ms)
{
    const struct waiting *w = slot->user;

    if (w == NULL || w->failure_arena == NULL || now_ms - w->failed_ms >= FAILURE_HOLDS_MS)
        return NULL;
    return &w->failure;
}
