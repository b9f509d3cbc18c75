/* notifier/turns.c - see turns.h. */
#include "notifier/turns.h"

#include <errno.h>
#include <inttypes.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "notifier/outcomes.h"

#define READS_MAX 16    /* reads at the readers at once; requests of the API wait for these reads */
#define FULL_MS 50      /* pause when the readers or the storer have no room */
#define TROUBLE_MS 1000 /* pause when the database fails */
#define LOOK_MS 25      /* between checks for calls that take too long */

/* A turn, from its start to the end of the call. */
struct turn {
    struct turns *ts;
    struct endpoint *endpoint; /* busy */
    struct push_job *job;
    int64_t member_id;    /* of the subscription, or of a test */
    uint64_t call;        /* the carrier's number of the call; 0: not started */
    int64_t mono_started; /* ms */
    bool is_cut;          /* it took too long while others waited, and was cancelled */
};

/* The outcome of a turn, on its way to the database. */
struct ack {
    struct turns *ts;
    struct outcome outcome; /* strings: in `arena` */
    struct arena arena;
    bool at_storer; /* the storer has it; only its answer frees this struct */
    enum rc rc;     /* the storer's answer */
};

static void write_ack(struct turns *ts, struct member *m);

/* ---- states ------------------------------------------------------------------------------- */

/* A member's timer has fired: the pause is over, or the outcome must be given to the storer
 * again. */
static void on_member_timer(void *ctx)
{
    struct member *m = ctx;
    struct turns *ts = m->turns;

    m->timer = NULL;
    if (m->state == ATTEMPT_ACKING)
        write_ack(ts, m);
    else
        turns_event(ts, m, ATTEMPT_PAUSE_OVER);
    turns_run(ts);
}

static void timer_start(struct turns *ts, struct member *m, int64_t ms)
{
    ASSERT(m->timer == NULL);
    m->timer = loop_timer_start(ts->loop, ms, on_member_timer, m);
}

static void timer_cancel(struct member *m)
{
    if (m->timer != NULL)
        loop_timer_cancel(&m->timer);
    m->timer = NULL;
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
    m->pause_ms = ms;
    turns_event(ts, m, ATTEMPT_POSTPONED);
}

static void check_drained(struct turns *ts)
{
    if (!ts->stopping || ts->n_reading + ts->n_calling + ts->n_acks > 0)
        return;
    pthread_mutex_lock(&ts->lock);
    ts->is_drained = true;
    pthread_mutex_unlock(&ts->lock);
    pthread_cond_signal(&ts->drained);
}

/* ---- outcomes ------------------------------------------------------------------------------- */

static struct str keep(struct ack *ack, struct str s)
{
    return str_is_null(s) ? s : str_dup(&ack->arena, s);
}

/* Keep the outcome until it is written. Its strings are copied, as the job ends before that. */
static struct ack *ack_new(struct turns *ts, const struct outcome *outcome)
{
    struct ack *ack = NEW(struct ack);
    struct push_outcome *w = &ack->outcome.write;

    ack->ts = ts;
    ack->outcome = *outcome;
    w->endpoint = keep(ack, w->endpoint);
    w->error = keep(ack, w->error);
    w->note.error = w->error;
    w->dead.uid = keep(ack, w->dead.uid);
    w->dead.answer = keep(ack, w->dead.answer);
    ts->n_acks++;
    return ack;
}

static void ack_free(struct ack *ack)
{
    ack->ts->n_acks--;
    arena_release(&ack->arena);
    mem_free(ack);
}

/* Deliveries after a refusal are small, up to the end of what was refused. */
static void set_limit(struct member *m, const struct outcome *o)
{
    if (o->limit_until != 0) {
        m->limit = o->limit;
        m->limit_until = o->limit_until > m->limit_until ? o->limit_until : m->limit_until;
    } else if (o->limit != 0) {
        m->limit = o->limit;
    }
    if (o->write.position >= m->limit_until && o->write.position != 0)
        m->limit = 0;
    if (m->limit == 0)
        m->limit_until = 0;
}

/* Returns what an outcome means for the state when news came in the meantime: after "nothing is
 * left" and "suspended" it looks again. */
