/* notifier/push_test.h - a test of a subscription: one call to its endpoint that delivers nothing.
 *
 * A test has a member of the roster while it waits and is called, so it takes its turn as a
 * delivery does: one call at a time for an endpoint, and within its lane. It goes before the
 * deliveries that wait there. It changes nothing that is stored. Everything belongs to the notify
 * loop's thread. */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

#include "model/ports.h"

#define PUSH_TESTS_MAX 64 /* at once; one more is refused */

struct push_job;
struct push_test;
struct turns;
TAILQ_HEAD(push_test_list, push_test);

/* Start a test. `done` runs once: with RC_CLOSED when the notifier stops. */
void push_test_start(struct turns *ts, int64_t sub_id, push_test_done_fn *done, void *done_ctx);

/* For turns.c: take over the job, which is ready to be sent; end a test with its result. */
struct push_job *push_test_take_job(struct push_test *test);
void push_test_end(struct turns *ts, struct push_test *test, const struct push_test_result *res);

/* End all tests with RC_CLOSED. Call it before turns_stop(). */
void push_tests_stop(struct turns *ts);
