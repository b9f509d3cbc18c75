/* notifier/sink.h - a sink makes the next delivery of a subscription, and decides what the answer
 * to it means.
 *
 * A sink is a row of model/sinks.def, which names it, and a struct sink in a file of its own. To
 * add one: write notifier/sink_NAME.c, add the row, and add the file to notifier/meson.build.
 *
 * A sink that sends entries takes entries_draw() as its draw(), and says in `entries` how it writes
 * them. A sink that sends something else, as WebSub sends documents, has a draw() of its own. What
 * a sink keeps for each subscription (a lease, a secret) it reads itself in draw(), from the same
 * snapshot as the rest.
 *
 * judge() runs on the notify loop, the others on reader threads. All are pure, but for what draw()
 * reads.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/feed.h"
#include "notifier/carrier.h"

struct push_job;
struct reader;

/* Maximum of bytes in one delivery. When the entries do not fit, fewer entries are sent at once. */
#define SINK_BODY_MAX ((size_t)32 * 1024 * 1024)

/* What draw() found. */
enum push_found {
    PUSH_NOTHING,    /* up to date */
    PUSH_SKIP,       /* nothing to push, but the position may move to `position` */
    PUSH_READY,      /* `load` can be sent */
    PUSH_UNSENDABLE, /* there is something, but it can never be sent; err says why */
    PUSH_SUSPENDED,  /* the subscription is suspended */
    PUSH_ENDED,      /* the subscription is gone, or has no endpoint */
    PUSH_UNREAD,     /* the database failed; try again. err says why */
};

enum sink_verdict {
    SINK_DELIVERED,
    SINK_FAULT,  /* delivered; the receiver said that something went wrong on its side */
    SINK_FAILED, /* must be tried again */
    SINK_GONE,   /* the receiver wants no more, so it is suspended at once */
};

/* The entries of a delivery: revisions (new and changed) of one feed, oldest first. */
struct sink_push {
    int64_t sub_id;
    struct str url; /* the URL by which the feed was subscribed */
    const struct revision *revisions;
    size_t n;
};

/* How entries are written. For sinks whose draw() is entries_draw(). */
struct sink_entries {
    /* Set what the carrier needs besides the bytes. Strings are in `a` or static. */
    void (*head)(struct arena *a, const struct sink_push *push, struct carrier_load *load);

    /* Write the bytes. RC_LIMIT: they are more than the maximum of `body`. */
    enum rc (*body)(struct arena *a, const struct sink_push *push, struct buf *body,
                    struct err *err);

    /* Append the beginning of the body, which names the subscription. What follows is the same for
     * all subscriptions that get these entries by this URL, and is shared. NULL: nothing can be
     * shared. */
    void (*front)(struct buf *body, int64_t sub_id);
};

struct sink {
    const struct carrier *carrier;
    bool is_leased; /* its subscriptions are never suspended: they end with their lease, or
                       when the receiver wants no more */

    /* Find what comes next after the position of job->sub, and fill the job: load, position,
     * n_entries and so on, as push_job.h says. */
    enum push_found (*draw)(struct push_job *job, struct reader *r);
    struct sink_entries entries;

    /* Judge the answer. Unless it means a plain success, *why gets a sentence in `a`. */
    enum sink_verdict (*judge)(struct arena *a, const struct carrier_answer *answer,
                               struct str *why);
};

/* Returns the sink with this name, or NULL. */
const struct sink *sink_find(struct str name);

/* Draws the next entries of the subscription: the draw() of sinks that send entries (entries.c).
 * Runs on reader threads. */
enum push_found entries_draw(struct push_job *job, struct reader *r);

#define SINK(id, name, offered) extern const struct sink sink_##id;
#include "model/sinks.def"
#undef SINK
