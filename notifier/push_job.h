/* notifier/push_job.h - one delivery, from "what is next for this subscription?" to what is sent.
 *
 * The loop makes jobs and gives them to a reader, which fills them and gives them back. The
 * subscription is read again for each job, so that its position, feeds and state come from the same
 * snapshot as the revisions.
 */
#pragma once

#include <sys/queue.h>

#include "base/arena.h"
#include "notifier/bodies.h"
#include "notifier/hook_cache.h"
#include "notifier/notifier.h"
#include "notifier/sink.h"
#include "storage/store.h"

struct push_job {
    SLIST_ENTRY(push_job) next; /* while it is not in use */
    struct push_jobs *jobs;
    struct bodies *bodies; /* borrowed, like the next two */
    struct hook_cache *hooks;
    struct store *store;
    topic_draw_fn *draw; /* NULL: there is no hub */
    items_draw_fn *draw_items;
    void *draw_ctx;
    struct component *component; /* NULL: no XMPP */
    int64_t sub_id;
    size_t max_entries;  /* in one delivery, unless the subscription says otherwise */
    int n_halved;        /* so often a run of messages is halved (outcome_halvings()) */
    struct arena *arena; /* of everything below, up to push_job_free() */
    struct arena_mark start;

    enum push_found found;
    struct subscription *sub; /* as it was read; NULL: it was not read */
    const struct sink *sink;  /* NULL: no sink has its name */
    struct str settings;      /* of its sink; null. SECRET */
    struct carrier_load load;
    struct str credential; /* of the endpoint; null. SECRET */
    int64_t feed_id;       /* whose entries they are; 0: of several */
    int64_t position;      /* after this delivery, the subscription has everything up to this seq */
    size_t n_entries;      /* or events */
    struct log_mark first, last; /* of the entries; seq 0: the sink does not say */
    int64_t news_at_us;          /* when the first entry was stored, if `first` does not say it */
    struct log_mark *marks;      /* of each entry; NULL: the sink does not say */
    struct str uid;              /* of the first entry */
    struct dead_letter *dead;    /* not NULL: it is tried again. The position stays */
    bool is_last;                /* nothing follows in the same snapshot of the log */
    struct err err;
};

/* What jobs have in common, and jobs that are not in use: their memory is used again, because what
 * a reader has allocated and the loop frees would be costly otherwise. */
struct push_jobs {
    const struct notifier_cfg *cfg; /* borrowed */
    struct bodies *bodies;
    struct hook_cache *hooks;
    SLIST_HEAD(, push_job) spare;
    size_t n_spare;
};
void push_jobs_init(struct push_jobs *js, const struct notifier_cfg *cfg);

/* No job may be in use any more. */
void push_jobs_release(struct push_jobs *js);

/* On the loop, or when it has ended. */
struct push_job *push_job_new(struct push_jobs *js, int64_t sub_id);
void push_job_free(struct push_job **jp);

/* Fill the jobs, from one snapshot as far as their sinks allow it. Runs on reader threads. */
void push_jobs_read(struct push_job *const *jobs, size_t n, struct reader *r);

/* Fill the job for a test of the subscription, whatever its state. `found`: PUSH_READY,
 * PUSH_ENDED: there is no such subscription; PUSH_UNSENDABLE, PUSH_UNREAD: err says why. Runs on
 * reader threads. */
void push_job_read_test(struct push_job *job, struct reader *r);
