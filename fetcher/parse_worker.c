/* fetcher/parse_worker.c - see parse_worker.h. */
#include "fetcher/parse_worker.h"

#include "base/assert.h"
#include "fetcher/fetch_loop.h"
#include "fetcher/fetcher_priv.h"
#include "fetcher/source.h"

/* On the storer's thread, after the commit. */
static void on_stored(void *ctx, enum rc rc, const struct store_result *res, const struct err *err)
{
    struct job *job = ctx;
    /* a delivery ends by itself, without the loop */
    bool is_of_loop = job->source != &source_delivery;

    job->source->stored(job, rc, res, err);
    if (is_of_loop)
        fetch_loop_give(job, STEP_STORED);
}

void *parse_worker_main(void *arg)
{
    struct worker *worker = arg;
    struct fetcher *f = worker->f;
    struct parse_worker w = {.store = f->store,
                             .reader = worker->reader,
                             .give_up = &f->give_up,
                             .stored = on_stored,
                             .let_unknown = f->let_unknown,
                             .let_ctx = f->let_ctx};
    void *item;

    thread_set_name("parse");
    while (queue_pop(f->parse, &item, 1, -1) > 0) {
        struct job *job = item;
        enum job_step step;

        if (job->source != &source_delivery)
            atomic_fetch_sub(&f->n_parsing, 1);
        step = job->source->understand(&w, job);
        if (step != STEP_AWAY)
            fetch_loop_give(job, step);
        queue_done(1);
    }
    reader_close(&worker->reader);
    return NULL;
}
