/* notifier/watch.h - the clock of calls under way, which stands still while nobody looks at them.
 *
 * A busy machine may stop the daemon for a second. Answers that came meanwhile are read only
 * afterwards. That time must not make their endpoints late (lanes.h): those that are late beside
 * many dead ones wait long for their next turn.
 *
 * Pure: milliseconds of the monotonic clock are passed in.
 */
#pragma once

#include <stdint.h>

#define WATCH_LOOK_MS 25   /* between looks */
#define WATCH_STALL_MS 100 /* a longer pause between looks counts as WATCH_LOOK_MS */

struct watch {
    int64_t looked_ms; /* the last look */
    int64_t stood_ms;  /* so long it has stood still */
};

/* The looks begin, because calls are about to begin and none is under way. */
void watch_start(struct watch *w, int64_t mono_ms);

/* Somebody looks. Returns the time that the watch shows. */
int64_t watch_look(struct watch *w, int64_t mono_ms);

/* Returns the time that the watch shows. */
int64_t watch_now(const struct watch *w, int64_t mono_ms);
