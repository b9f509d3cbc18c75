/* notifier/owned.h - which endpoints this node calls, and the permission to call one.
 *
 * An endpoint is in the slot of its host (storage/nodes.h). Those of XMPP are all in the slot of
 * our own address there, because only one node can be the component of that name. A node's set of
 * slots changes by what it is told, so all parts of the notifier see one change after the other.
 * Belongs to the notify loop's thread.
 */
#pragma once

#include "storage/nodes.h"

struct owned {
    struct nodes *nodes; /* borrowed; NULL: there is one node */
    struct str xmpp;     /* our address at the XMPP server; null: there is none */
    int64_t lapse_ms;    /* so long a call of an owner that was lost may still run */
    bool is_shared;      /* there may be others */
    struct slot_set slots;
    struct slot_set unread; /* of these, those whose subscriptions are not all read yet */
};

/* `nodes` NULL: everything is ours. Else nothing is, before owned_change(). Both are borrowed. */
void owned_init(struct owned *o, struct nodes *nodes, struct str xmpp);

/* Take a change, the losses first. A slot that was gained gives no permission until owned_read()
 * says that all subscriptions have been read since: any of them may have a pause that holds for its
 * endpoint. */
void owned_change(struct owned *o, const struct slot_set *gained, const struct slot_set *lost);
void owned_read(struct owned *o);

/* The slot of the endpoint, or callback, with this URL. */
unsigned owned_slot(const struct owned *o, struct str url);

/* Is it ours to call this endpoint? */
static inline bool owned_has(const struct owned *o, unsigned slot)
{
    return slot_set_has(&o->slots, slot);
}

/* The permission to call an endpoint. The slot is not given to another node while we hold it. */
struct permit {
    bool is_held;
    struct node_claim claim;
};

/* Get one. False: not now; *wait_ms says when to ask again. Then the slot is no longer ours, and we
 * have not been told yet; or its subscriptions have not been read yet; or its last owner was lost,
 * and may still have a call there. */
bool permit_get(const struct owned *o, struct str url, struct permit *p, int64_t *wait_ms);

/* May the call go on? False: cut it off. True without a permit, as of tests. */
bool permit_is_good(const struct owned *o, const struct permit *p);

/* A loop had its last turn at `last_ms` (monotonic): must it cut off everything first? */
bool owned_is_gap(const struct owned *o, int64_t last_ms);

/* Nothing runs there any more. Without a permit nothing happens. */
void permit_end(const struct owned *o, struct permit *p);
