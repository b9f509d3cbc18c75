/* fetcher/source.h - a way in which news arrives, as a row of functions.
 *
 * A source decides what to ask for, understands the answer, and hands the outcome to the storer. A
 * job (job.h) has one source at a time; a source may pass the job on by setting job->source before
 * it returns. The rows are in sources.def. A new source needs a file of its own, a row in
 * sources.def, an outcome in storage/store.h with its storage/apply_*.c, and a line in meson.build.
 */
#pragma once

#include "fetcher/job.h"
#include "storage/store.h"

/* What a worker needs. Workers may wait for the database and for room in the storer. */
struct parse_worker {
    struct store *store;
    struct reader *reader;      /* the worker's own */
    const atomic_bool *give_up; /* do not wait for room any more */
    store_done_fn *stored;      /* to be given to the storer, with the job as its context */
    list_let_fn *let_unknown;   /* as in struct fetcher_cfg */
    void *let_ctx;
};

struct source {
    const char *name;
    size_t body_max; /* largest body of one document, if less than the setting; 0: the setting */
    bool gives_way;  /* its job ends when the feed itself is due again */
    bool is_aside; /* its job does not fetch the feed: callers that wait for the feed go on waiting
                    */

    /* On a reader's thread: job->feed has been read; what is asked first? STEP_QUEUE: job->url.
     * STEP_UNDERSTAND: nothing need be asked. STEP_END: there is nothing to do; job->rc says why.
     * On the fetch loop, with `r` NULL: job->next leads here after something was stored; STEP_END
     * when it cannot be asked for. */
    enum job_step (*begin)(struct job *job, struct reader *r);

    /* On the fetch loop: the call for job->url. `fields` has room for JOB_FIELDS. */
    void (*request)(struct job *job, struct http_field *fields, struct http_call *call);

    /* On the fetch loop: job->resp has been judged. STEP_QUEUE or STEP_UNDERSTAND. */
    enum job_step (*answered)(struct job *job);

    /* On a worker. STEP_QUEUE: there is another URL to ask. STEP_AWAY: the storer has the outcome.
     * STEP_END: nothing can be stored; job->rc and text say why. */
    enum job_step (*understand)(const struct parse_worker *w, struct job *job);

    /* On the storer's thread, after the commit: what does it mean for the job? Fills job->next,
     * and the job's result where it was not known before. */
    void (*stored)(struct job *job, enum rc rc, const struct store_result *res,
                   const struct err *err);
};

#define SOURCE(name) extern const struct source source_##name;
#include "fetcher/sources.def"
#undef SOURCE

/* Hand an outcome over, waiting for room as long as the worker is not told to give up. `call` is
 * one of the store_*_outcome() calls up to its outcome. Sets rc. */
#define STORE_WAIT_MS 250 /* then a look at whether all is to end */
#define STORE_OUTCOME(rc, w, kind, outcome, job)                                                   \
    do                                                                                             \
        rc = store_##kind##_outcome((w)->store, outcome, STORE_WAIT_MS, (w)->stored, job);         \
    while (rc == RC_FULL && !atomic_load((w)->give_up))
