/* notifier/notifier.h - pushes new entries to endpoints.
 *
 * One loop, woken by commits. Per endpoint strictly in log order and one call at a time, hundreds
 * of endpoints at once. A position moves only when the endpoint has acknowledged and the storer has
 * written it: at least once, across kill -9. Failures are retried with growing pauses for days,
 * then the subscription is suspended, visible and resumable. Public calls: any thread.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "net/guard.h"
#include "storage/store.h"

struct notifier;

struct topic_document;

/* Draw the document of a WebSub topic for who has everything up to `after_seq`: *doc (strings in
 * the arena, position as far as was looked) and its bytes. RC_OK with no entries: nothing to
 * deliver. RC_LIMIT: it passed the body's maximum. Reader threads. */
typedef enum rc topic_draw_fn(void *ctx, struct reader *r, struct str topic, int64_t after_seq,
                              size_t max_entries, struct arena *a, struct buf *body,
                              struct topic_document *doc, struct err *err);

struct notifier_cfg {
    struct store *store;    /* borrowed, like guard */
    struct guard *guard;    /* for callbacks; not the one for fetching */
    const char *user_agent; /* borrowed */
    int max_calls;          /* in flight at once */
    size_t max_entries;     /* entries in one call */
    int64_t timeout_ms;     /* one call */
    int64_t first_retry_ms; /* <= 5000 */
    int64_t max_retry_ms;
    int64_t suspend_after_s; /* failing so long: suspended */
    topic_draw_fn *draw;     /* NULL: there is no hub */
    void *draw_ctx;
};

/* Make it and listen to the store's commits: before the first write. Never fails. */
struct notifier *notifier_new(const struct notifier_cfg *cfg);

/* Load the subscriptions and begin; whatever is due is pushed. Once only (RC_CONFLICT). */
enum rc notifier_start(struct notifier *n, struct err *err) NODISCARD;

/* Start no more calls, let those in flight end until the deadline, join. */
void notifier_stop(struct notifier *n, int64_t ms);

/* Free it, after store_close(): the store's last commits still call the listener, and its readers
 * and storer may hold the last answers. NULL is allowed. */
void notifier_free(struct notifier **np);

/* Take over the numbers and the user agent; store and guard stay. */
void notifier_reload(struct notifier *n, const struct notifier_cfg *cfg);
