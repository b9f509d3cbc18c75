/* fetcher/work_queue.h - which feed is fetched next: one slot a feed, classes, hosts. Pure.
 *
 * A feed is idle, queued, in flight, or in flight and asked for again, however many reasons ask
 * for it. Readers come before pings, pings before sweeps, and all of them before contents of
 * records; hosts of one class take turns. Times are monotonic milliseconds given by the caller. One
 * thread (the fetch loop).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/map.h"
#include "fetcher/hosts.h"
#include "fetcher/time_heap.h"
#include "model/feed.h"

#define REASON_BIT(reason) (1u << (reason))

enum slot_state {
    SLOT_IDLE,    /* remembered for a moment: when it was fetched, and how that failed */
    SLOT_UNREAD,  /* wanted; its host is not known yet */
    SLOT_DELAYED, /* wanted, but a burst of pings is one ping */
    SLOT_WAITING, /* in its host's list */
    SLOT_RUNNING, /* in flight */
    SLOT_BETWEEN, /* in flight, waiting for the host of its next request */
};

struct slot {
    int64_t feed_id;
    enum slot_state state;
    enum work_class cls;    /* of the list it is in */
    unsigned reasons;       /* REASON_BITs of what is queued or in flight */
    unsigned again;         /* in flight: reasons that came meanwhile and need another fetch */
    int64_t started_ms;     /* of the last fetch; INT64_MIN before the first */
    struct host *host;      /* held; NULL while unknown */
    bool insists;           /* its sweeps do not wait for the host's gap and cooling */
    bool on_host;           /* counted in host->n_running */
    struct time_node timer; /* SLOT_DELAYED: until when; SLOT_IDLE: when it is forgotten */
    TAILQ_ENTRY(slot) link;
    void *user; /* the caller's; given to slot_free */
};

struct work_queue_cfg {
    int max_running; /* slots in flight */
    int max_per_host;
    int64_t host_gap_ms;
    int64_t content_gap_ms; /* between contents of records on one host (WORK_CONTENT) */
    int64_t ping_gap_ms;    /* between the starts of two fetches of one feed for pings */
    int64_t remember_ms;    /* slots outlive their fetch by it */
    void (*user_free)(void *user);
};

struct work_queue;

struct work_queue *work_queue_new(const struct work_queue_cfg *cfg);
void work_queue_free(struct work_queue **qp);

/* Take over new limits; user_free stays. */
void work_queue_set(struct work_queue *q, const struct work_queue_cfg *cfg);

/* Someone wants this feed. Returns its slot. */
struct slot *work_queue_want(struct work_queue *q, int64_t feed_id, enum fetch_reason reason,
                             int64_t now_ms);

/* The slot of a feed, or NULL. */
struct slot *work_queue_find(struct work_queue *q, int64_t feed_id);

/* Feeds whose hosts are not known: at most `max` of them, best class first, into ids. They stay
 * out of all lists until work_queue_set_host(), or work_queue_drop() when there is no such feed. */
size_t work_queue_unread(struct work_queue *q, int64_t *ids, size_t max);

/* The host of a slot that work_queue_unread() gave out. `insists`: a feed that was never fetched,
 * or one with an exact period, both somebody's express wish: it waits for a place at its host, but
 * not for the pause between sweeps, nor because another feed was answered "too many requests". */
void work_queue_set_host(struct work_queue *q, int64_t feed_id, struct str authority, bool insists,
                         int64_t now_ms);

/* Those ids were not looked up after all: they are unread again. */
void work_queue_reread(struct work_queue *q, const int64_t *ids, size_t n);

/* A queued slot is wanted no more; the slot is freed. */
void work_queue_drop(struct work_queue *q, struct slot *slot, int64_t now_ms);

/* Move on what time alone moves on: pings that waited for their gap become unread slots. Before
 * work_queue_unread(); work_queue_take() does it too. */
void work_queue_tick(struct work_queue *q, int64_t now_ms);

/* The slot to start (or, from SLOT_BETWEEN, to go on with), now in flight and counted at its host;
 * NULL when nothing may start now. */
struct slot *work_queue_take(struct work_queue *q, int64_t now_ms);

/* Milliseconds until work_queue_take() may give something by time alone; -1: never. */
int64_t work_queue_wait_ms(struct work_queue *q, int64_t now_ms);

/* The slot's request has ended: its host is free for another. */
void work_queue_leave_host(struct work_queue *q, struct slot *slot, int64_t now_ms);

/* The job in flight asks another host (or the same again) next: it waits as a reader does, or one
 * for a record's content in its class. */
void work_queue_go_on(struct work_queue *q, struct slot *slot, struct str authority,
                      int64_t now_ms);

/* The fetch has ended: idle, or queued again when it was wanted meanwhile. */
void work_queue_end(struct work_queue *q, struct slot *slot, int64_t now_ms);

/* The slot's host asked for time. */
void work_queue_cool(struct work_queue *q, struct slot *slot, int64_t wait_ms, int64_t now_ms);

/* Walk all slots, in no order: start with *it = NULL. The current one may be dropped. */
struct slot *work_queue_next(struct work_queue *q, void **it);

size_t work_queue_queued(const struct work_queue *q);
size_t work_queue_running(const struct work_queue *q);
