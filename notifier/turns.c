/* notifier/turns.c - see turns.h. */
#include "notifier/turns.h"

#include <errno.h>
#include <inttypes.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "net/component.h"
#include "notifier/mask.h"
#include "notifier/outcomes.h"

#define READ_MAX 32     /* turns in one job of a reader; requests of the API wait for these jobs */
#define READS_MAX 2     /* such jobs at once */
#define FULL_MS 50      /* pause when the readers or the storer have no room */
#define TROUBLE_MS 1000 /* pause when the database fails */
#define GATHER_MS 10    /* so long an outcome waits for others while endpoints wait ... */
#define FAILED_MS 50    /* ... and so long that of a failure */

/* A turn, from its start to the end of the call. */
struct turn {
    struct turns *ts;
    struct endpoint *endpoint; /* busy */
    struct push_job *job;
    struct member *member; /* the subscription, or a test; NULL: it has ended */
    uint64_t call;         /* the carrier's number of the call; 0: not started */
    uint64_t moment;       /* at which it began, of the rush */
    int64_t mono_started;  /* ms, of the call */
    bool is_cut;           /* it took too long while others waited, and was cancelled */
    bool is_lost;          /* it was cancelled, because its slot is another node's */
    struct permit permit;  /* not for a test */
};

/* Turns whose subscriptions are read together. */
struct turns_read {
    struct turns *ts;
    struct turn *turns[READ_MAX];
    size_t n;
};

/* Returns how long the write of an outcome may wait for others, in ms. While endpoints wait for
 * their turn, there will be more outcomes soon, whatever becomes of the calls under way. After a
 * failure the subscription waits for seconds anyway. */
static int64_t patience(const struct turns *ts, const struct ack *ack)
{
    const size_t *waiting = ts->roster.lanes.count.waiting;

    if (ts->stopping)
        return 0;
    if (ack->outcome.event == ATTEMPT_FAILED)
        return FAILED_MS;
    return waiting[STANDING_TRUSTED] + waiting[STANDING_FRESH] > 0 ? GATHER_MS : 0;
}

/* ---- states ------------------------------------------------------------------------------- */

/* A member's timer has fired: the pause is over, or the outcome must be given to the storer
 * again. */
static void on_member_timer(void *ctx)
{
    struct member *m = ctx;
    struct turns *ts = m->turns;

    m->timer = NULL;
    if (m->state == ATTEMPT_ACKING) {
        acks_add(&ts->acks, m->ack, patience(ts, m->ack));
        stats_add(STAT_work_pending, -1);
    } else {
        turns_event(ts, m, ATTEMPT_PAUSE_OVER);
    }
    turns_run(ts);
}

/* A retry has its time, but an outcome that is not written is work of now. */
static void timer_start(struct turns *ts, struct member *m, int64_t ms)
{
    ASSERT(m->timer == NULL);
    m->timer = loop_timer_start(ts->loop, ms, on_member_timer, m);
    if (m->state == ATTEMPT_ACKING)
        stats_inc(STAT_work_pending);
}

static void timer_cancel(struct member *m)
{
    if (m->timer == NULL)
        return;
    loop_timer_cancel(&m->timer);
    if (m->state == ATTEMPT_ACKING)
        stats_add(STAT_work_pending, -1);
}

void turns_event(struct turns *ts, struct member *m, enum attempt_event event)
{
    enum attempt_state from = m->state, to = attempt_next(from, event);

    if (event == ATTEMPT_NEWS || event == ATTEMPT_RESUMED || event == ATTEMPT_TURN)
        m->has_news = event != ATTEMPT_TURN;
    if (to == from)
        return;
    log_debug("notifier", "state", "sub=%" PRId64 " event=%s from=%s to=%s", m->id,
              attempt_event_name(event), attempt_state_name(from), attempt_state_name(to));
    if (from == ATTEMPT_DUE && event != ATTEMPT_TURN) /* at a turn, it was taken out already */
        roster_undue(&ts->roster, m);
    if (from == ATTEMPT_WAITING)
        timer_cancel(m);
    m->state = to;
    if (to == ATTEMPT_DUE)
        roster_due(&ts->roster, m);
    if (to == ATTEMPT_WAITING)
        timer_start(ts, m, m->pause_ms);
}

