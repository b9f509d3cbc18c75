/* fetcher/work_queue.h - decides which feed is fetched next. It is pure, except that it calls the
 * caller's `find_host`.
 *
 * Each feed has one slot, however many reasons ask for a fetch. The feed is idle, queued, in
 * flight, or in flight and asked for again. Work is done in this order: fetches for readers,
 * fetches for pings and by hand, in an outage feeds whose host has answered and those that were never
 * fetched, those for pings and by hand at a host that rests, sweeps, and last the contents of metadata records. Within a class, hosts take
 * turns. The caller passes all times, in milliseconds of the monotonic clock. All calls come from
 * one thread (the fetch loop).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/arena.h"
#include "base/map.h"
#include "fetcher/hosts.h"
#include "fetcher/time_heap.h"
#include "model/feed.h"

#define PROBE_GAP_MS 10000
/* before a feed that is new, because a user waits for it; and before one whose host has answered, after one that is
 * not: it tells most */
#define NEW_PROBE_GAP_MS 1000
#define REASON_BIT(reason) (1u << (reason))

enum slot_state {
    SLOT_IDLE,    /* not queued; kept for a while to remember when the last fetch began and how it
                     failed */
    SLOT_DELAYED, /* wanted by a ping soon after the last fetch; queued when ping_gap_ms is over */
    SLOT_WAITING, /* in its host's list */
    SLOT_RUNNING, /* in flight */
    SLOT_BETWEEN, /* in flight, waiting for the host of its next request */
};

struct slot {
    int64_t feed_id;
    enum slot_state state;
    enum work_class cls; /* the class of the list that the slot is in */
    unsigned reasons;    /* REASON_BITs of the fetch that is queued or in flight */
    unsigned again;      /* in flight: REASON_BITs that came since; they need another fetch */
    int64_t started_ms;  /* start of the last fetch; INT64_MIN before the first */
    struct host *host;   /* held; NULL while SLOT_IDLE or SLOT_DELAYED */
    char *content_host;  /* host of the content that was wanted last; NULL: no content was wanted */
    bool is_new, is_well; /* as in struct feed_host */
    bool insists;        /* its sweeps do not wait for the host's gap */
    bool on_host;        /* counted in host->n_running */
    bool has_place;      /* counted in max_asking */
    int64_t request_ms;  /* start of the request, while on_host */
    struct time_node timer; /* SLOT_DELAYED: end of the delay; SLOT_IDLE: when the slot is freed */
    TAILQ_ENTRY(slot) link;
    TAILQ_ENTRY(slot) queued_link; /* while it is queued: SLOT_WAITING or SLOT_DELAYED */
    int64_t queued_ms;             /* since when */
    void *user; /* the caller's; given to user_free */
};

/* Where a feed is fetched. */
struct feed_host {
    struct str authority; /* "host:port"; empty: the feed does not exist any more */
    /* The feed was never fetched, or has an exact period, so a user has asked for this fetch. It
     * waits until its host has room, and does not wait for the gap between sweeps. When the host answered "too many
     * requests", also for another feed, it waits as all do. */
    bool insists;
    bool is_new; /* it was never fetched: in an outage it is a probe soon */
    /* its last fetch succeeded, and its host has not failed in this outage: it is the first to be a probe */
    bool is_well;
};
typedef struct feed_host find_host_fn(void *ctx, int64_t feed_id, struct arena *a);

struct work_queue_cfg {
    int max_asking; /* places; a slot in flight has one until it gives it back */
    int max_per_host;
    int64_t host_gap_ms;
    int64_t content_gap_ms;  /* between contents on one host (WORK_CONTENT) */
    int64_t ping_gap_ms;     /* between the starts of two fetches of one feed for pings */
    int64_t remember_ms;     /* how long a slot is kept after its fetch */
    find_host_fn *find_host; /* asked when a slot is queued */
    void *ctx;
    void (*user_free)(void *user);
};

struct work_queue;

struct work_queue *work_queue_new(const struct work_queue_cfg *cfg);
void work_queue_free(struct work_queue **qp);

/* Take over new limits. The functions in `cfg` are not taken over. */
void work_queue_set(struct work_queue *q, const struct work_queue_cfg *cfg);

