/* fetcher/strays.c - see strays.h. A look is short, and the next one comes soon if there is more.
 */
#include "fetcher/strays.h"

#include "base/clock.h"
#include "fetcher/ownership.h"

#define LOOK_MS 5000
#define SOON_MS 50
#define LOOK_AT 256 /* records at a time */

/* What is fetched now, or waits for it, may be a feed in a moment. */
static bool is_idle(struct fetcher *f, int64_t feed_id)
{
    return work_queue_find(f->queue, feed_id) == NULL;
}

static void look(void *ctx);

static void look_in(struct fetcher *f, int64_t ms)
{
    f->strays = loop_timer_start(f->loop, ms, look, f);
}

static void look(void *ctx)
{
    struct fetcher *f = ctx;
    int64_t ids[LOOK_AT], before = clock_now_s() - STRAY_S;
    size_t found, n = 0;

    f->strays = NULL;
    if (f->stopping) /* the store may be closed */
        return;
    found = store_strays(f->store, before, &f->strays_at, ids, LOOK_AT);
    for (size_t i = 0; i < found; i++)
        if (own_feed(f, ids[i]) && is_idle(f, ids[i]))
            ids[n++] = ids[i];
    if (n > 0 && store_forget(f->store, ids, n, before) != RC_OK)
        f->strays_at = 0; /* the next look finds them again */
    look_in(f, f->strays_at == 0 ? LOOK_MS : SOON_MS);
}

void strays_start(struct fetcher *f)
{
    look_in(f, LOOK_MS);
}

void strays_stop(struct fetcher *f)
{
    if (f->strays != NULL)
        loop_timer_cancel(&f->strays);
}
