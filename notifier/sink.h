/* notifier/sink.h - a sink makes the next delivery of a subscription, and decides what the answer
 * to it means.
 *
 * A sink is a row of model/sinks.def, which names it, and a struct sink in a file of its own. To
 * add one: write notifier/sink_NAME.c, add the row, and add the file to notifier/meson.build.
 *
 * A sink that sends entries takes entries_draw() as its draw(), and says in `entries` how it writes
 * them. A sink that sends something else, as WebSub sends documents, has a draw() of its own; parts
 * for it are in entries.h. What a sink keeps for each subscription (a lease, a secret) it reads
 * itself in draw(), from the same snapshot as the rest.
 *
 * judge() runs on the notify loop, the others on reader threads. All are pure, but for what draw()
 * reads.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/feed.h"
#include "model/ports.h"
#include "notifier/carrier.h"

struct hook_cache;
struct push_job;
struct reader;

/* Bytes in one delivery. When the entries do not fit, fewer entries are sent at once. One entry
 * that is larger goes alone, up to the second bound. */
#define SINK_BODY_USUAL ((size_t)4 * 1024 * 1024)
#define SINK_BODY_MAX ((size_t)32 * 1024 * 1024)

/* What draw() found. */
enum push_found {
    PUSH_NOTHING,    /* up to date */
    PUSH_SKIP,       /* nothing to push, but the position may move to `position` */
    PUSH_READY,      /* `load` can be sent */
    PUSH_UNSENDABLE, /* there is something, but it can never be sent; err says why */
    PUSH_SUSPENDED,  /* the subscription is suspended or paused */
    PUSH_ENDED,      /* the subscription is gone, or has no endpoint */
    PUSH_UNREAD,     /* the database failed; try again. err says why */
    PUSH_LATER,      /* not known yet: this job of a reader has done enough. Look again when others
                        have had their turn */
};

enum sink_verdict {
    SINK_DELIVERED,
    SINK_FAULT,   /* delivered; the receiver said that something went wrong on its side */
    SINK_FAILED,  /* must be tried again */
    SINK_REFUSED, /* the receiver will never take it as it is. Several entries are tried in smaller
                     parts, until the one that is refused stands alone; it becomes a dead letter */
    SINK_GONE,    /* the receiver wants no more, so it is suspended at once */
};

/* What is delivered: revisions of one feed, oldest first, or one event of a feed. Neither: it is a
 * test of the endpoint. */
struct sink_push {
    int64_t sub_id;
    struct str url; /* the URL by which the feed was subscribed */
    const struct revision *revisions;
    size_t n;
    const struct feed_event *event; /* NULL: there are revisions */

    struct str log_id;           /* for cursors */
    struct log_mark prev, last;  /* where the delivery before this one ended, and where this one
                                    ends: the same for a dead letter, which is out of the order */
    struct str feed_url, title;  /* of the feed now; null unless the sink names feeds */
    struct str settings;         /* of the sink for this subscription, JSON; null. SECRET */
    struct hook_cache *hooks;    /* borrowed; of settings that are a webhook's; NULL: none */
    int64_t generation, dead_id; /* 0: no dead letter. With what is sent they tell one delivery from
                                    another */
    size_t front_len; /* of the body that was made: so much of it front() wrote; 0: all of it was
                         made for this subscription alone */
    struct str print; /* what print() gave, unless front_len is 0 */
};

/* How a delivery is written. For sinks whose draw() is entries_draw(). */
struct sink_entries {
    bool names_feed;   /* it wants feed_url and title */
    bool has_settings; /* it wants the settings */

    /* Write the bytes. Neither revisions nor an event: it is a test, and should say so if it can.
     * RC_LIMIT: they are more than the maximum of `body`. */
    enum rc (*body)(struct arena *a, const struct sink_push *push, struct buf *body,
                    struct err *err);

    /* Append the beginning of the body, which is of this subscription alone. What follows is the
     * same for all subscriptions of these entries by this URL, and is shared. NULL: nothing can be
     * shared. */
    void (*front)(struct buf *body, const struct sink_push *push);

    /* What tells the revisions from others, as text. It is made once, and shared as the body is.
     * NULL: seal() does not need it. */
    struct str (*print)(struct arena *a, const struct sink_push *push);

    /* What the carrier needs beside the bytes, which are there now; strings in `a` or static. It is
     * called for each try. RC_INPUT: the settings cannot be used, *err says why. */
    enum rc (*seal)(struct arena *a, const struct sink_push *push, struct carrier_load *load,
                    struct err *err);
};

struct sink {
    bool is_leased;   /* its subscriptions are never suspended: they end with their lease, or
                         when the receiver wants no more */
    int max_failures; /* is_leased: so many failures in a row also end it; 0: none do */

    bool in_snapshot; /* draw() may run while a snapshot is held for many subscriptions
                         (reader_hold()): it does not look at the newest state of the feeds */

    /* Find what comes next after the position of job->sub, and fill the job: load, position,
     * n_entries and so on, as push_job.h says. */
    enum push_found (*draw)(struct push_job *job, struct reader *r);
    struct sink_entries entries;

    /* Fill the load with a test of the subscription, which has been read: it delivers nothing.
     * NULL: it cannot be tested. */
    enum push_found (*draw_test)(struct push_job *job, struct reader *r);

    /* Judge the answer. Unless it means a plain success, *why gets a sentence in `a`. */
    enum sink_verdict (*judge)(struct arena *a, const struct carrier_answer *answer,
                               struct str *why);
};

/* Returns the sink with this name, or NULL. */
const struct sink *sink_find(struct str name);

/* Returns the carrier of one of these sinks. */
enum carrier_id sink_carrier(const struct sink *sink);

/* Draws the next entries of the subscription, a feed event, or a dead letter that is wanted: the
 * draw() of sinks that send entries (entries.c). Runs on reader threads. */
enum push_found entries_draw(struct push_job *job, struct reader *r);

/* Draws a test, as a delivery of nothing: the draw_test() of the same sinks. */
enum push_found entries_draw_test(struct push_job *job, struct reader *r);

#define SINK(id, name, carrier, offered, events, batch) extern const struct sink sink_##id;
#include "model/sinks.def"
#include "storage/pushes.h"
#undef SINK
