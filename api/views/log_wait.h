/* api/views/log_wait.h - requests that wait for new revisions. Commit notices wake them.
 *
 * log_wait_start() runs on the request's loop. log_waiters_notice() may run on any thread. The
 * table of waiting requests has one lock, which is held only for a short time.
 */
#pragma once

#include "api/http/request.h"

struct log_waiters;
struct log_waiters *log_waiters_new(void);
void log_waiters_free(struct log_waiters **wp);

struct log_wait; /* one waiting request */

/* Hold the request until there is a new revision of one of the feeds in `ids` (sorted), or of any
 * feed if `all` is true, or until `ms` have passed. `shown`: sub_book_shown() before the feeds were
 * looked up, if they are of sets (feeds_asked.h): then also until a named view has changed, or, a
 * second later, a subscription; LOG_WAIT_NO_SETS: they are not. A caller who loses its right
 * meanwhile is answered with 401 within seconds. Else `wake` runs once, on the request's loop,
 * unless the client has left. The request's on_gone is used for this. `seen` is the end of the log
 * up to which the caller has looked. If the log has grown since then, `wake` runs soon. */
#define LOG_WAIT_NO_SETS (-1)
typedef void log_wake_fn(struct request *req, bool timed_out, void *ctx);
void log_wait_start(struct request *req, const int64_t *ids, size_t n, bool all, int64_t shown,
                    int64_t seen, int64_t ms, log_wake_fn *wake, void *ctx);

/* Callers may have lost their rights: answer those who have with 401. Any thread. */
void log_waiters_look(struct log_waiters *w);

/* The server is stopping: wake all waiting requests as if their time had passed. Requests that
 * begin to wait later are woken soon. */
void log_waiters_end(struct log_waiters *w);

/* Wake the requests that wait for a feed in this notice, or for a change of views; all, when
 * everything was read anew. */
void log_waiters_notice(struct log_waiters *w, const struct commit_notice *notice);

/* Returns the number of waiting requests. */
size_t log_waiters_count(struct log_waiters *w);
