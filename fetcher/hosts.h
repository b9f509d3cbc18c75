/* fetcher/hosts.h - politeness per host: how many at once, how soon again, and cooling down. Pure.
 *
 * Times are monotonic milliseconds given by the caller. One thread. The work queue keeps its lists
 * of waiting feeds in the host's record.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/map.h"
#include "base/str.h"
#include "fetcher/time_heap.h"

enum work_class { WORK_READER, WORK_PING, WORK_SWEEP, WORK_CONTENT, WORK_CLASSES };

struct slot;
TAILQ_HEAD(slot_list, slot);

struct host {
    char *key; /* "host:port" */
    int n_running;
    int n_holders;            /* slots that point here */
    int64_t gap_until_ms;     /* no sweep starts before it */
    int64_t cool_until_ms;    /* nor before this: the host asked for time */
    int64_t content_until_ms; /* no content of a record is asked for before it */
    int64_t gentle_until_ms;  /* after cooling: starts are further apart until then */

    /* the work queue's own */
    struct slot_list waiting[WORK_CLASSES];
    int ring; /* class whose ring it is in; -1: none */
    TAILQ_ENTRY(host) ring_link;
    struct time_node timer; /* when a sweep may start */
};

struct hosts {
    struct map table;
    int max_per_host;
    int64_t gap_ms;
    int64_t content_gap_ms; /* between contents of records */
};

void hosts_init(struct hosts *hs, int max_per_host, int64_t gap_ms, int64_t content_gap_ms);
void hosts_release(struct hosts *hs);

/* The record of a host, made when missing; hold it until hosts_drop(), which clears the pointer. */
struct host *hosts_hold(struct hosts *hs, struct str key);
void hosts_drop(struct host **hp);

/* Forget hosts that nobody holds and nothing is to be remembered of. */
void hosts_prune(struct hosts *hs, int64_t now_ms);

/* May a request start? now_ms: yes; a later time: not before; INT64_MAX: when one has ended.
 * Readers and pings do not wait for the gap or the cooling, sweeps do; contents of records have the
 * host for themselves, and a longer gap. */
int64_t host_ready_ms(const struct hosts *hs, const struct host *h, enum work_class cls,
                      int64_t now_ms);

void host_start(const struct hosts *hs, struct host *h, enum work_class cls, int64_t now_ms);
void host_end(struct host *h);

/* The host asked for `wait_ms` (429, 503, Retry-After): sweeps wait, then come one by one. */
void host_cool(struct host *h, int64_t wait_ms, int64_t now_ms);
