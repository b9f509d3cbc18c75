/* storage/slots.h - who works on which hosts: slots of host names, divided among nodes. Pure.
 *
 * All feeds of a host are in one slot, and all endpoints of a host are, so limits and pauses of a
 * host are kept by one node. A slot has one owner at most. It changes hands in two steps: its owner
 * starts nothing there any more, and gives it back when nothing runs; then another node takes it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "storage/slot_set.h"

/* Its owner does what one node does for all. */
#define LEADERS_SLOT 0

/* The slot of a host, named as "host:port" in lower case. */
unsigned slot_of(struct str authority);

/* A node that is alive. */
struct slot_node {
    int64_t id; /* not 0 */
    bool is_draining;
};

/* A slot, as it stands in the database. */
struct slot_state {
    int64_t owner; /* 0: nobody */
    int64_t fence; /* grows when it changes hands; 0: nobody has had it */
    int64_t given; /* the fence with which its last owner gave it back */
};

/* What a node is to do with a slot. */
enum slot_step {
    SLOT_NONE,  /* it is not ours, and is not to be */
    SLOT_KEEP,  /* it is ours */
    SLOT_DRAIN, /* it is ours, and another node is to have it: start nothing there */
    SLOT_TAKE,  /* it is free, and is to be ours */
};

/* How many slots a node is to have: all nodes that are not draining have the same number, or one
 * more than the others. 0 when it drains or is not in the list. */
size_t slots_share(int64_t me, const struct slot_node *nodes, size_t n);

/* Decide for all slots. `was`: what was decided before; a slot that is being drained goes on being
 * drained as long as one must go. Nodes that see the same rows never want more slots together than
 * there are, and when every node follows its plan, each slot has an owner and nothing moves any
 * more. */
void slots_plan(int64_t me, const struct slot_node *nodes, size_t n,
                const struct slot_state slots[SLOTS], const enum slot_step was[SLOTS],
                enum slot_step out[SLOTS]);