static void postpone(struct turns *ts, struct member *m, int64_t ms)
{
    member_set_pause(m, ms);
    turns_event(ts, m, ATTEMPT_POSTPONED);
}

static void check_drained(struct turns *ts)
{
    if (!ts->stopping || ts->n_reads + ts->n_calling + ts->acks.n > 0)
        return;
    pthread_mutex_lock(&ts->lock);
    ts->is_drained = true;
    pthread_mutex_unlock(&ts->lock);
    pthread_cond_signal(&ts->drained);
}

/* ---- outcomes ------------------------------------------------------------------------------- */

/* Returns what an outcome means for the state when news came in the meantime: after "nothing is
 * left" and "suspended" it looks again. */
static enum attempt_event with_news(enum attempt_event event)
{
    return event == ATTEMPT_DRAINED || event == ATTEMPT_GAVE_UP ? ATTEMPT_DELIVERED : event;
}

/* The outcome is written. What another endpoint answered before this one took its place says
 * nothing about this one. */
static void go_on(struct turns *ts, struct member *m, const struct outcome *o)
{
    if (!str_eq(o->write.endpoint, str_from(m->endpoint->url)) && !o->write.ended) {
        turns_event(ts, m, ATTEMPT_DELIVERED);
        return;
    }
    member_set_pause(m, o->pause_ms);
    m->n_halved = (uint8_t)outcome_halvings(o, m->n_halved);
    if (o->write.ended)
        log_info("notifier", "hub_ended", "sub=%" PRId64 " callback=%s error=%s", m->id,
                 log_quote(str_from(m->endpoint->url)), log_quote(o->write.error));
    else if (o->event == ATTEMPT_GAVE_UP)
        log_warn("notifier", "suspended",
                 "sub=%" PRId64 " endpoint=%s error=%s position is kept until it is resumed", m->id,
                 log_quote(str_from(m->endpoint->url)), log_quote(o->write.error));
    turns_event(ts, m, m->has_news ? with_news(o->event) : o->event);
}

/* The outcome is written, or is not wanted any more: the slot may go. */
static void ack_drop(struct turns *ts, struct ack *ack)
{
    if (!ts->stopped)
        permit_end(&ts->owned, &ack->permit);
    ack_free(ack);
}

/* What has become of the write of an outcome. */
static void on_ack(void *ctx, struct ack *ack, enum rc rc)
{
    struct turns *ts = ctx;
    struct member *m = ts->stopped ? NULL : ack->member;

    if (m == NULL) { /* it has ended in the meantime */
        ack_drop(ts, ack);
    } else if (rc == RC_OK) {
        m->ack = NULL;
        go_on(ts, m, &ack->outcome);
        ack_drop(ts, ack);
    } else if (rc == RC_NOT_FOUND) {
        turns_remove(ts, m);
    } else if (rc == RC_CONFLICT) { /* it is read anew at its next turn, if it has one here */
        log_info("notifier", "outcome_stale", "sub=%" PRId64 " effect=read_again", m->id);
        m->ack = NULL;
        ack_drop(ts, ack);
        turns_event(ts, m, ATTEMPT_DELIVERED);
    } else if (rc == RC_FULL) {
        timer_start(ts, m, FULL_MS);
    } else if (rc == RC_CLOSED) { /* the position does not move: it is delivered again after the
                                     next start */
        m->ack = NULL;
        ack_drop(ts, ack);
        postpone(ts, m, TROUBLE_MS);
    } else {
        log_warn("notifier", "outcome_unwritten", "sub=%" PRId64 " rc=%s it is handed over again",
                 m->id, rc_name(rc));
        timer_start(ts, m, TROUBLE_MS);
    }
    check_drained(ts);
    turns_run(ts);
}

