/* notifier/roster.h - the subscriptions in memory, as members. They are found by id, by feed and by
 * endpoint.
 *
 * The roster is a cache of the database: ids, endpoints, sets of feeds, and the state of each
 * delivery. An idle member has no timer and is in no queue. Belongs to the notify loop's thread. */
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
struct hold;
struct turn;
struct turns;
struct ack;
struct push_test;
struct member;
TAILQ_HEAD(member_list, member);

/* One callback URL. Its subscriptions take turns, one call at a time. It lives as long as it has
 * members, is busy or is held: whoever subscribes it again must not be faster than a hold. */
struct endpoint {
    const char *url; /* the key in roster.endpoints */
    size_t n_members;
    struct member_list due; /* members that are due, in the order in which they became due */
    struct lane lane;       /* busy: a read or call of a member is under way */
    struct turn *turn;      /* set by turns.c: that read or call */
    unsigned slot;          /* set by turns_add() (notifier/owned.h) */
    bool had_test;          /* its last turn was that of a test */
    struct hold *hold; /* set by roster_hold(): it wants no call now, except of a test; or NULL */
};

struct member {
    int64_t id;
    struct endpoint *endpoint;
    enum attempt_state state;
    uint32_t n_feeds;
    union {
        int64_t one;   /* n_feeds == 1: its id */
        int64_t *many; /* more: their ids, ascending */
    } feeds;
    TAILQ_ENTRY(member) due; /* in endpoint->due while the state is ATTEMPT_DUE */

    /* set by turns.c */
    struct turns *turns;
    struct loop_timer *timer; /* ATTEMPT_WAITING; or a write that is tried again */
    struct turn *turn;        /* ATTEMPT_READING, _REREADING, _CALLING until the answer came */
    struct ack *ack;          /* ATTEMPT_ACKING: the outcome that is being written */
    int32_t pause_ms;         /* length of the next wait */
    bool has_news;            /* news came since the turn began */
    bool is_leaving;          /* its slot was lost: it goes when nothing of it is under way */
    bool is_asked;            /* somebody resumed it: its next call does not wait for its carrier */
    uint8_t n_halved;         /* outcome_halvings() of the outcomes so far, outcome_halved() */
    struct push_test *test;   /* not NULL: it stands for this test, not for a subscription; its id
                                 is below 0. It goes before the others of its endpoint, but
                                 of two turns one is for them */
};

static inline void member_set_pause(struct member *m, int64_t ms)
{
    m->pause_ms = ms < INT32_MAX ? (int32_t)ms : INT32_MAX;
}

struct roster {
    struct map members;   /* by id */
    struct map feeds;     /* id -> struct feed_members */
    struct map endpoints; /* by URL */
    struct lanes lanes;   /* whose turn it is */
    size_t n_only_held;   /* endpoints that are held and have no member */
};

/* Returns true when so many endpoints are held without any member that a hold must not keep one
 * more in memory. */
#define ROSTER_ONLY_HELD_MAX 1000
static inline bool roster_is_full(const struct roster *r)
{
    return r->n_only_held >= ROSTER_ONLY_HELD_MAX;
}

/* `max_turns`: at most so many reads and calls at once. */
void roster_init(struct roster *r, size_t max_turns);

/* Forget all members and endpoints, including busy ones. What turns.c has set is not freed. */
void roster_release(struct roster *r);

/* Returns the member of a subscription, or NULL. */
struct member *roster_find(const struct roster *r, int64_t id);

/* Add a member of this endpoint. It is idle and has no feeds. There must be no member with this
 * id. `is_failing`: its last call failed; if the endpoint is new in the roster, it becomes a
 * suspect. */
struct member *roster_add(struct roster *r, int64_t id, struct str endpoint, bool is_failing);

/* Remove the member and free it. */
void roster_del(struct roster *r, struct member *m);

/* Set the member's feeds, in any order. False: it had the same feeds before. */
bool roster_set_feeds(struct roster *r, struct member *m, const int64_t *ids, size_t n);

/* Returns the members that have the feed, in the order in which they got it. NULL when n is 0.
 * Borrowed until the feeds of a member change. */
struct member *const *roster_of_feed(const struct roster *r, int64_t feed_id, size_t *n_out);

/* roster_due() puts the member at the end of its endpoint's queue; roster_undue() takes it out. */
void roster_due(struct roster *r, struct member *m);
void roster_undue(struct roster *r, struct member *m);

/* Choose the member that has the next turn, or NULL. The member is taken out of the queue, and its
 * endpoint is busy until roster_done().
 */
struct member *roster_next(struct roster *r);

/* Returns an endpoint whose call must be cut because others wait (lanes_look()), or NULL. */
struct endpoint *roster_look(struct roster *r, int64_t mono_ms);

/* Returns the busy endpoint after `after`, or the first one. NULL: that was the last. */
struct endpoint *roster_busy(const struct roster *r, const struct endpoint *after);

/* Hold the endpoint: its members have no turns, until it is set to NULL again. Then the endpoint
 * may be freed by this call. */
void roster_hold(struct roster *r, struct endpoint *e, struct hold *hold);

/* The turn is over. The endpoint may be freed by this call. */
void roster_done(struct roster *r, struct endpoint *e, enum lanes_end end, int64_t mono_ms);
