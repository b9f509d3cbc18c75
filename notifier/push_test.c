/* notifier/push_test.c - see push_test.h. */
#include "notifier/push_test.h"

#include "base/mem.h"
#include "notifier/turns.h"

struct push_test {
    TAILQ_ENTRY(push_test) next; /* in turns->tests, unless it is over */
    struct turns *turns;
    struct push_job *job; /* NULL: its turn has it */
    push_test_done_fn *done;
    void *done_ctx;
    bool at_reader; /* a reader has it, and will give it back */
    bool is_over;
};

static void test_free(struct push_test *test)
{
    push_job_free(&test->job);
    mem_free(test);
}

void push_test_end(struct turns *ts, struct push_test *test, const struct push_test_result *res)
{
    test->done(test->done_ctx, res);
    test->is_over = true;
    TAILQ_REMOVE(&ts->tests, test, next);
    ts->n_tests--;
    if (!test->at_reader)
        test_free(test);
}

static void fail(struct push_test *test, enum rc rc, struct str error)
{
    struct push_test_result res = {.rc = rc, .answer = STR_NULL, .error = error};

    push_test_end(test->turns, test, &res);
}

/* The endpoint is known now: wait for its turn. */
static void enqueue(struct push_test *test)
{
    struct turns *ts = test->turns;
    const struct subscription *sub = test->job->sub;
    struct member *m =
        roster_add(&ts->roster, -++ts->n_tests_ever, sub->endpoint, sub->n_failures > 0);

    m->turns = ts;
    m->test = test;
    turns_event(ts, m, ATTEMPT_NEWS);
    turns_run(ts);
}

static void on_read(void *ctx)
{
    struct push_test *test = ctx;

    test->at_reader = false;
    if (test->is_over)
        test_free(test);
    else if (test->turns->stopping)
        fail(test, RC_CLOSED, STR_NULL);
    else if (test->job->found == PUSH_READY)
        enqueue(test);
    else if (test->job->found == PUSH_ENDED)
        fail(test, RC_NOT_FOUND, STR_NULL);
    else
        fail(test, test->job->found == PUSH_UNSENDABLE ? RC_UNSUPPORTED : RC_IO,
             str_from(test->job->err.text));
}

/* On a reader thread. */
static void read_test(void *ctx, struct reader *r)
{
    struct push_test *test = ctx;

    push_job_read_test(test->job, r);
    loop_post(test->turns->loop, on_read, test);
}

void push_test_start(struct turns *ts, int64_t sub_id, push_test_done_fn *done, void *done_ctx)
{
    struct push_test *test = NEW(struct push_test);
    enum rc rc = ts->n_tests >= PUSH_TESTS_MAX ? RC_FULL : RC_OK;

    *test = (struct push_test){
        .turns = ts, .job = push_job_new(&ts->jobs, sub_id), .done = done, .done_ctx = done_ctx};
    TAILQ_INSERT_TAIL(&ts->tests, test, next);
    ts->n_tests++;
    test->at_reader = true;
    if (rc == RC_OK)
        rc = store_read(ts->cfg->store, read_test, test);
    if (rc == RC_OK)
        return;
    test->at_reader = false;
    fail(test, rc, STR_NULL);
}

struct push_job *push_test_take_job(struct push_test *test)
{
    struct push_job *job = test->job;

    test->job = NULL;
    return job;
}

void push_tests_stop(struct turns *ts)
{
    struct push_test *test;

    while ((test = TAILQ_FIRST(&ts->tests)) != NULL)
        fail(test, RC_CLOSED, STR_NULL);
}