/* The turn has this outcome: have it written. */
static void settle(struct turns *ts, struct member *m, struct ack *ack)
{
    m->ack = ack;
    ack->member = m;
    turns_event(ts, m, ATTEMPT_SETTLED);
    acks_add(&ts->acks, ack, patience(ts, ack));
}

/* ---- turns ---------------------------------------------------------------------------------- */

/* Returns the member that has this turn; NULL: it has ended in the meantime. */
static struct member *turn_member(const struct turn *t)
{
    return t->ts->stopped ? NULL : t->member;
}

static void turn_end(struct turn *t, struct member *m, enum lanes_end end)
{
    if (m != NULL)
        m->turn = NULL;
    if (!t->ts->stopped)
        permit_end(&t->ts->owned, &t->permit);
    if (!t->ts->stopped)
        roster_done(&t->ts->roster, t->endpoint, end, watch_now(&t->ts->watch, clock_mono_ms()));
    rush_end(&t->ts->rush, t->moment);
    push_job_free(&t->job);
    mem_free(t);
}

/* Make the ack of an outcome. It takes over the permit, because the next owner of the slot must
 * find what was delivered. */
static struct ack *turn_ack(struct turn *t, const struct outcome *outcome)
{
    struct ack *ack = ack_new(&t->ts->acks, outcome);

    ack->permit = t->permit;
    t->permit.is_held = false;
    return ack;
}

/* Have the sink judge the answer; *why as it says, without secrets. */
static enum sink_verdict verdict_of(struct push_job *job, const struct carrier_answer *answer,
                                    struct str *why)
{
    enum sink_verdict verdict = job->sink->judge(job->arena, answer, why);

    if (answer->rc == RC_DENIED) /* the carrier does not know which option opens its guard */
        *why = str_concat(job->arena, *why, STR("; --allow-callback CIDR would open it"));
    if (verdict != SINK_DELIVERED)
        *why = mask_secrets(job->arena, job, *why);
    return verdict;
}

/* How long ago was what has been delivered stored? */
static void count_lag(const struct turns *ts, const struct push_job *job)
{
    int64_t at_us = job->first.seq != 0 ? job->first.at_us : job->news_at_us;

    if (at_us != 0 && job->dead == NULL)
        histogram_add(ts->lags, clock_now_us() - at_us);
}

/* Find the outcome that follows from the answer. */
static void judge(struct turn *t, const struct carrier_answer *answer, struct outcome *out)
{
    struct push_job *job = t->job;
    struct call_end end = {.status = answer->status,
                           .retry_after_s = answer->retry_after_s,
                           .pause_ms = answer->pause_ms,
                           .ms = clock_mono_ms() - t->mono_started,
                           .answer = answer->body,
                           .why = STR_NULL,
                           .n_taken = answer->n_taken};

    end.verdict = verdict_of(job, answer, &end.why);
    if (end.verdict == SINK_REFUSED) /* it is kept with the dead letter */
        end.answer = mask_secrets(job->arena, job, answer->body);
    log_debug("notifier", "push",
              "sub=%" PRId64 " feed=%" PRId64 " entries=%zu position=%" PRId64
              " status=%d ms=%" PRId64 " why=%s",
              job->sub_id, job->feed_id, job->n_entries, job->position, end.status, end.ms,
              log_quote(end.why));
    outcome_of_call(t->ts->cfg, job, &end, out);
    if (out->write.failed)
        stats_inc(STAT_push_failed_total);
    if (out->write.is_dead)
        stats_inc(STAT_push_dead_total);
    if (out->write.fault)
        stats_inc(STAT_push_fault_total);
    stats_add(STAT_push_entries_total, out->write.n_entries);
    if (end.verdict == SINK_DELIVERED || end.verdict == SINK_FAULT)
        count_lag(t->ts, job);
}

/* Returns the answer to be judged. A call that was cut counts as failed. */
static struct carrier_answer answer_of(const struct turn *t, const struct carrier_answer *answer)
{
    struct carrier_answer a = *answer;

