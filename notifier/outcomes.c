/* notifier/outcomes.c - see outcomes.h. */
#include "notifier/outcomes.h"

#include "base/clock.h"
#include "base/digest.h"
#include "notifier/backoff.h"
#include "notifier/notifier.h"

static void begin(const struct push_job *job, struct outcome *out)
{
    *out = (struct outcome){.event = ATTEMPT_DELIVERED,
                            .write = {.sub_id = job->sub_id,
                                      .generation = job->sub->generation,
                                      .from = {true, job->sub->position, job->sub->n_failures,
                                               job->sub->chain.seq},
                                      .endpoint = job->sub->endpoint,
                                      .next_try_at = TIME_UNKNOWN,
                                      .state = SUB_ACTIVE}};
}

/* The number of this try. */
static int try_of(const struct push_job *job)
{
    bool refused_before = job->sub->refused_seq != 0 && job->sub->refused_seq == job->first.seq;

    return 1 + job->sub->n_failures + (refused_before ? job->sub->n_refusals : 0);
}

static void note(const struct push_job *job, const struct call_end *end,
                 enum delivery_verdict verdict, struct outcome *out)
{
    out->write.has_note = true;
    out->write.note = (struct delivery_note){.at_us = clock_now_us(),
                                             .n_try = try_of(job),
                                             .n_entries = (int64_t)job->n_entries,
                                             .first = job->first,
                                             .last = job->last,
                                             .status = end->status,
                                             .ms = end->ms,
                                             .verdict = verdict,
                                             .error = end->why};
}

/* Does this failure end or suspend the subscription? */
static bool is_over(const struct notifier_cfg *cfg, const struct push_job *job, int n_failures,
                    int64_t failing_s)
{
    struct backoff b = {cfg->first_retry_ms, cfg->max_retry_ms};

    if (job->sink == NULL || !job->sink->is_leased)
        return backoff_is_over(&b, n_failures, failing_s, cfg->suspend_after_s);
    return job->sink->max_failures > 0 && n_failures >= job->sink->max_failures;
}

/* What was refused before is not forgotten by what has nothing to do with it. */
static void keep_refusals(const struct push_job *job, struct outcome *out)
{
    out->write.refused_seq = job->sub->refused_seq;
    out->write.n_refusals = job->sub->n_refusals;
}

/* The time of the next try is rounded up, so that after a restart, too, it is not too early. */
static void pause(struct outcome *out, int64_t ms)
{
    out->event = ATTEMPT_FAILED;
    out->pause_ms = ms;
    out->write.next_try_at = (clock_now_us() + ms * 1000 + 999999) / 1000000;
}

/* After a part of what was refused was taken, the next part may be larger. */
static void widen(const struct push_job *job, struct outcome *out)
{
    if (job->dead == NULL)
        out->write.part_max = job->sub->part_max * 2;
}

static void delivered(const struct push_job *job, const struct call_end *end, struct outcome *out)
{
    if (job->is_last)
        out->event = ATTEMPT_DRAINED;
    out->write.position = job->position;
    out->write.n_entries = (int64_t)job->n_entries;
    out->write.fault = end->verdict == SINK_FAULT;
    out->write.error = out->write.fault ? end->why : STR_NULL;
    if (job->dead != NULL) {
        out->write.dead.id = job->dead->id;
        keep_refusals(job, out);
    } else {
        out->write.chain = job->last;
    }
    widen(job, out);
    note(job, end, DELIVERY_DELIVERED, out);
}

/* The entries that were taken count as delivered, although the rest did not. Returns true when
 * there are any. */
static bool take_first(const struct push_job *job, const struct call_end *end, struct outcome *out)
{
    struct log_mark mark;

    if (end->n_taken == 0 || end->n_taken >= job->n_entries || job->marks == NULL ||
        job->dead != NULL)
        return false;
    mark = job->marks[end->n_taken - 1];
    out->write.position = mark.seq;
    out->write.chain = mark;
    out->write.n_entries = (int64_t)end->n_taken;
    return true;
}

