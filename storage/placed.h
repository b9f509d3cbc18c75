/* storage/placed.h - the feeds of a subscription in the order in which they were named. The rows of
 * an index come by feed, and sorting them here lets the first one come at once. */
#pragma once

#include "storage/store.h"

struct placed_feed {
    int64_t place;
    struct sub_feed feed;
};

/* Sort `n` feeds, at least one, and make them those of the subscription. Arena. */
void placed_set(struct placed_feed *feeds, size_t n, struct arena *a, struct subscription *out);

/* The feeds are in their order: the list that names them, which is the first one, becomes
 * out->list. */
void sub_take_list(struct subscription *out);