    if (!t->is_cut || a.rc != RC_CLOSED)
        return a;
    a.rc = RC_TIMEOUT;
    a.err = arena_printf(t->job->arena, "%s; others wait, so it is called again with more time",
                         answer->err);
    return a;
}

/* A test has its answer. */
static void end_test(struct turn *t, struct member *m, const struct carrier_answer *answer,
                     enum lanes_end end)
{
    struct push_test_result res = {.rc = RC_OK, .answer = STR_NULL, .error = STR_NULL};
    struct push_test *test = m->test;
    struct turns *ts = t->ts;

    res.status = answer->status;
    if (answer->status != 0)
        res.answer =
            str_is_null(answer->body) ? STR("") : mask_secrets(t->job->arena, t->job, answer->body);
    if (end == LANES_CUT)
        res.error = STR("no answer came so far, and other endpoints wait");
    else if (verdict_of(t->job, answer, &res.error) == SINK_DELIVERED)
        end = LANES_ANSWERED;
    push_test_end(ts, test, &res);
    turn_end(t, m, end);
    turns_remove(ts, m);
}

/* The call has no outcome: try again after a pause. */
static void try_later(struct turns *ts, struct member *m, const struct carrier_answer *given)
{
    int64_t pause_ms = given->is_untried ? given->pause_ms : TROUBLE_MS;

    if (given->is_untried)
        m->n_halved = (uint8_t)outcome_halved(m->n_halved);
    postpone(ts, m, given->is_untried && m->is_asked ? 0 : pause_ms);
}

static void on_answer(void *ctx, const struct carrier_answer *given)
{
    struct turn *t = ctx;
    struct turns *ts = t->ts;
    struct carrier_answer answer = answer_of(t, given);
    struct member *m = turn_member(t);
    enum lanes_end end = t->is_cut && given->rc == RC_CLOSED ? LANES_CUT
                         : given->is_untried || t->is_lost   ? LANES_UNCALLED
                                                             : LANES_FAILED;
    struct outcome outcome;
    struct ack *ack = NULL;

    ts->n_calling--;
    stats_set(STAT_push_running, (int64_t)ts->n_calling);
    if (m != NULL && m->test != NULL) {
        end_test(t, m, &answer, end);
        check_drained(ts);
        turns_run(ts);
        return;
    }
    if (m != NULL && answer.rc != RC_CLOSED && !answer.is_untried) {
        judge(t, &answer, &outcome);
        ack = turn_ack(t, &outcome);
        if (outcome.hold_ms > 0)
            turns_hold(ts, t->endpoint, outcome.hold_ms);
    }
    if (ack != NULL && !outcome.write.failed)
        end = LANES_ANSWERED;
    turn_end(t, m, end);
    if (ack != NULL)
        settle(ts, m, ack);
    else if (m != NULL)
        try_later(ts, m, given);
    if (ts->stopped)
        return;
    check_drained(ts);
    turns_run(ts);
}

/* Cancel the call. The turn ends when the carrier has called back. */
static void call_cancel(struct turn *t)
{
    carriers_cancel(&t->ts->carriers, sink_carrier(t->job->sink), t->call);
}

/* Cut off the calls whose slots another node may have. */
static void cut_lost(struct turns *ts)
{
    bool is_gap = owned_is_gap(&ts->owned, ts->watch.looked_ms);
    struct turn *t;

    for (struct endpoint *e = roster_busy(&ts->roster, NULL); e != NULL && ts->owned.is_shared;
         e = roster_busy(&ts->roster, e)) {
        t = e->turn;
        if (t->call == 0 || t->is_lost || !t->permit.is_held)
            continue;
        if (!is_gap && permit_is_good(&ts->owned, &t->permit))
            continue;
        t->is_lost = true;
        stats_inc(STAT_push_cut_total);
        call_cancel(t);
    }
}

