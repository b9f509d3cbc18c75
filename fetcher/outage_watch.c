/* fetcher/outage_watch.c - see outage_watch.h. */
#include "fetcher/outage_watch.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"
#include "net/url.h"

/* The failures that counted may still be on their way to the storer when the outage is recognised. */
#define TAKE_BACK_MS 1000

static void on_take_back(void *ctx)
{
    struct fetcher *f = ctx;
    struct outage_missed missed[OUTAGE_TRANSFERS];
    struct feed_errors feeds[OUTAGE_TRANSFERS];
    size_t n = outage_missed(&f->outage, clock_mono_ms() - TAKE_BACK_MS, missed);
    int64_t since = clock_now_s() - (OUTAGE_WINDOW_MS + TAKE_BACK_MS) / 1000;

    f->take_back = NULL;
    for (size_t i = 0; i < n; i++)
        feeds[i] = (struct feed_errors){missed[i].feed_id, missed[i].n_errors};
    if (n > 0 && store_take_back(f->store, feeds, n, since) != RC_OK) /* the storer has too much to do */
        f->take_back = loop_timer_start(f->loop, TAKE_BACK_MS, on_take_back, f);
}

static void begin(struct fetcher *f)
{
    log_warn("fetcher", "outage",
             "text=\"most publishers cannot be reached; these failures do not count as errors of the "
             "feeds\"");
    if (f->take_back == NULL)
        f->take_back = loop_timer_start(f->loop, TAKE_BACK_MS, on_take_back, f);
}

void outage_watch_note(struct fetcher *f, struct job *job, enum rc rc, int status)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    bool reached = status != 0 || (rc != RC_PEER && rc != RC_TIMEOUT);
    enum outage_change change;

    if (rc == RC_DENIED) /* a refusal by our own guard tells nothing about our connection */
        return;
    change = outage_note(&f->outage, &(struct outage_transfer){.authority = url_authority(&a, job->url),
                                                               .reached = reached,
                                                               .feed_id = job->feed_id,
                                                               .n_errors = job->feed->n_errors,
                                                               .now_ms = clock_mono_ms()});
    job->outage = f->outage.is_on && !reached;
    if (change == OUTAGE_AS_BEFORE)
        return;
    if (change == OUTAGE_BEGINS)
        begin(f);
    else
        log_info("fetcher", "outage_over", "text=\"publishers answer again\"");
    stats_set(STAT_outage, f->outage.is_on);
    work_queue_probe(f->queue, f->outage.is_on, clock_mono_ms());
}

void outage_watch_stop(struct fetcher *f)
{
    if (f->take_back != NULL)
        loop_timer_cancel(&f->take_back);
}