/* Ask for a fetch of the feed, for this reason. Returns its slot. */
struct slot *work_queue_want(struct work_queue *q, int64_t feed_id, enum fetch_reason reason,
                             int64_t now_ms);

/* The slot of a feed, or NULL. */
struct slot *work_queue_find(struct work_queue *q, int64_t feed_id);

/* Ask for the content of one of the feed's metadata records, from this host ("host:port"). Returns
 * the feed's slot. */
struct slot *work_queue_want_content(struct work_queue *q, int64_t feed_id, struct str authority,
                                     int64_t now_ms);

/* Take a slot out of the queue and free it, because its feed is not wanted any more. */
void work_queue_drop(struct work_queue *q, struct slot *slot, int64_t now_ms);

/* Queue the slots in SLOT_DELAYED whose delay is over. work_queue_take() does this, too. */
void work_queue_tick(struct work_queue *q, int64_t now_ms);

/* Choose the slot to start, or a slot in SLOT_BETWEEN that may go on. It is then in flight and
 * counted at its host. Returns NULL when no slot may start now. */
struct slot *work_queue_take(struct work_queue *q, int64_t now_ms);

/* Milliseconds until work_queue_take() may return a slot even if no other call is made before. -1:
 * it will not. */
int64_t work_queue_wait_ms(struct work_queue *q, int64_t now_ms);

/* The slot's request has ended, so its host has room for another one. */
void work_queue_leave_host(struct work_queue *q, struct slot *slot, int64_t now_ms);

/* The slot's document is read and stored now, which takes a while, so another may start in its place; it stays in
 * flight. What brings no document keeps its place until it is stored: it is stored so soon that more of them at once
 * only make more and smaller commits. Nothing happens if the place was given back before. */
void work_queue_give_place(struct work_queue *q, struct slot *slot);

/* The slot's job, which is in flight, will ask this host next; it may be the same host as before.
 * The slot waits in WORK_READER, or in WORK_CONTENT if its job is for a content. */
void work_queue_go_on(struct work_queue *q, struct slot *slot, struct str authority,
                      int64_t now_ms);

/* The fetch has ended. The slot becomes idle, or is queued again if it was wanted in the meantime.
 */
void work_queue_end(struct work_queue *q, struct slot *slot, int64_t now_ms);

/* This host asked us to wait for `wait_ms`. Returns false if it rests for so long already; else *out
 * is what others should know, with the name that the caller gave. */
bool work_queue_cool(struct work_queue *q, struct str authority, int64_t wait_ms, int64_t now_ms,
                     struct host_rest *out);

/* For how many milliseconds nothing of this host is to be asked; 0: something may be. */
int64_t work_queue_rest_ms(const struct work_queue *q, struct str authority, int64_t now_ms);

/* A host has asked for this before. */
void work_queue_rest(struct work_queue *q, const struct host_rest *rest, int64_t now_ms);

/* While it is not known which hosts rest: work_queue_take() returns no slot that would have to wait
 * for a host that does. */
void work_queue_hold(struct work_queue *q, bool holds);

/* Our own connection is down: of sweeps and contents one starts at a time, as a probe, and the next
 * PROBE_GAP_MS later; those that insist, too. Feeds that are well and feeds that are new come first, in
 * turns and NEW_PROBE_GAP_MS later; but after one that is well comes one of the others, as those that are well may
 * all be near. Readers and pings go on. */
void work_queue_probe(struct work_queue *q, bool probes, int64_t now_ms);

/* Return the next of all slots, in no particular order. Start with *it = NULL. The caller may drop
 * the slot that was returned last. */
struct slot *work_queue_next(struct work_queue *q, void **it);

size_t work_queue_queued(const struct work_queue *q);

/* Since when the oldest of these waits; 0: there is none. */
int64_t work_queue_oldest_ms(const struct work_queue *q);

/* How many slots are in flight and do not wait for their turn at another host. */
size_t work_queue_at_work(const struct work_queue *q);

/* Does a slot wait that could start now if there was a free place (max_asking)? */
bool work_queue_is_saturated(const struct work_queue *q);