/* Cut calls that take too long, so that others get a turn. */
static void on_look(void *ctx)
{
    struct turns *ts = ctx;
    struct endpoint *e;
    int64_t now_ms;

    cut_lost(ts);
    now_ms = watch_look(&ts->watch, clock_mono_ms());

    ts->look = NULL;
    while ((e = roster_look(&ts->roster, now_ms)) != NULL) {
        e->turn->is_cut = true;
        stats_inc(STAT_push_cut_total);
        call_cancel(e->turn);
    }
    if (ts->n_calling > 0)
        ts->look = loop_timer_start(ts->loop, WATCH_LOOK_MS, on_look, ts);
    turns_run(ts);
}

static void call_start(struct turns *ts, struct turn *t)
{
    struct push_job *job = t->job;

    ts->n_calling++;
    stats_inc(STAT_push_total);
    stats_add(STAT_push_drawn_total, (int64_t)job->n_entries);
    stats_set(STAT_push_running, (int64_t)ts->n_calling);
    t->mono_started = clock_mono_ms();
    if (ts->look == NULL) {
        watch_start(&ts->watch, t->mono_started);
        ts->look = loop_timer_start(ts->loop, WATCH_LOOK_MS, on_look, ts);
    }
    lanes_called(&t->endpoint->lane, watch_now(&ts->watch, t->mono_started));
    t->call = carriers_send(&ts->carriers, sink_carrier(job->sink), &job->load,
                            str_from(t->endpoint->url), job->credential, on_answer, t);
}

/* Was the delivery drawn for another endpoint than that of the turn? Then somebody has changed it
 * just now. What is meant for the new one, its password above all, must not go to the old one. The
 * commit notice follows, and with it the turn of the new one. */
static bool is_of_other(const struct turn *t)
{
    const struct push_job *job = t->job;

    return job->sub != NULL && !str_is_null(job->sub->endpoint) &&
           !str_eq(job->sub->endpoint, str_from(t->endpoint->url));
}

/* The job of a turn has been read. */
static void start(struct turns *ts, struct turn *t)
{
    struct push_job *job = t->job;
    struct member *m = turn_member(t);
    enum push_found found = is_of_other(t) ? PUSH_NOTHING : job->found;
    struct outcome outcome;
    struct ack *ack = NULL;

    if (m != NULL && found == PUSH_READY && !ts->stopping &&
        permit_is_good(&ts->owned, &t->permit)) {
        turns_event(ts, m, ATTEMPT_FOUND);
        call_start(ts, t);
        return;
    }
    if (m != NULL && (found == PUSH_SKIP || found == PUSH_UNSENDABLE)) {
        if (found == PUSH_SKIP)
            outcome_of_skip(job, &outcome);
        else
            outcome_of_unsendable(ts->cfg, job, &outcome);
        ack = turn_ack(t, &outcome);
    }
    if (m != NULL && found == PUSH_UNREAD)
        log_warn("notifier", "unread", "sub=%" PRId64 " error=%s tried again", job->sub_id,
                 log_quote(str_from(job->err.text)));
    turn_end(t, m, LANES_UNCALLED);
    if (ack != NULL)
        settle(ts, m, ack);
    else if (m != NULL && found == PUSH_NOTHING)
        turns_event(ts, m, ATTEMPT_NOTHING);
    else if (m != NULL && found == PUSH_SUSPENDED)
        turns_event(ts, m, ATTEMPT_GAVE_UP);
    else if (m != NULL && found == PUSH_ENDED)
        turns_remove(ts, m);
    else if (m != NULL)
        postpone(ts, m, found == PUSH_LATER ? 0 : TROUBLE_MS);
}

/* The jobs have come back from their reader. */
static void on_read(void *ctx)
{
    struct turns_read *read = ctx;
    struct turns *ts = read->ts;

    ts->n_reads--;
    for (size_t i = 0; i < read->n; i++)
        start(ts, read->turns[i]);
    mem_free(read);
    if (ts->stopped)
        return;
    check_drained(ts);
    turns_run(ts); /* another read may start */
}

/* On a reader thread. */
static void read_next(void *ctx, struct reader *r)
{
    struct turns_read *read = ctx;
    struct push_job *jobs[READ_MAX];

    for (size_t i = 0; i < read->n; i++)
        jobs[i] = read->turns[i]->job;
    push_jobs_read(jobs, read->n, r);
    loop_post(read->ts->loop, on_read, read);
}

