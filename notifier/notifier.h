/* notifier/notifier.h - pushes new entries to endpoints.
 *
 * One loop, woken by commits. An endpoint gets one call at a time, in the order of the log;
 * hundreds of endpoints are called at once. A position moves only after the endpoint has
 * acknowledged the delivery and the storer has written the new position. So each entry arrives at
 * least once, even after kill -9. A call that fails is made again with growing pauses for days.
 * Then the subscription is suspended: it is listed, keeps its position, and can be resumed. Public
 * calls: any thread.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "model/ports.h"
#include "net/guard.h"
#include "storage/store.h"

struct component; /* net/component.h */
struct nodes;     /* storage/nodes.h */
struct notifier;

/* Draw the document of a WebSub topic for a subscription, which has everything up to its position.
 * Strings of *doc are in the arena; its position is how far the log was read. `body` gets the
 * bytes. RC_OK without entries: there is nothing to deliver. RC_LIMIT: the document is larger than
 * the maximum of `body`. Runs on reader threads. */
typedef enum rc topic_draw_fn(void *ctx, struct reader *r, struct str topic,
                              const struct subscription *sub, size_t max_entries, struct arena *a,
                              struct buf *body, struct topic_document *doc, struct err *err);

/* Draw revisions as items of a stream: items[0..wanted->n), strings in the arena. Runs on reader
 * threads. */
typedef enum rc items_draw_fn(void *ctx, struct reader *r, const struct items_wanted *wanted,
                              struct arena *a, struct item_text *items, struct err *err);

struct notifier_cfg {
    struct store *store;    /* borrowed, like guard */
    struct nodes *nodes;    /* borrowed; NULL: no other node calls endpoints */
    struct guard *guard;    /* for callbacks; not the one for fetching */
    const char *user_agent; /* borrowed */
    int max_calls;          /* in flight at once */
    size_t max_entries;     /* entries in one call */
    int64_t timeout_ms;     /* one call */
    int64_t first_retry_ms; /* <= 5000 */
    int64_t max_retry_ms;
    int64_t suspend_after_s; /* a subscription that fails for so long is suspended */
    int max_refusals;        /* an entry that is refused so often, alone, becomes a dead letter */
    topic_draw_fn *draw;     /* NULL: there is no hub */
    items_draw_fn *draw_items;
    void *draw_ctx;              /* of both */
    struct component *component; /* borrowed; NULL: no XMPP */
    bool has_cloud;              /* there is an rssCloud */
};

/* Make the notifier, and listen to the store's commits. Call it before the first write. Never
 * fails. */
struct notifier *notifier_new(const struct notifier_cfg *cfg);

/* Load the subscriptions and begin to deliver. RC_CONFLICT: it was started before. */
enum rc notifier_start(struct notifier *n, struct err *err) NODISCARD;

/* Call the endpoint of a subscription once, as a test: nothing is delivered, nothing is counted as
 * a failure, and it is not tried again. It waits for a call to the same endpoint that is under way.
 * RC_OK: `done` runs once, on the notify loop, so it must be quick. RC_CLOSED: the notifier does
 * not run; `done` does not run. */
enum rc notifier_test(struct notifier *n, int64_t sub_id, push_test_done_fn *done,
                      void *done_ctx) NODISCARD;

/* Returns until when the endpoint with this URL wants no call, in Unix seconds: it has said so, to
 * whichever of its subscriptions. TIME_UNKNOWN: it takes calls. */
int64_t notifier_held(struct notifier *n, struct str endpoint);

/* Start no more calls, wait at most `ms` milliseconds for the calls in flight, and end the loop. */
void notifier_stop(struct notifier *n, int64_t ms);

/* Free it. Call it after store_close(): the last commits still call the listener, and readers and
 * the storer may still have answers for the loop. NULL is allowed. */
void notifier_free(struct notifier **np);

/* Take over the numbers and the user agent. Store and guard stay the same. */
void notifier_reload(struct notifier *n, const struct notifier_cfg *cfg);
