/* notifier/dispatch.c - turns: read what is next, call the endpoint, have the outcome written. */
#include "notifier/dispatch.h"

#include <inttypes.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "notifier/backoff.h"

#define READS_MAX 16    /* at the readers at once: requests wait behind them */
#define FULL_MS 50      /* pause when the readers or the storer have no room */
#define TROUBLE_MS 1000 /* pause when the database fails */
#define SUSPECT_MS 2000 /* an endpoint that takes longer to answer is slow */
#define CONNECT_MS 10000

static void write_ack(struct notifier *n, struct member *m);

/* ---- states ------------------------------------------------------------------------------- */

/* A member's timer: the pause is over, or the outcome is to be handed over again. */
static void on_member_timer(void *ctx)
{
    struct member *m = ctx;
    struct notifier *n = m->notifier;

    m->timer = NULL;
    if (m->state == ATTEMPT_ACKING)
        write_ack(n, m);
    else
        dispatch_event(n, m, ATTEMPT_PAUSE_OVER);
    dispatch_run(n);
}

static void timer_start(struct notifier *n, struct member *m, int64_t ms)
{
    ASSERT(m->timer == NULL);
    m->timer = loop_timer_start(n->loop, ms, on_member_timer, m);
}

static void timer_cancel(struct member *m)
{
    if (m->timer != NULL)
        loop_timer_cancel(&m->timer);
    m->timer = NULL;
}

void dispatch_event(struct notifier *n, struct member *m, enum attempt_event event)
{
    enum attempt_state from = m->state, to = attempt_next(from, event);

    if (event == ATTEMPT_NEWS || event == ATTEMPT_RESUMED || event == ATTEMPT_TURN)
        m->news = event != ATTEMPT_TURN;
    if (to == from)
        return;
    if (from == ATTEMPT_DUE && event != ATTEMPT_TURN) /* a turn has taken it out already */
        roster_undue(&n->roster, m);
    if (from == ATTEMPT_WAITING)
        timer_cancel(m);
    m->state = to;
    if (to == ATTEMPT_DUE)
        roster_due(&n->roster, m);
    if (to == ATTEMPT_WAITING)
        timer_start(n, m, m->pause_ms);
}

static void postpone(struct notifier *n, struct member *m, int64_t ms)
{
    m->pause_ms = ms;
    dispatch_event(n, m, ATTEMPT_POSTPONED);
}

void dispatch_check_drained(struct notifier *n)
{
    if (!n->stopping || n->n_reading + n->n_calling + n->n_acks > 0)
        return;
    pthread_mutex_lock(&n->lock);
    n->is_drained = true;
    pthread_mutex_unlock(&n->lock);
    pthread_cond_signal(&n->drained);
}

/* ---- outcomes ------------------------------------------------------------------------------- */

static struct ack *ack_new(struct notifier *n, const struct push_job *job)
{
    struct ack *ack = NEW(struct ack);

    ack->n = n;
    ack->event = ATTEMPT_DELIVERED;
    ack->from_position = job->sub->position;
    ack->outcome = (struct push_outcome){
        .sub_id = job->sub_id, .next_try_at = TIME_UNKNOWN, .state = SUB_ACTIVE};
    n->n_acks++;
    return ack;
}

static void ack_free(struct ack *ack)
{
    ack->n->n_acks--;
    mem_free(ack->error);
    mem_free(ack);
}

static void ack_tell(struct ack *ack, struct str why)
{
    ack->error = mem_strndup(why.ptr == NULL ? "" : why.ptr, why.len);
    ack->outcome.error = str_of(ack->error, why.len);
}

static struct ack *ack_delivered(struct notifier *n, const struct push_job *job)
{
    struct ack *ack = ack_new(n, job);

    if (job->is_last)
        ack->event = ATTEMPT_DRAINED;
    ack->outcome.position = job->position;
    ack->outcome.n_entries = (int64_t)job->n_entries;
    return ack;
}