static void on_again(void *ctx)
{
    struct turns *ts = ctx;

    ts->again = NULL;
    turns_run(ts);
}

/* The endpoint of a test has its turn. There is nothing to read any more. */
static void start_test(struct turns *ts, struct turn *t, struct member *m)
{
    t->job = push_test_take_job(m->test);
    t->job->load.is_asked = true;
    turns_event(ts, m, ATTEMPT_TURN);
    turns_event(ts, m, ATTEMPT_FOUND);
    call_start(ts, t);
}

static struct turn *turn_new(struct turns *ts, struct member *m)
{
    struct turn *t = NEW(struct turn);

    t->ts = ts;
    t->endpoint = m->endpoint;
    t->moment = rush_begin(&ts->rush);
    t->endpoint->turn = t;
    t->member = m;
    m->turn = t;
    return t;
}

/* The endpoint has its turn, but may not be called yet. */
static void give_back(struct turns *ts, struct turn *t, int64_t wait_ms)
{
    struct member *m = t->member;

    turns_event(ts, m, ATTEMPT_TURN);
    turn_end(t, m, LANES_UNCALLED);
    postpone(ts, m, wait_ms);
}

static void on_rested(void *ctx)
{
    struct turns *ts = ctx;

    ts->rested = NULL;
    turns_run(ts);
}

/* Start turns for one job of a reader, as many as there is room for. */
static void take_turns(struct turns *ts, struct turns_read *read)
{
    int64_t now_ms = clock_mono_ms(), wait_ms;
    struct member *m;
    struct turn *t;

    while (read->n < READ_MAX && rush_room(&ts->rush, now_ms) > 0 &&
           (m = roster_next(&ts->roster)) != NULL) {
        t = turn_new(ts, m);
        if (m->test != NULL) {
            start_test(ts, t, m);
            continue;
        }
        if (!permit_get(&ts->owned, str_from(m->endpoint->url), &t->permit, &wait_ms)) {
            give_back(ts, t, wait_ms);
            continue;
        }
        t->job = push_job_new(&ts->jobs, m->id);
        t->job->n_halved = m->n_halved;
        t->job->load.is_asked = m->is_asked;
        m->is_asked = false;
        read->turns[read->n++] = t;
        turns_event(ts, m, ATTEMPT_TURN);
    }
    if (rush_room(&ts->rush, now_ms) == 0 && ts->rested == NULL)
        ts->rested = loop_timer_start(ts->loop, RUSH_MS, on_rested, ts);
}

/* The readers have no room. */
static void put_back(struct turns *ts, struct turns_read *read)
{
    for (size_t i = 0; i < read->n; i++) {
        struct turn *t = read->turns[i];
        struct member *m = turn_member(t);

        m->is_asked |= t->job->load.is_asked;
        turn_end(t, m, LANES_UNCALLED);
        postpone(ts, m, FULL_MS);
    }
    mem_free(read);
    ts->again = loop_timer_start(ts->loop, FULL_MS, on_again, ts);
}

/* Start as many turns as there is room for. */
static void run(struct turns *ts)
{
    struct turns_read *read;

    ts->owned.lapse_ms = ts->cfg->timeout_ms;
    while (!ts->stopping && ts->again == NULL && ts->n_reads < READS_MAX) {
        read = NEW(struct turns_read);
        read->ts = ts;
        take_turns(ts, read);
        if (read->n == 0) {
            mem_free(read);
            return;
        }
        if (store_read(ts->cfg->store, read_next, read) == RC_OK)
            ts->n_reads++;
        else
            put_back(ts, read);
    }
}

static void on_soon(void *ctx)
{
    struct turns *ts = ctx;

    ts->soon = NULL;
    turns_forget_left(ts);
    run(ts);
    stats_add(STAT_work_pending, -1);
}

void turns_run(struct turns *ts)
{
    if (ts->soon != NULL || ts->stopping)
        return;
    ts->soon = loop_timer_start(ts->loop, 0, on_soon, ts);
    stats_inc(STAT_work_pending);
}

