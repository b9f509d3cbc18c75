/* api/views/event_log.h - reads the log for the streams of /events, on a thread of its own.
 *
 * What was committed is read once, for all streams together, and each revision is written once: an
 * event is a blob, which all streams share. The loops that have streams get these batches one after
 * the other, without a gap. A stream that stands further back gives the thread work of its own.
 *
 * A thread of its own, because a stream that begins far back reads for a long time, and requests
 * that want a document must not wait for it.
 */
#pragma once

#include <stdatomic.h>
#include <sys/queue.h>

#include "api/views/seen.h"
#include "base/blob.h"
#include "model/view.h"
#include "net/loop.h"
#include "storage/store.h"

/* A revision as /events sends it. */
struct event {
    int64_t seq, feed_id;
    struct seen seen; /* if the view names no feeds; in the batch's arena */
    struct blob *blob;
};

#define EVENT_BATCH_BYTES ((size_t)256 * 1024) /* of a batch, unless one event is larger */

/* The events of a range of the log, after `from` up to and with `end`, by seq. Immutable. */
struct event_batch {
    atomic_size_t refs;
    int64_t from, end;
    int64_t end_us; /* the event time of `end`, for a cursor */
    size_t n, len;  /* len: bytes of the events */
    bool is_gone;   /* a part of it was taken away before it was read: it has no events */
    struct arena arena;
    struct event events[];
};
struct event_batch *event_batch_ref(struct event_batch *b);
void event_batch_unref(struct event_batch **bp);

/* Read the events of a view after `from`, as many as fit into a batch. `only`: without protected feeds that this
 * caller does not see; NULL: with all. `end` is the end of what was looked at: not always the end of the log,
 * if the view has a filter. `edition`: for their ids (model/cursor.h); null: none. The caller's
 * first reference. RC_GONE: a part of what follows `from` was taken away, and something above
 * `floor` (api/views/history.h). */
enum rc event_batch_read(struct reader *r, struct store *s, struct sub_book *subs, const struct view *view,
                         const struct caller *only, struct str edition, int64_t from, int64_t floor,
                         struct event_batch **out, struct err *err) NODISCARD;

struct event_log;
/* Start the thread. The store and the book must outlive it. */
struct event_log *event_log_new(struct store *s, struct sub_book *subs);
/* The log has grown. Any thread; quick. */
void event_log_notice(struct event_log *l);
/* End the thread after the present work; run what still waits without a reader. Before the store is
 * closed. It may be called twice. */
void event_log_stop(struct event_log *l);
void event_log_free(struct event_log **lp);

/* A loop that gets the batches of what is committed. `fn` runs on the loop and takes over a
 * reference. It may still run after event_log_leave(), for what was sent before. The struct must
 * live as long as the loop. */
typedef void event_tail_fn(void *ctx, struct event_batch *batch);
struct event_tail {
    struct loop *loop;
    event_tail_fn *fn;
    void *ctx;
    LIST_ENTRY(event_tail) link;
};
/* Begin to get batches; returns where the first one will begin. */
int64_t event_log_join(struct event_log *l, struct event_tail *tail);
void event_log_leave(struct event_log *l, struct event_tail *tail);

/* Run `run` on the thread, after earlier work of its queue. `r` is NULL when the thread has been
 * stopped or has no reader. False: the thread has been stopped, and `run` will not be called. Any
 * thread. The work belongs to its owner again when it runs. */
struct event_work {
    STAILQ_ENTRY(event_work) link;
    void (*run)(struct event_work *w, struct reader *r);
    bool is_first; /* it is run before earlier work, and before the tail is read */
    bool is_slow; /* judges revisions: it has a queue of its own, and the two take turns */
};
bool event_log_run(struct event_log *l, struct event_work *w) NODISCARD;