/* `at_once`: the endpoint wants no more, so it is not tried again. */
static struct ack *ack_failed(struct notifier *n, const struct push_job *job, struct str why,
                              bool at_once)
{
    struct backoff b = {n->cfg.first_retry_ms, n->cfg.max_retry_ms};
    struct ack *ack = ack_new(n, job);
    const struct subscription *sub = job->sub;
    int64_t now = clock_now_s();
    int64_t failing_s = sub->failing_since == TIME_UNKNOWN ? 0 : now - sub->failing_since;
    int n_failures = sub->n_failures + 1;
    uint32_t random;

    ack_tell(ack, why);
    ack->outcome.failed = true;
    if (at_once ||
        (!job->is_leased && backoff_is_over(&b, n_failures, failing_s, n->cfg.suspend_after_s))) {
        ack->event = ATTEMPT_GAVE_UP;
        ack->outcome.state = SUB_SUSPENDED;
        ack->outcome.ended = job->is_leased;
        return ack;
    }
    digest_random(&random, sizeof random);
    ack->event = ATTEMPT_FAILED;
    ack->pause_ms = backoff_pause_ms(&b, n_failures, random);
    ack->outcome.next_try_at = now + (ack->pause_ms + 999) / 1000;
    return ack;
}

/* The storer answered, and its answer has come to the loop. */
static void on_written(void *ctx)
{
    struct ack *ack = ctx;
    struct notifier *n = ack->n;
    struct member *m = n->stopped ? NULL : roster_find(&n->roster, ack->outcome.sub_id);

    ack->at_storer = false;
    if (m == NULL || m->ack != ack) { /* ended meanwhile */
        ack_free(ack);
    } else if (ack->rc == RC_OK) {
        m->ack = NULL;
        m->pause_ms = ack->pause_ms;
        if (ack->outcome.ended)
            log_info("notifier", "hub_ended", "sub=%" PRId64 " callback=%s error=%s", m->id,
                     log_quote(str_from(m->endpoint->url)), log_quote(ack->outcome.error));
        else if (ack->event == ATTEMPT_GAVE_UP)
            log_warn("notifier", "suspended",
                     "sub=%" PRId64 " endpoint=%s error=%s position is kept until it is resumed",
                     m->id, log_quote(str_from(m->endpoint->url)), log_quote(ack->outcome.error));
        dispatch_event(n, m,
                       ack->event == ATTEMPT_DRAINED && m->news ? ATTEMPT_DELIVERED : ack->event);
        ack_free(ack);
    } else if (ack->rc == RC_NOT_FOUND) {
        dispatch_remove(n, m);
    } else {
        log_warn("notifier", "outcome_unwritten", "sub=%" PRId64 " rc=%s it is handed over again",
                 m->id, rc_name(ack->rc));
        timer_start(n, m, TROUBLE_MS);
    }
    dispatch_check_drained(n);
    if (!n->stopped)
        dispatch_run(n);
}

/* On the storer's thread. */
static void on_storer_answer(void *ctx, enum rc rc, const struct store_result *res UNUSED,
                             const struct err *err UNUSED)
{
    struct ack *ack = ctx;

    ack->rc = rc;
    loop_post(ack->n->loop, on_written, ack);
}

static void write_ack(struct notifier *n, struct member *m)
{
    struct ack *ack = m->ack;
    enum rc rc;

    ack->at_storer = true; /* before the call: its answer may be quicker than the return */
    rc = store_push_outcome(n->cfg.store, &ack->outcome, on_storer_answer, ack);
    if (rc == RC_OK)
        return;
    ack->at_storer = false;
    if (rc != RC_CLOSED) {
        timer_start(n, m, FULL_MS);
        return;
    }
    m->ack = NULL; /* the position stays: it is pushed again after the next start */
    ack_free(ack);
    postpone(n, m, TROUBLE_MS);
}

/* The turn came to this outcome. */
static void settle(struct notifier *n, struct member *m, struct ack *ack)
{
    m->ack = ack;
    notifier_take_news(n);
    if (m->reload > n->reload_done)
        return; /* the subscription has changed just now: dispatch_reloaded() goes on */
    if (m->was_reloaded && m->position != ack->from_position) {
        ack->outcome.position = 0;
        if (ack->event == ATTEMPT_DRAINED)
            ack->event = ATTEMPT_DELIVERED;
    }
    dispatch_event(n, m, ATTEMPT_SETTLED);
    write_ack(n, m);
}

