/* api/log_wait.h - requests that wait for new revisions, woken by commit notices.
 *
 * log_wait_* on the call's loop, log_waiters_notice() on any thread. One short lock.
 */
#pragma once

#include "api/call.h"

struct log_waiters;
struct log_waiters *log_waiters_new(void);
void log_waiters_free(struct log_waiters **wp);

struct log_wait; /* one waiting request */

/* `wake` runs on the call's loop, once, when a revision of one of the feeds (sorted ids; all: any)
 * came or `ms` have passed, unless the client has left. The call is held; its on_gone is taken.
 * `seen`: the end of the log that the caller has looked at; when it has moved meanwhile, `wake`
 * runs soon. */
typedef void log_wake_fn(struct call *c, bool timed_out, void *ctx);
void log_wait_start(struct call *c, const int64_t *ids, size_t n, bool all, int64_t seen,
                    int64_t ms, log_wake_fn *wake, void *ctx);

/* The end is near: those who wait are woken as if their time had passed, and later ones soon. */
void log_waiters_end(struct log_waiters *w);

/* Wake those concerned. */
void log_waiters_notice(struct log_waiters *w, const struct commit_notice *notice);

/* How many wait. */
size_t log_waiters_count(struct log_waiters *w);
