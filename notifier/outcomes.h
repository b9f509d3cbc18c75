/* notifier/outcomes.h - what follows from the answer to a delivery: what is written, and when the
 * subscription is tried again.
 *
 * Pure, but for the clock and chance; any thread. docs/delivery.md, "What each answer means", says
 * the rules.
 */
#pragma once

#include "notifier/attempt.h"
#include "notifier/push_job.h"
#include "storage/pushes.h"

struct notifier_cfg;

#define REFUSALS_SPREAD_S 60 /* between the first refusal of an entry alone and the last one */
#define RETRY_AFTER_MAX_S (24 * 3600)

struct outcome {
    struct push_outcome write; /* strings: in the job's arena, or static */
    enum attempt_event event;  /* once it is written */
    int64_t pause_ms;          /* then, before the next try */
    int64_t hold_ms;           /* from now on the endpoint wants no call for so long; 0: it did not
                                  say so */
};

/* What is known of a call that has ended. */
struct call_end {
    enum sink_verdict verdict;
    int status;            /* 0: no answer */
    int64_t retry_after_s; /* < 0: the endpoint did not say */
    int64_t pause_ms;      /* the carrier can make no such call before; 0: it can */
    int64_t ms;            /* how long it took */
    struct str answer;     /* bytes of the answer; may be null */
    struct str why;        /* unless it was delivered */
    size_t n_taken;        /* unless it was delivered: so many of the first entries were taken */
};

/* The call of this job has ended. */
void outcome_of_call(const struct notifier_cfg *cfg, const struct push_job *job,
                     const struct call_end *end, struct outcome *out);

/* Returns how often a run of messages to a broker is halved after this outcome, when it was halved
 * `n` times before: once more after a failure, once less after a success. A broker that does not
 * confirm so many in time would otherwise get them all again and again, and never be done. */
#define HALVED_MAX 10
int outcome_halvings(const struct outcome *o, int n);

/* Returns the same after a delivery that was read and then not tried, because its broker has a
 * pause. So what is read for a broker that is away for long becomes one message. */
int outcome_halved(int n);

/* There was no call: nothing is to be delivered up to job->position. */
void outcome_of_skip(const struct push_job *job, struct outcome *out);

/* There was no call: what is next can never be sent, job->err says why. */
void outcome_of_unsendable(const struct notifier_cfg *cfg, const struct push_job *job,
                           struct outcome *out);