static void failed(const struct notifier_cfg *cfg, const struct push_job *job,
                   const struct call_end *end, struct outcome *out)
{
    struct backoff b = {cfg->first_retry_ms, cfg->max_retry_ms};
    const struct subscription *sub = job->sub;
    bool moved = take_first(job, end, out); /* then it is the first failure in a row */
    int64_t failing_s =
        moved || sub->failing_since == TIME_UNKNOWN ? 0 : clock_now_s() - sub->failing_since;
    int n_failures = moved ? 1 : sub->n_failures + 1;
    bool is_leased = job->sink != NULL && job->sink->is_leased;
    int64_t ms;
    uint32_t random;

    keep_refusals(job, out);
    out->write.failed = true;
    out->write.error = end->why;
    if (job->dead != NULL)
        out->write.dead.id = job->dead->id;
    if (end->verdict == SINK_GONE || is_over(cfg, job, n_failures, failing_s)) {
        out->event = ATTEMPT_GAVE_UP;
        out->write.state = SUB_SUSPENDED;
        out->write.ended = is_leased;
        note(job, end, DELIVERY_SUSPENDED, out);
        return;
    }
    digest_random(&random, sizeof random);
    ms = backoff_pause_ms(&b, n_failures, random);
    if (end->retry_after_s > 0)
        out->hold_ms = 1000 * (end->retry_after_s < RETRY_AFTER_MAX_S ? end->retry_after_s
                                                                      : RETRY_AFTER_MAX_S);
    if (ms < end->pause_ms)
        ms = end->pause_ms;
    pause(out, out->hold_ms > ms ? out->hold_ms : ms);
    note(job, end, DELIVERY_RETRY, out);
}

/* One entry, or one event, is refused for good. */
static void bury(const struct push_job *job, const struct call_end *end, struct outcome *out)
{
    struct str rest = str_slice(end->answer, 0, DEAD_ANSWER_MAX);
    struct str answer = str_split(&rest, '\0'); /* not every database can keep U+0000 */

    out->write.is_dead = true;
    out->write.error = end->why;
    out->write.dead = (struct dead_letter){.id = job->dead == NULL ? 0 : job->dead->id,
                                           .sub_id = job->sub_id,
                                           .at = job->first,
                                           .uid = job->uid,
                                           .refused_at = clock_now_s(),
                                           .status = end->status,
                                           .answer = str_slice(answer, 0, str_utf8_valid(answer))};
    if (job->dead != NULL) {
        keep_refusals(job, out);
    } else { /* the chain of cursors runs over it */
        out->write.position = job->position;
        out->write.chain = job->last;
    }
    widen(job, out);
    note(job, end, DELIVERY_DEAD, out);
}

static void refused(const struct notifier_cfg *cfg, const struct push_job *job,
                    const struct call_end *end, struct outcome *out)
{
    bool again = job->sub->refused_seq == job->first.seq;
    int n = 1 + (again ? job->sub->n_refusals : 0);
    int most = cfg->max_refusals < 1 ? 1 : cfg->max_refusals;

    out->write.error = end->why;
    if (take_first(job, end, out)) { /* the next one is refused, so it is sent alone */
        out->write.part_max = 1;
        out->write.part_until = job->position;
        note(job, end, DELIVERY_REFUSED, out);
        return;
    }
    if (job->n_entries > 1) {
        out->write.part_max = (int64_t)job->n_entries / 2;
        out->write.part_until = job->position;
        keep_refusals(job, out);
        note(job, end, DELIVERY_REFUSED, out);
        return;
    }
    if (job->dead != NULL || n >= most) {
        bury(job, end, out);
        return;
    }
    out->write.refused_seq = job->first.seq;
    out->write.n_refusals = n;
    out->write.part_max = 1;
    out->write.part_until = job->position;
    pause(out, REFUSALS_SPREAD_S * INT64_C(1000) / (most - 1) + 1);
    note(job, end, DELIVERY_REFUSED, out);
}

void outcome_of_call(const struct notifier_cfg *cfg, const struct push_job *job,
                     const struct call_end *end, struct outcome *out)
{
    begin(job, out);
    switch (end->verdict) {
    case SINK_DELIVERED:
    case SINK_FAULT:
        delivered(job, end, out);
        return;
    case SINK_REFUSED:
        refused(cfg, job, end, out);
        return;
    case SINK_FAILED:
    case SINK_GONE:
        failed(cfg, job, end, out);
        return;
    }
}

int outcome_halved(int n)
{
    return n < HALVED_MAX ? n + 1 : HALVED_MAX;
}

int outcome_halvings(const struct outcome *o, int n)
{
    if (o->write.failed)
        return outcome_halved(n);
    return n > 0 && o->write.n_entries > 0 ? n - 1 : n;
}

void outcome_of_skip(const struct push_job *job, struct outcome *out)
{
    begin(job, out);
    out->write.position = job->position;
    keep_refusals(job, out);
    out->write.error = job->sub->last_error;
}

void outcome_of_unsendable(const struct notifier_cfg *cfg, const struct push_job *job,
                           struct outcome *out)
{
    struct call_end end = {
        .verdict = SINK_FAILED, .retry_after_s = -1, .why = str_from(job->err.text)};

    begin(job, out);
    failed(cfg, job, &end, out);
}
