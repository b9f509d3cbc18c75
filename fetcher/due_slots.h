/* fetcher/due_slots.h - the slots of which what is due is to be read (fetcher/ownership.h). Slots
 * come in parts, and a read goes through all feeds: one runs at a time, and what comes meanwhile is
 * collected for the next one. Pure. */
#pragma once

#include "storage/nodes.h"

struct due_slots {
    struct slot_set gained;  /* to be read */
    struct slot_set reading; /* what the read that runs looks for; it does not change meanwhile */
    bool has_changes;        /* slots were gained or lost since the last read began */
    bool is_reading;
};

/* Slots were gained; the set is empty if some were only lost. */
void due_slots_add(struct due_slots *d, const struct slot_set *gained);

/* Begin to read d->reading. False: there is nothing to do, or a read runs. */
bool due_slots_begin(struct due_slots *d);

/* The read has ended. `is_read` false: it has failed, so it is to be done again. */
void due_slots_end(struct due_slots *d, bool is_read);
