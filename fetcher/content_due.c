/* fetcher/content_due.c - contents of metadata records that are due: a reader finds the host of
 * each, and the loop queues it there. */
#include "fetcher/content_due.h"

#include "base/clock.h"
#include "base/mem.h"
#include "fetcher/content.h"
#include "fetcher/fetch_loop.h"

struct look_up {
    struct fetcher *f;
    struct arena arena;
    size_t n;
    int64_t *ids;
    struct str *hosts; /* empty: the feed was removed, or is not known yet */
};

static void free_look_up(struct look_up *look)
{
    arena_release(&look->arena);
    mem_free(look);
}

/* Loop. */
static void on_looked_up(void *ctx)
{
    struct look_up *look = ctx;
    struct fetcher *f = look->f;

    for (size_t i = 0; i < look->n && !f->stopping && f->with_contents; i++)
        if (look->hosts[i].len > 0)
            work_queue_want_content(f->queue, look->ids[i], look->hosts[i], clock_mono_ms());
    free_look_up(look);
    fetch_loop_one_less(f);
    fetch_loop_pump(f);
}

/* On a reader's thread. */
static void look_up(void *ctx, struct reader *r)
{
    struct look_up *look = ctx;

    for (size_t i = 0; i < look->n; i++) {
        struct str url = store_feed_url(look->f->store, look->ids[i], &look->arena);

        look->hosts[i] =
            str_is_null(url) ? STR("") : content_host(&look->arena, look->ids[i], url, r);
    }
    loop_post(look->f->loop, on_looked_up, look);
}

/* Runs on the loop. If there was no reader, the feeds' own hosts are used instead of those of the
 * contents. A job that needs another host then waits for that one. */
static void on_wanted(void *ctx)
{
    struct look_up *look = ctx;
    struct fetcher *f = look->f;

    if (f->stopping || !f->with_contents) {
        free_look_up(look);
        return;
    }
    fetch_loop_one_more(f);
    if (store_read(f->store, look_up, look) != RC_OK)
        look_up(look, NULL);
}

void content_want(struct fetcher *f, const int64_t *feed_ids, size_t n)
{
    struct look_up *look = NEW(struct look_up);

    look->f = f;
    look->n = n;
    look->ids = ARENA_ARRAY(&look->arena, int64_t, n + 1);
    memcpy(look->ids, feed_ids, n * sizeof *feed_ids);
    look->hosts = ARENA_ARRAY(&look->arena, struct str, n + 1);
    loop_post(f->loop, on_wanted, look);
}
