/* fetcher/hosts.h - limits for each host: how many transfers at once, the gap between starts, and
 * pauses that the host asked for. Pure.
 *
 * The caller passes all times, in milliseconds of the monotonic clock. All calls come from one
 * thread. The work queue keeps its lists of waiting feeds in struct host.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/map.h"
#include "base/str.h"
#include "fetcher/time_heap.h"
#include "model/feed.h"

enum work_class {
    WORK_READER,
    WORK_PING,
    WORK_KNOWN, /* in an outage: sweeps of feeds whose host has answered before */
    WORK_FIRST,
    WORK_SWEEP,
    WORK_CONTENT,
    WORK_CLASSES
};

struct slot;
TAILQ_HEAD(slot_list, slot);

struct host {
    char *key;          /* "host:port" */
    int n_running;      /* transfers */
    int64_t *starts_ms; /* start of each transfer, the oldest first */
    size_t cap_starts;
    int n_holders;         /* slots that point to this struct */
    bool was_asked;        /* a transfer has started */
    int64_t gap_until_ms;  /* no sweep starts before this time */
    int64_t cool_until_ms; /* no sweep starts before this time, because the host asked us to wait */
    int64_t content_until_ms; /* no request for a content of a metadata record starts before this
                                 time */
    int64_t gentle_until_ms;  /* after cooling: until this time, sweeps come one after another, each
                                 after the answer to the one before, with a longer gap */

    /* the work queue's own */
    struct slot_list waiting[WORK_CLASSES];
    int ring; /* class in whose ring the host is; -1: it is in no ring */
    TAILQ_ENTRY(host) ring_link;
    struct time_node timer; /* when a sweep may start */
};

struct hosts {
    struct map table;
    int max_per_host;
    int64_t gap_ms;
    int64_t content_gap_ms; /* between contents of metadata records */
};

void hosts_init(struct hosts *hs, int max_per_host, int64_t gap_ms, int64_t content_gap_ms);
void hosts_release(struct hosts *hs);

/* Return the struct of a host; it is made if it does not exist. It stays valid until hosts_drop(),
 * which sets *hp to NULL. */
struct host *hosts_hold(struct hosts *hs, struct str key);
void hosts_drop(struct host **hp);

/* Free the hosts that nobody holds and whose times are all over. */
void hosts_prune(struct hosts *hs, int64_t now_ms);

/* A transfer that has run for this time is slow. Slow transfers do not count against the host's
 * limit for readers, pings and first fetches, as long as the host has fewer than twice its limit.
 * So feeds that hang do not delay a new feed. */
#define HOST_SLOW_MS 2000

/* Returns when a request may start. now_ms: it may start now. A later time: not before that time.
 * INT64_MAX: not before a transfer has ended. Sweeps wait for the gap and the cooling, and for some
 * time after the cooling until nothing else runs at the host, as pings and fetches by hand do; readers do not. A content
 * starts only while nothing else runs at the host, and has a longer gap. */
int64_t host_ready_ms(const struct hosts *hs, const struct host *h, enum work_class cls,
                      int64_t now_ms);

void host_start(const struct hosts *hs, struct host *h, enum work_class cls, int64_t now_ms);

/* The transfer that started at `started_ms` has ended. */
void host_end(struct host *h, int64_t started_ms);

/* Has it asked for a rest that lasts, or was it over a short time ago? */
bool host_is_resting(const struct host *h, int64_t now_ms);

/* The host asked us to wait for `wait_ms` (429, 503, Retry-After). Sweeps wait so long. Then each
 * starts after the answer to the one before (ETIQ-03). Returns false if it rests for so long already. */
bool host_cool(struct host *h, int64_t wait_ms, int64_t now_ms);

/* The host has asked for this before. Times count from now. If that is over, and nothing was asked since the start, what
 * became due meanwhile still comes one after another. */
void host_rest(struct host *h, const struct host_rest *rest, int64_t now_ms);