static enum attempt_event with_news(enum attempt_event event)
{
    return event == ATTEMPT_DRAINED || event == ATTEMPT_GAVE_UP ? ATTEMPT_DELIVERED : event;
}

/* The storer has answered. Runs on the loop. */
static void on_written(void *ctx)
{
    struct ack *ack = ctx;
    struct turns *ts = ack->ts;
    struct member *m = ts->stopped ? NULL : roster_find(&ts->roster, ack->outcome.write.sub_id);

    ack->at_storer = false;
    if (m == NULL || m->ack != ack) { /* it has ended in the meantime */
        ack_free(ack);
    } else if (ack->rc == RC_OK) {
        m->ack = NULL;
        m->pause_ms = ack->outcome.pause_ms;
        set_limit(m, &ack->outcome);
        if (ack->outcome.write.ended)
            log_info("notifier", "hub_ended", "sub=%" PRId64 " callback=%s error=%s", m->id,
                     log_quote(str_from(m->endpoint->url)), log_quote(ack->outcome.write.error));
        else if (ack->outcome.event == ATTEMPT_GAVE_UP)
            log_warn("notifier", "suspended",
                     "sub=%" PRId64 " endpoint=%s error=%s position is kept until it is resumed",
                     m->id, log_quote(str_from(m->endpoint->url)),
                     log_quote(ack->outcome.write.error));
        turns_event(ts, m, m->has_news ? with_news(ack->outcome.event) : ack->outcome.event);
        ack_free(ack);
    } else if (ack->rc == RC_NOT_FOUND) {
        turns_remove(ts, m);
    } else {
        log_warn("notifier", "outcome_unwritten", "sub=%" PRId64 " rc=%s it is handed over again",
                 m->id, rc_name(ack->rc));
        timer_start(ts, m, TROUBLE_MS);
    }
    check_drained(ts);
    if (!ts->stopped)
        turns_run(ts);
}

/* On the storer's thread. */
static void on_storer_answer(void *ctx, enum rc rc, const struct store_result *res UNUSED,
                             const struct err *err UNUSED)
{
    struct ack *ack = ctx;

    ack->rc = rc;
    loop_post(ack->ts->loop, on_written, ack);
}

static void write_ack(struct turns *ts, struct member *m)
{
    struct ack *ack = m->ack;
    enum rc rc;

    ack->at_storer = true; /* set before the call, because the answer may come before it returns */
    rc = store_push_outcome(ts->cfg->store, &ack->outcome.write, on_storer_answer, ack);
    if (rc == RC_OK)
        return;
    ack->at_storer = false;
    if (rc != RC_CLOSED) {
        timer_start(ts, m, FULL_MS);
        return;
    }
    m->ack = NULL; /* the position does not move, so it is delivered again after the next start */
    ack_free(ack);
    postpone(ts, m, TROUBLE_MS);
}

/* The turn has this outcome: have it written. */
static void settle(struct turns *ts, struct member *m, struct ack *ack)
{
    m->ack = ack;
    turns_event(ts, m, ATTEMPT_SETTLED);
    write_ack(ts, m);
}

/* ---- turns ---------------------------------------------------------------------------------- */

/* Returns the member that has this turn; NULL: it has ended in the meantime. */
static struct member *turn_member(const struct turn *t)
{
    struct member *m = t->ts->stopped ? NULL : roster_find(&t->ts->roster, t->member_id);

    return m != NULL && m->turn == t ? m : NULL;
}

static void turn_end(struct turn *t, struct member *m, enum lanes_end end)
{
    if (m != NULL)
        m->turn = NULL;
    if (!t->ts->stopped)
        roster_done(&t->ts->roster, t->endpoint, end, clock_mono_ms());
    push_job_free(&t->job);
    mem_free(t);
}

/* Have the sink judge the answer; *why as it says. */
static enum sink_verdict verdict_of(struct push_job *job, const struct carrier_answer *answer,
                                    struct str *why)
{
    enum sink_verdict verdict = job->sink->judge(job->arena, answer, why);

    if (answer->rc == RC_DENIED) /* the carrier does not know which option opens its guard */
        *why = str_concat(job->arena, *why, STR("; --allow-callback CIDR would open it"));
    return verdict;
}