void dispatch_reloaded(struct notifier *n, struct member *m, uint64_t number, int64_t position)
{
    if (m->state == ATTEMPT_ACKING || number < m->turn_reload)
        return;
    m->was_reloaded = true;
    m->position = position;
    if (m->ack != NULL)
        settle(n, m, m->ack);
}

/* ---- turns ---------------------------------------------------------------------------------- */

/* The member that has this turn; NULL when it has ended meanwhile. */
static struct member *turn_member(const struct turn *t)
{
    struct member *m = t->n->stopped ? NULL : roster_find(&t->n->roster, t->job->sub_id);

    return m != NULL && m->turn == t ? m : NULL;
}

static void turn_end(struct turn *t, struct member *m, bool suspect)
{
    if (m != NULL)
        m->turn = NULL;
    if (!t->n->stopped)
        roster_done(&t->n->roster, t->endpoint, suspect);
    push_job_free(&t->job);
    mem_free(t);
}

/* What the answer means, as an outcome. */
static struct ack *judge(struct turn *t, enum rc rc, const struct http_answer *answer,
                         const struct err *err)
{
    struct push_job *job = t->job;
    struct str why = STR_NULL;
    enum sink_verdict verdict = job->sink->judge(job->arena, rc, answer, err, &why);
    int64_t ms = clock_mono_ms() - t->mono_started;
    struct ack *ack;

    if (rc == RC_DENIED) /* the client does not know which of the two lists it was given */
        why = str_concat(job->arena, why, STR("; --allow-callback CIDR would open it"));
    log_debug("notifier", "push",
              "sub=%" PRId64 " feed=%" PRId64 " entries=%zu position=%" PRId64
              " status=%d ms=%" PRId64 " why=%s",
              job->sub_id, job->feed_id, job->n_entries, job->position,
              answer == NULL ? 0 : answer->status, ms, log_quote(why));
    if (verdict == SINK_FAILED || verdict == SINK_GONE) {
        stats_inc(STAT_push_failed_total);
        return ack_failed(t->n, job, why, verdict == SINK_GONE);
    }
    stats_add(STAT_push_entries_total, (int64_t)job->n_entries);
    ack = ack_delivered(t->n, job);
    if (verdict == SINK_FAULT) {
        stats_inc(STAT_push_fault_total);
        ack->outcome.fault = true;
        ack_tell(ack, why);
    }
    return ack;
}

static void on_answer(void *ctx, enum rc rc, struct http_answer *answer, const struct err *err)
{
    struct turn *t = ctx;
    struct notifier *n = t->n;
    struct arena *arena = answer == NULL ? NULL : answer->arena;
    struct member *m = turn_member(t);
    bool suspect = rc == RC_TIMEOUT || clock_mono_ms() - t->mono_started > SUSPECT_MS;
    struct ack *ack = NULL;

    n->n_calling--;
    stats_set(STAT_push_running, (int64_t)n->n_calling);
    if (m != NULL && rc != RC_CLOSED)
        ack = judge(t, rc, answer, err);
    arena_free(&arena);
    turn_end(t, m, suspect);
    if (ack != NULL)
        settle(n, m, ack);
    else if (m != NULL)
        postpone(n, m, TROUBLE_MS);
    if (n->stopped)
        return;
    dispatch_check_drained(n);
    dispatch_run(n);
}

static void call_start(struct notifier *n, struct turn *t)
{
    struct push_job *job = t->job;
    struct http_call call = {
        .method = job->call.method,
        .url = str_from(t->endpoint->url),
        .credential = job->credential,
        .fields = job->call.fields,
        .n_fields = job->call.n_fields,
        .user_agent = str_from(n->cfg.user_agent),
        .body = sink_call_bytes(&job->call),
        .max_redirects = 0, /* an endpoint that has moved says so to its owner, not to us */
        .max_body = LIMIT_PUSH_ANSWER,
        .max_header = LIMIT_FETCH_HEADER,
        .timeout_ms = n->cfg.timeout_ms,
        .connect_timeout_ms = n->cfg.timeout_ms < CONNECT_MS ? n->cfg.timeout_ms : CONNECT_MS,
    };

    n->n_calling++;
    stats_inc(STAT_push_total);
    stats_set(STAT_push_running, (int64_t)n->n_calling);
    t->mono_started = clock_mono_ms();
    t->call = http_client_start(n->client, &call, on_answer, t);
}