/* ---- removal -------------------------------------------------------------------------------- */

void turns_remove(struct turns *ts, struct member *m)
{
    timer_cancel(m);
    if (m->turn != NULL) {
        m->turn->member = NULL;
        if (m->turn->call != 0)
            call_cancel(m->turn);
    }
    if (m->ack != NULL) {
        m->ack->member = NULL;
        if (m->ack->state == ACK_HERE)
            ack_drop(ts, m->ack);
    }
    if (m->endpoint->n_members == 1 && roster_is_full(&ts->roster))
        turns_let_go(ts, m->endpoint);
    roster_del(&ts->roster, m);
}

struct member *turns_move(struct turns *ts, struct member *m, struct str endpoint, bool is_failing)
{
    struct ack *ack = m->ack;
    int64_t id = m->id;

    m->ack = NULL;
    turns_remove(ts, m);
    m = turns_add(ts, id, endpoint, is_failing);
    if (ack == NULL)
        return m;
    m->ack = ack;
    ack->member = m;
    turns_event(ts, m, ATTEMPT_SETTLED);
    if (ack->state == ACK_HERE)
        timer_start(ts, m, FULL_MS);
    return m;
}

/* ---- life cycle ----------------------------------------------------------------------------- */

void turns_init(struct turns *ts, const struct notifier_cfg *cfg)
{
    pthread_condattr_t attr;

    *ts = (struct turns){.cfg = cfg, .carriers = {.env = {.cfg = cfg}}};
    ts->lags = histogram_series(HISTOGRAM_store_to_push_seconds, NULL, NULL);
    push_jobs_init(&ts->jobs, cfg);
    TAILQ_INIT(&ts->tests);
    owned_init(&ts->owned, cfg->nodes,
               cfg->component == NULL ? STR_NULL : component_name(cfg->component));
    ts->owned.lapse_ms = cfg->timeout_ms;
    roster_init(&ts->roster, (size_t)cfg->max_calls);
    ts->holds = holds_new();
    pthread_mutex_init(&ts->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&ts->drained, &attr);
    pthread_condattr_destroy(&attr);
}

void turns_release(struct turns *ts)
{
    roster_release(&ts->roster);
    holds_free(&ts->holds);
    mem_free(ts->leaving);
    push_jobs_release(&ts->jobs);
    pthread_mutex_destroy(&ts->lock);
    pthread_cond_destroy(&ts->drained);
}

void turns_start(struct turns *ts, struct loop *loop, struct http_client *client)
{
    ts->loop = loop;
    ts->carriers.env.loop = loop;
    ts->carriers.env.http = client;
    acks_init(&ts->acks, ts->cfg->store, loop, on_ack, ts);
}

void turns_drain(struct turns *ts)
{
    ts->stopping = true;
    check_drained(ts);
}

void turns_wait_drained(struct turns *ts, const struct timespec *until)
{
    pthread_mutex_lock(&ts->lock);
    while (!ts->is_drained && pthread_cond_timedwait(&ts->drained, &ts->lock, until) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&ts->lock);
}

void turns_stop(struct turns *ts)
{
    struct str key;
    void *it = NULL, *value;

    ts->stopped = true;
    carriers_close(&ts->carriers);
    if (ts->again != NULL)
        loop_timer_cancel(&ts->again);
    if (ts->look != NULL)
        loop_timer_cancel(&ts->look);
    if (ts->rested != NULL)
        loop_timer_cancel(&ts->rested);
    if (ts->soon != NULL) {
        loop_timer_cancel(&ts->soon);
        stats_add(STAT_work_pending, -1);
    }
    acks_stop(&ts->acks);
    turns_forget_holds(ts);
    while (map_next(&ts->roster.members, &it, &key, &value)) {
        struct member *m = value;

        timer_cancel(m);
        if (m->ack != NULL && m->ack->state != ACK_AT_STORER)
            ack_free(m->ack);
        m->ack = NULL;
    }
}