/* Find the outcome that follows from the answer. */
static void judge(struct turn *t, const struct carrier_answer *answer, struct outcome *out)
{
    struct push_job *job = t->job;
    struct call_end end = {.status = answer->status,
                           .retry_after_s = answer->retry_after_s,
                           .ms = clock_mono_ms() - t->mono_started,
                           .answer = answer->body,
                           .why = STR_NULL,
                           .n_taken = answer->n_taken};

    end.verdict = verdict_of(job, answer, &end.why);
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
}

/* Returns the answer to be judged. A call that was cut counts as failed. */
static struct carrier_answer answer_of(const struct turn *t, const struct carrier_answer *answer)
{
    struct carrier_answer a = *answer;

    if (!t->is_cut || a.rc != RC_CLOSED)
        return a;
    a.rc = RC_TIMEOUT;
    a.err = "no answer came so far, and others wait: it is called again with more time";
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
        res.answer = str_is_null(answer->body) ? STR("") : answer->body;
    if (end == LANES_CUT)
        res.error = STR("no answer came so far, and other endpoints wait");
    else if (verdict_of(t->job, answer, &res.error) == SINK_DELIVERED)
        end = LANES_ANSWERED;
    push_test_end(ts, test, &res);
    turn_end(t, m, end);
    turns_remove(ts, m);
}

