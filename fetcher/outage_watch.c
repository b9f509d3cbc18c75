/* fetcher/outage_watch.c - see outage_watch.h. */
#include "fetcher/outage_watch.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"
#include "net/url.h"

/* The failures that counted may still be on their way to the storer when the outage is recognised.
 */
#define TAKE_BACK_MS 1000

static void on_take_back(void *ctx)
{
    struct fetcher *f = ctx;

    f->take_back = NULL;
    if (f->n_missed > 0 &&
        store_take_back(f->store, f->missed, f->n_missed, f->missed_since) != RC_OK)
        f->take_back = loop_timer_start(f->loop, TAKE_BACK_MS, on_take_back, f); /* it is busy */
}

static void begin(struct fetcher *f)
{
    struct outage_missed missed[OUTAGE_FAILED];

    f->n_missed = outage_missed(&f->outage, clock_mono_ms(), missed);
    for (size_t i = 0; i < f->n_missed; i++)
        f->missed[i] = (struct feed_errors){missed[i].feed_id, missed[i].n_errors};
    f->missed_since = clock_now_s() - OUTAGE_WINDOW_MS / 1000 - 1;
    log_warn(
        "fetcher", "outage",
        "text=\"most publishers cannot be reached; these failures do not count as errors of the "
        "feeds\"");
    if (f->take_back == NULL)
        f->take_back = loop_timer_start(f->loop, TAKE_BACK_MS, on_take_back, f);
}

/* The row of such a feed has a check, but neither an answer nor an error. */
static bool was_ours(const struct feed *feed)
{
    return feed->last_check_at != TIME_UNKNOWN && feed->last_status == 0 && feed->n_errors == 0 &&
           feed->next_reason != REASON_RETRY_AFTER; /* its host rested */
}

void outage_watch_note(struct fetcher *f, struct job *job, enum rc rc,
                       const struct http_answer *answer)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    /* with a redirect the host has answered, whatever became of the next one; and one whose
     * certificate is wrong has */
    bool reached = answer->status != 0 || answer->n_redirects > 0 || answer->is_tls_failure ||
                   (rc != RC_PEER && rc != RC_TIMEOUT);
    /* of an answer: was it the last host that gave it? */
    bool is_whole = answer->status != 0 || answer->is_tls_failure;
    enum outage_change change;

    if (rc == RC_DENIED ||
        rc == RC_RESTING) /* our own refusal tells nothing about our connection */
        return;
    change = outage_note(
        &f->outage,
        &(struct outage_transfer){.authority = url_authority(&a, job->url),
                                  .reached = reached,
                                  .is_no_name = answer->is_no_name,
                                  .is_known = job_has_document(job),
                                  .others_are = store_n_needs(f->store) > 0,
                                  .is_secure = str_starts(answer->final_url, STR("https:")),
                                  .is_numeric = answer->is_numeric,
                                  .is_unresolved = !reached && !answer->has_address,
                                  .nearness = reached && !is_whole ? NEAR_SELF : answer->nearness,
                                  .was_ours = was_ours(job->feed),
                                  .feed_id = job->feed_id,
                                  .n_errors = job->feed->n_errors,
                                  .began_ms = job->asked_us / 1000,
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
