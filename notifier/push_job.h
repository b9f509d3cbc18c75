/* notifier/push_job.h - prepare one call on a reader thread: what is next for a subscription, as
 * bytes ready to be sent.
 *
 * The subscription is read anew each time, so position, feeds and state are of one snapshot with
 * the revisions. The loop makes a job, gives it to a reader, and gets it back.
 */
#pragma once

#include "base/arena.h"
#include "notifier/bodies.h"
#include "notifier/notifier.h"
#include "notifier/sink.h"
#include "storage/store.h"

enum push_found {
    PUSH_NOTHING,    /* up to date */
    PUSH_SKIP,       /* nothing to push, but the position may move to `position` */
    PUSH_CALL,       /* `call` is ready */
    PUSH_UNSENDABLE, /* there is something, and it can never be sent as it is: err says why */
    PUSH_SUSPENDED,  /* the subscription is */
    PUSH_ENDED,      /* the subscription is gone, or has no endpoint */
    PUSH_UNREAD,     /* the database failed: try again; err says why */
};

struct push_job {
    struct bodies *bodies; /* borrowed, like the next */
    struct store *store;   /* for WebSub, like the next two; may be NULL */
    topic_draw_fn *draw;
    void *draw_ctx;
    int64_t sub_id;
    size_t max_entries;  /* in one call */
    struct arena *arena; /* of everything below; push_job_free() frees it */

    enum push_found found;
    struct subscription *sub; /* as it was read; NULL when it was not */
    const struct sink *sink;
    bool is_leased; /* by a WebSub subscriber: it is never suspended, and may end */
    struct sink_call call;
    struct str credential; /* of the endpoint; null. SECRET */
    int64_t feed_id;       /* whose entries they are; 0: of several */
    int64_t position;      /* everything up to it is delivered once the call is */
    size_t n_entries;
    bool is_last; /* nothing follows, as far as the snapshot shows */
    struct err err;
};

struct push_job *push_job_new(int64_t sub_id, size_t max_entries, struct bodies *bodies);
void push_job_free(struct push_job **jp);

/* Fill the job. Reader threads. */
void push_job_read(struct push_job *job, struct reader *r);