static void on_answer(void *ctx, const struct carrier_answer *given)
{
    struct turn *t = ctx;
    struct turns *ts = t->ts;
    struct carrier_answer answer = answer_of(t, given);
    struct member *m = turn_member(t);
    enum lanes_end end = t->is_cut && given->rc == RC_CLOSED ? LANES_CUT : LANES_FAILED;
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
    if (m != NULL && answer.rc != RC_CLOSED) {
        judge(t, &answer, &outcome);
        ack = ack_new(ts, &outcome);
    }
    if (ack != NULL && !outcome.write.failed)
        end = LANES_ANSWERED;
    turn_end(t, m, end);
    if (ack != NULL)
        settle(ts, m, ack);
    else if (m != NULL)
        postpone(ts, m, TROUBLE_MS);
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

/* Cut calls that take too long, so that others get a turn. */
static void on_look(void *ctx)
{
    struct turns *ts = ctx;
    struct endpoint *e;

    ts->look = NULL;
    while ((e = roster_look(&ts->roster, clock_mono_ms())) != NULL) {
        e->turn->is_cut = true;
        stats_inc(STAT_push_cut_total);
        call_cancel(e->turn);
    }
    if (ts->n_calling > 0)
        ts->look = loop_timer_start(ts->loop, LOOK_MS, on_look, ts);
    turns_run(ts);
}

static void call_start(struct turns *ts, struct turn *t)
{
    struct push_job *job = t->job;

    ts->n_calling++;
    stats_inc(STAT_push_total);
    stats_set(STAT_push_running, (int64_t)ts->n_calling);
    t->mono_started = clock_mono_ms();
    lanes_called(&t->endpoint->lane, t->mono_started);
    t->call = carriers_send(&ts->carriers, sink_carrier(job->sink), &job->load,
                            str_from(t->endpoint->url), job->credential, on_answer, t);
    if (ts->look == NULL)
        ts->look = loop_timer_start(ts->loop, LOOK_MS, on_look, ts);
}

/* The job has come back from its reader. */
static void on_read(void *ctx)
{
    struct turn *t = ctx;
    struct turns *ts = t->ts;
    struct push_job *job = t->job;
    struct member *m = turn_member(t);
    enum push_found found = job->found;
    struct outcome outcome;
    struct ack *ack = NULL;

    ts->n_reading--;
    if (m != NULL && found == PUSH_READY && !ts->stopping) {
        turns_event(ts, m, ATTEMPT_FOUND);
        call_start(ts, t);
        turns_run(ts); /* another read may start */
        return;
    }
    if (m != NULL && (found == PUSH_SKIP || found == PUSH_UNSENDABLE)) {
        if (found == PUSH_SKIP)
            outcome_of_skip(job, &outcome);
        else
            outcome_of_unsendable(ts->cfg, job, &outcome);
        ack = ack_new(ts, &outcome);
    }
    if (m != NULL && found == PUSH_UNREAD)
        log_warn("notifier", "unread", "sub=%" PRId64 " error=%s tried again", job->sub_id,
                 log_quote(str_from(job->err.text)));
    turn_end(t, m, LANES_UNCALLED);
    if (ts->stopped)
        return;
    if (ack != NULL)
        settle(ts, m, ack);
    else if (m != NULL && found == PUSH_NOTHING)
        turns_event(ts, m, ATTEMPT_NOTHING);
    else if (m != NULL && found == PUSH_SUSPENDED)
        turns_event(ts, m, ATTEMPT_GAVE_UP);
    else if (m != NULL && found == PUSH_ENDED)
        turns_remove(ts, m);
    else if (m != NULL)
        postpone(ts, m, TROUBLE_MS);
    check_drained(ts);
    turns_run(ts);
}

/* On a reader thread. */
static void read_next(void *ctx, struct reader *r)
{
    struct turn *t = ctx;

    push_job_read(t->job, r);
    loop_post(t->ts->loop, on_read, t);
}

static void on_again(void *ctx)
{
    struct turns *ts = ctx;

    ts->again = NULL;
    turns_run(ts);
}

static bool has_room(const struct turns *ts)
{
    return !ts->stopping && ts->again == NULL && ts->n_reading < READS_MAX;
}

/* The endpoint of a test has its turn. There is nothing to read any more. */
static void start_test(struct turns *ts, struct turn *t, struct member *m)
{
    t->job = push_test_take_job(m->test);
    turns_event(ts, m, ATTEMPT_TURN);
    turns_event(ts, m, ATTEMPT_FOUND);
    call_start(ts, t);
}

void turns_run(struct turns *ts)
{
    struct member *m;
    struct turn *t;

    while (has_room(ts) && (m = roster_next(&ts->roster)) != NULL) {
        t = NEW(struct turn);
        t->ts = ts;
        t->endpoint = m->endpoint;
        t->endpoint->turn = t;
        t->member_id = m->id;
        m->turn = t;
        if (m->test != NULL) {
            start_test(ts, t, m);
            continue;
        }
        t->job = push_job_new(ts->cfg, ts->bodies, m->id, m->limit);
        ts->n_reading++;
        turns_event(ts, m, ATTEMPT_TURN);
        if (store_read(ts->cfg->store, read_next, t) == RC_OK)
            continue;
        ts->n_reading--;
        turn_end(t, m, LANES_UNCALLED);
        postpone(ts, m, FULL_MS);
        ts->again = loop_timer_start(ts->loop, FULL_MS, on_again, ts);
    }
}

/* ---- removal -------------------------------------------------------------------------------- */

void turns_remove(struct turns *ts, struct member *m)
{
    timer_cancel(m);
    if (m->turn != NULL && m->turn->call != 0)
        call_cancel(m->turn);
    if (m->ack != NULL && !m->ack->at_storer)
        ack_free(m->ack);
    roster_del(&ts->roster, m);
}

/* ---- life cycle ----------------------------------------------------------------------------- */

void turns_init(struct turns *ts, const struct notifier_cfg *cfg)
{
    pthread_condattr_t attr;

    *ts = (struct turns){.cfg = cfg, .carriers = {.env = {.cfg = cfg}}, .bodies = bodies_new()};
    TAILQ_INIT(&ts->tests);
    roster_init(&ts->roster, (size_t)cfg->max_calls);
    pthread_mutex_init(&ts->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&ts->drained, &attr);
    pthread_condattr_destroy(&attr);
}

void turns_release(struct turns *ts)
{
    roster_release(&ts->roster);
    bodies_free(&ts->bodies);
    pthread_mutex_destroy(&ts->lock);
    pthread_cond_destroy(&ts->drained);
}

void turns_start(struct turns *ts, struct loop *loop, struct http_client *client)
{
    ts->loop = loop;
    ts->carriers.env.loop = loop;
    ts->carriers.env.http = client;
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
    while (map_next(&ts->roster.members, &it, &key, &value)) {
        struct member *m = value;

        timer_cancel(m);
        if (m->ack != NULL && !m->ack->at_storer)
            ack_free(m->ack);
        m->ack = NULL;
    }
}