/* The job has come back from its reader. */
static void on_read(void *ctx)
{
    struct turn *t = ctx;
    struct notifier *n = t->n;
    struct push_job *job = t->job;
    struct member *m = turn_member(t);
    enum push_found found = job->found;
    struct ack *ack = NULL;

    n->n_reading--;
    if (m != NULL && found == PUSH_CALL && !n->stopping) {
        dispatch_event(n, m, ATTEMPT_FOUND);
        call_start(n, t);
        dispatch_run(n); /* another read may start */
        return;
    }
    if (m != NULL && found == PUSH_SKIP)
        ack = ack_delivered(n, job);
    if (m != NULL && found == PUSH_UNSENDABLE)
        ack = ack_failed(n, job, str_from(job->err.text), false);
    if (m != NULL && found == PUSH_UNREAD)
        log_warn("notifier", "unread", "sub=%" PRId64 " error=%s tried again", job->sub_id,
                 log_quote(str_from(job->err.text)));
    turn_end(t, m, m != NULL && m->endpoint->suspect);
    if (n->stopped)
        return;
    if (ack != NULL)
        settle(n, m, ack);
    else if (m != NULL && found == PUSH_NOTHING)
        dispatch_event(n, m, ATTEMPT_NOTHING);
    else if (m != NULL && found == PUSH_SUSPENDED)
        dispatch_event(n, m, ATTEMPT_GAVE_UP);
    else if (m != NULL && found == PUSH_ENDED)
        dispatch_remove(n, m);
    else if (m != NULL)
        postpone(n, m, TROUBLE_MS);
    dispatch_check_drained(n);
    dispatch_run(n);
}

/* On a reader thread. */
static void read_next(void *ctx, struct reader *r)
{
    struct turn *t = ctx;

    push_job_read(t->job, r);
    loop_post(t->n->loop, on_read, t);
}

static void on_again(void *ctx)
{
    struct notifier *n = ctx;

    n->again = NULL;
    dispatch_run(n);
}

static bool has_room(const struct notifier *n)
{
    return !n->stopping && n->again == NULL && n->n_reading < READS_MAX &&
           n->n_reading + n->n_calling < (size_t)n->cfg.max_calls;
}

void dispatch_run(struct notifier *n)
{
    size_t max_suspect = ((size_t)n->cfg.max_calls + 1) / 2;
    struct member *m;
    struct turn *t;

    while (has_room(n) && (m = roster_next(&n->roster, max_suspect)) != NULL) {
        t = NEW(struct turn);
        t->n = n;
        t->endpoint = m->endpoint;
        t->job = push_job_new(m->id, n->cfg.max_entries, n->bodies);
        t->job->store = n->cfg.store;
        t->job->draw = n->cfg.draw;
        t->job->draw_ctx = n->cfg.draw_ctx;
        m->turn = t;
        m->turn_reload = n->collecting->number;
        m->was_reloaded = false;
        n->n_reading++;
        dispatch_event(n, m, ATTEMPT_TURN);
        if (store_read(n->cfg.store, read_next, t) == RC_OK)
            continue;
        n->n_reading--;
        turn_end(t, m, m->endpoint->suspect);
        postpone(n, m, FULL_MS);
        n->again = loop_timer_start(n->loop, FULL_MS, on_again, n);
    }
}

/* ---- ends ----------------------------------------------------------------------------------- */

void dispatch_remove(struct notifier *n, struct member *m)
{
    timer_cancel(m);
    if (m->turn != NULL && m->turn->call != 0)
        http_client_cancel(n->client, m->turn->call); /* the turn ends when that calls back */
    if (m->ack != NULL && !m->ack->at_storer)
        ack_free(m->ack);
    roster_del(&n->roster, m);
}

void dispatch_abandon(struct notifier *n)
{
    struct str key;
    void *it = NULL, *value;

    if (n->again != NULL)
        loop_timer_cancel(&n->again);
    while (map_next(&n->roster.members, &it, &key, &value)) {
        struct member *m = value;

        timer_cancel(m);
        if (m->ack != NULL && !m->ack->at_storer)
            ack_free(m->ack);
        m->ack = NULL;
    }
}
