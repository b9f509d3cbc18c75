/* api/lists/list_thread.h - the thread on which OPML lists are parsed.
 *
 * A list may be large, so its sender decides how long parsing takes. Because parsing has its own
 * thread, a large list delays only other lists, and does not delay reads of the store.
 */
#pragma once

#include "base/compiler.h"
#include "base/err.h"

struct list_thread;
typedef void list_work_fn(void *ctx);

/* Start the thread. Aborts if the system cannot create a thread. */
struct list_thread *list_thread_new(void);

/* Run fn(ctx) on the thread, after all earlier calls. RC_FULL: too many calls wait; RC_CLOSED: the
 * thread has been stopped. Any thread. */
enum rc list_thread_run(struct list_thread *t, list_work_fn *fn, void *ctx) NODISCARD;

/* Run the calls that wait, take no more, and end the thread. Call this before the store is closed.
 * It may be called twice. */
void list_thread_stop(struct list_thread *t);

/* Stop the thread if it still runs, and free it. */
void list_thread_free(struct list_thread **tp);
