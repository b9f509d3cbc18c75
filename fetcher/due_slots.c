/* fetcher/due_slots.c - see due_slots.h. */
#include "fetcher/due_slots.h"

void due_slots_add(struct due_slots *d, const struct slot_set *gained)
{
    for (unsigned i = 0; i < SLOTS; i++)
        if (slot_set_has(gained, i))
            slot_set_add(&d->gained, i);
    d->has_changes = true;
}

bool due_slots_begin(struct due_slots *d)
{
    if (!d->has_changes || d->is_reading)
        return false;
    d->reading = d->gained;
    d->gained = (struct slot_set){{0}};
    d->has_changes = false;
    d->is_reading = true;
    return true;
}

void due_slots_end(struct due_slots *d, bool is_read)
{
    d->is_reading = false;
    if (!is_read)
        due_slots_add(d, &d->reading);
}
