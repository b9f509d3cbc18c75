/* model/keep.h - how much of the past of a feed is kept: wishes, and which of them counts. Pure.
 *
 * A subscription may have a wish, and so may the feed itself. A subscription without one wishes
 * what its feed does, and that failing what the options say. The widest wish counts, so nobody can
 * have taken away what another one wants to be there.
 */
#pragma once

#include <stdint.h>

#define KEEP_ALL INT64_MAX /* as a wish: everything */
#define KEEP_NONE (-1)     /* in a change: no wish from now on; 0: it stays */

#define KEEP_ENTRIES_MAX 1000000

struct keep {
    int64_t age_s;   /* since it was received; 0: no wish */
    int64_t entries; /* of the feed, the newest ones; 0: no wish */
};

/* The wishes that concern a feed. */
struct keep_wishes {
    int64_t feed_id;
    struct keep own;         /* of the feed itself */
    int64_t n_subs;          /* subscriptions */
    struct keep least, most; /* of them: a least of 0 is one without a wish */
};

/* Make a change: KEEP_NONE, 0, or a new wish. */
void keep_set(struct keep *k, const struct keep *change);

/* The widest of two wishes, age and number each for itself. */
struct keep keep_widest(const struct keep *a, const struct keep *b);

/* What counts for the feed, where `options` has no 0; nor has the result. */
struct keep keep_that_counts(const struct keep_wishes *w, const struct keep *options);
