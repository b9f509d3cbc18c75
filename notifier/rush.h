/* notifier/rush.h - how many turns may begin at one moment.
 *
 * Hundreds of turns that begin together end no sooner than when some dozens begin at a time: one
 * thread makes their calls. But what they need does not fit into the cache of the processor any
 * more, and each takes longer.
 *
 * So of the turns that began in the last two milliseconds at most RUSH_MAX are under way. This
 * bounds the beginnings, not the turns: endpoints that answer later than that have as many turns at
 * once as lanes.h gives them, and RUSH_MAX of these begin every two milliseconds, which is as fast
 * as the thread can make calls.
 *
 * Pure: milliseconds of the monotonic clock are passed in.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RUSH_MAX 64
#define RUSH_MS 2

struct rush {
    int64_t since_ms; /* when the moment began */
    uint64_t moment;  /* its number */
    size_t n;         /* turns that began in it and have not ended */
};

/* Returns how many more turns may begin now. */
size_t rush_room(struct rush *r, int64_t mono_ms);

/* A turn begins, for which there was room. Returns the moment, for rush_end(). */
uint64_t rush_begin(struct rush *r);

/* A turn that began at this moment has ended. */
void rush_end(struct rush *r, uint64_t moment);
