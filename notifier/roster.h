/* notifier/roster.h - the subscriptions in memory, as members: by id, by feed and by endpoint.
 *
 * A cache of the database: ids, endpoints, sets of feeds, and the state of each delivery. An idle
 * member costs no timer and waits in no queue. Belongs to the notify loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/map.h"
#include "base/str.h"
#include "notifier/attempt.h"
#include "notifier/lanes.h"

struct loop_timer;
struct turn;
struct turns;
struct ack;
struct member;
TAILQ_HEAD(member_list, member);

/* One callback URL: its subscriptions take turns, one call at a time. Lives while it has members or
 * is busy. */
struct endpoint {
    char *url;
    size_t n_members;
    struct member_list due; /* in the order in which they became due */
    struct lane lane;       /* busy: a read or call of a member is under way */
    struct turn *turn;      /* note of turns.c: that read or call */
};

struct member {
    int64_t id;
    struct endpoint *endpoint;
    enum attempt_state state;
    int64_t *feeds; /* ids, ascending */
    size_t n_feeds;
    TAILQ_ENTRY(member) due; /* in endpoint->due while the state is ATTEMPT_DUE */

    /* notes of turns.c */
    struct turns *turns;
    struct loop_timer *timer; /* ATTEMPT_WAITING; or a write that is tried again */
    int64_t pause_ms;         /* of the next wait */
    struct turn *turn;        /* ATTEMPT_READING, _REREADING, _CALLING until the answer came */
    struct ack *ack;          /* ATTEMPT_ACKING: the outcome that is being written */
    bool has_news;            /* news came since the turn began */
};

struct roster {
    struct map members;   /* by id */
    struct map feeds;     /* id -> struct feed_members */
    struct map endpoints; /* by URL */
    struct lanes lanes;   /* whose turn it is */
};

/* `max_turns`: reads and calls at once. */
void roster_init(struct roster *r, size_t max_turns);

/* Forget all members and endpoints, busy ones too. The notes of turns.c are not freed. */
void roster_release(struct roster *r);

/* The member of a subscription, or NULL. */
struct member *roster_find(const struct roster *r, int64_t id);

/* A new member of this endpoint, idle, without feeds. The id must not be there. `is_failing`: its
 * last call failed; an endpoint that is new here becomes a suspect by that. */
struct member *roster_add(struct roster *r, int64_t id, struct str endpoint, bool is_failing);

/* Remove and free. */
void roster_del(struct roster *r, struct member *m);

/* Set its feeds, in any order. False: they were the same. */
bool roster_set_feeds(struct roster *r, struct member *m, const int64_t *ids, size_t n);

/* Members that have the feed, in the order in which they came to it. NULL when n is 0. Borrowed
 * until a member's feeds change. */
struct member *const *roster_of_feed(const struct roster *r, int64_t feed_id, size_t *n_out);

/* Put the member at the end of its endpoint's queue; take it out. */
void roster_due(struct roster *r, struct member *m);
void roster_undue(struct roster *r, struct member *m);

/* Choose the member that has the next turn, or NULL. The member is taken out of the queue, and its
 * endpoint is busy until roster_done().
 */
struct member *roster_next(struct roster *r);

/* An endpoint whose call takes too long now that others wait (lanes_look()), or NULL. */
struct endpoint *roster_look(struct roster *r, int64_t mono_ms);

/* The turn is over. The endpoint may be gone afterwards. */
void roster_done(struct roster *r, struct endpoint *e, enum lanes_end end, int64_t mono_ms);
