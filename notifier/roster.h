/* notifier/roster.h - the subscriptions in memory: who waits for which feed, and whose turn it is.
 *
 * A cache of the database: ids, endpoints, sets of feeds, and where each delivery stands. Idle
 * members cost no timer and no place in a queue. Belongs to the notify loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/map.h"
#include "base/str.h"
#include "notifier/attempt.h"

struct loop_timer;
struct turn;
struct ack;
struct notifier;
struct member;
TAILQ_HEAD(member_list, member);

/* One callback URL: its subscriptions take turns, one call at a time. Lives while it has members or
 * is busy. */
struct endpoint {
    char *url;
    size_t n_members;
    struct member_list due; /* in the order in which they became due */
    bool busy;              /* a read or call of a member is under way */
    bool suspect;           /* the last call failed or was slow */
    bool queued;            /* in one of the roster's lists: not busy, somebody is due */
    TAILQ_ENTRY(endpoint) ready;
};
TAILQ_HEAD(endpoint_list, endpoint);

struct member {
    int64_t id;
    struct endpoint *endpoint;
    enum attempt_state state;
    int64_t *feeds; /* ids, ascending */
    size_t n_feeds;
    TAILQ_ENTRY(member) due; /* in endpoint->due while the state is ATTEMPT_DUE */

    /* the notifier's own notes (dispatch.h) */
    struct notifier *notifier;
    struct loop_timer *timer; /* ATTEMPT_WAITING; or a write that is tried again */
    int64_t pause_ms;         /* of the next wait */
    struct turn *turn;        /* ATTEMPT_READING, _REREADING, _CALLING until the answer came */
    struct ack *ack;          /* an outcome that is being written, or waits for a reload */
    bool news;                /* came since the turn began */
    uint64_t reload;          /* number of the reload that will know its latest change */
    uint64_t turn_reload;     /* reloads from this number on were asked for after the turn began */
    bool was_reloaded;        /* by such a one, which found this position */
    int64_t position;
};

struct roster {
    struct map members;   /* by id */
    struct map feeds;     /* id -> struct feed_members */
    struct map endpoints; /* by URL */
    struct endpoint_list ready, ready_suspect;
    size_t n_busy_suspect;
};

void roster_init(struct roster *r);

/* Forget all members; endpoints that are busy too. The notifier's notes are not freed. */
void roster_release(struct roster *r);

/* The member of a subscription, or NULL. */
struct member *roster_find(const struct roster *r, int64_t id);

/* A new member of this endpoint, idle, without feeds. The id must not be there. */
struct member *roster_add(struct roster *r, int64_t id, struct str endpoint);

/* Remove and free. */
void roster_del(struct roster *r, struct member *m);

/* Its feeds from now on; any order. False when they were the same. */
bool roster_set_feeds(struct roster *r, struct member *m, const int64_t *ids, size_t n);

/* Members that have the feed, in the order in which they came to it. NULL when n is 0. Borrowed
 * until a member's feeds change. */
struct member *const *roster_of_feed(const struct roster *r, int64_t feed_id, size_t *n_out);

/* Put the member at the end of its endpoint's queue; take it out. */
void roster_due(struct roster *r, struct member *m);
void roster_undue(struct roster *r, struct member *m);

/* Whose turn it is, or NULL: the endpoint is busy until roster_done(), the member out of the queue.
 * Endpoints take turns; at most `max_suspect` calls go to suspect ones at once, so that those who
 * never answer leave room for the others. */
struct member *roster_next(struct roster *r, size_t max_suspect);

/* The turn is over. The endpoint may be gone afterwards. */
void roster_done(struct roster *r, struct endpoint *e, bool suspect);
