/* storage/membership.h - what one node may work on: its lease, its slots, and what the answer to a
 * beat means. Pure: times are given.
 *
 * A node writes a row into the database, its beat, a few times in each lease. The others take its
 * slots when its lease has ended by the database's clock, which begins to count after the beat was
 * sent. The node itself trusts its lease for two thirds of that time, by its own monotonic clock,
 * from the moment at which it sent the beat. So no two clocks are compared, and what the node
 * starts in the last moment of its trust has a third of the lease before another node begins.
 */
#pragma once

#include "base/str.h"
#include "storage/slot_set.h"
#include "storage/slots.h"

#define NODE_LEASE_MS 15000

struct member_slot {
    enum slot_step step; /* SLOT_NONE, SLOT_KEEP or SLOT_DRAIN */
    int64_t fence;
    int64_t taken_ms; /* when we learned that it is ours */
    int64_t drain_ms; /* SLOT_DRAIN: since when */
    bool was_left; /* its last owner has not given it back: something of it may still run there */
};

struct membership {
    int64_t id; /* of our row; 0: there is none, so nothing is ours */
    int64_t lease_ms;
    int64_t sent_ms;  /* when the last beat that was answered was sent */
    int64_t tried_ms; /* when the last beat was begun */
    bool has_failed;  /* that one was not answered */
    bool is_draining; /* we are to give back all slots. Only a new membership ends that */
    size_t n_take;    /* free slots that we want */
    int64_t n_lapses; /* so often a beat was answered after the trust had ended */
    struct member_slot slots[SLOTS];
};

void membership_init(struct membership *m, int64_t lease_ms);

/* There is a new row, and no slot yet. */
void membership_joined(struct membership *m, int64_t id, int64_t sent_ms);

/* Our row is gone, or its lease has ended: nothing is ours any more. */
void membership_drop(struct membership *m);

/* Is the lease trusted? For how many milliseconds still? */
bool membership_is_trusted(const struct membership *m, int64_t now_ms);
int64_t membership_left_ms(const struct membership *m, int64_t now_ms);

/* A slot in which work may begin now; NULL: none may. */
const struct member_slot *membership_slot(const struct membership *m, unsigned slot,
                                          int64_t now_ms);

/* May work that began in this slot with this fence go on? It has a lease's time to end after the
 * slot is to be given back. */
bool membership_may_go_on(const struct membership *m, unsigned slot, int64_t fence, int64_t now_ms);

/* A loop had its last turn at `last_ms`. True: that is so long ago that another node may have taken
 * over what runs here, so it must be cut off before anything else. */
bool membership_is_gap(const struct membership *m, int64_t last_ms, int64_t now_ms);

/* What others were told last: the fences of the slots in which work may begin; 0: it may not. */
struct member_told {
    int64_t fences[SLOTS];
    int64_t n_lapses; /* of the membership at that time */
};

/* Compare `told` with what is so now, and bring it up to date. *gained: the slots in which work may
 * begin that could not before; *lost: those in which it may no longer. A slot is in both when
 * another node has had it meanwhile, or when the lease was not trusted for a while. Returns false
 * when nothing has changed. */
bool membership_changes(const struct membership *m, struct member_told *told, int64_t now_ms,
                        struct slot_set *gained, struct slot_set *lost);

/* How many slots are ours, also those that are to be given back. */
size_t membership_n_slots(const struct membership *m);

/* ---- beats ----------------------------------------------------------------------------------- */

/* What a beat does beside saying that we live. */
struct beat {
    int64_t id, lease_ms;
    int64_t notice; /* the last notice that was followed; -1: all are */
    bool is_draining;
    size_t n_give, n_take;
    int64_t give[SLOTS];
};

/* A node that is alive. */
struct node_row {
    int64_t id;
    struct str name, address, program;
    int64_t beat_us; /* by the database's clock */
    int64_t notice;
    bool is_draining;
};

struct beat_answer {
    int64_t sent_ms;   /* monotonic: just before it was sent */
    bool is_gone;      /* our row is gone, or its lease had ended; then all else is not known */
    int64_t now_us;    /* the database's clock */
    int64_t forked_us; /* the same, when a server took over last that may lack the last commits; 0:
                          that has never happened */
    int64_t schema_version; /* of the database */
    int64_t last_notice;
    struct node_row *nodes; /* arena */
    size_t n;
    struct slot_state slots[SLOTS];
};

/* When the next beat is due. `n_running[i]`: so much work runs in slot i. */
int64_t membership_next_ms(const struct membership *m, const unsigned n_running[SLOTS]);

/* What the beat that is sent now is to do: slots are given back in which nothing runs. */
void membership_ask(struct membership *m, int64_t now_ms, const unsigned n_running[SLOTS],
                    struct beat *out);

enum member_news {
    MEMBER_AS_BEFORE,
    MEMBER_GONE,     /* join anew */
    MEMBER_DRAINS,   /* somebody has ordered it */
    MEMBER_REPLACED, /* a newer node has our name */
    MEMBER_OUTDATED, /* a newer program has changed the schema */
    MEMBER_WAITS,    /* another server has taken over: it has lost its slots for now */
};

/* Take the answer. `name`: ours; `schema_version`: that we know. */
enum member_news membership_told(struct membership *m, const struct beat_answer *a, struct str name,
                                 int64_t schema_version, int64_t now_ms);

/* The beat was not answered. What it did is seen in the next answer. */
void membership_failed(struct membership *m);
