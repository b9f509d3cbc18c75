/* notifier/rush.c - see rush.h. */
#include "notifier/rush.h"

size_t rush_room(struct rush *r, int64_t mono_ms)
{
    if (mono_ms - r->since_ms >= RUSH_MS) {
        r->since_ms = mono_ms;
        r->moment++;
        r->n = 0;
    }
    return RUSH_MAX - r->n;
}

uint64_t rush_begin(struct rush *r)
{
    r->n++;
    return r->moment;
}

void rush_end(struct rush *r, uint64_t moment)
{
    if (moment == r->moment)
        r->n--;
}
