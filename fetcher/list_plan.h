/* fetcher/list_plan.h - what an answer of a list of feeds changes in a subscription that follows
 * it. Pure, any thread.
 *
 * Feeds come, move and are renamed by one answer. A feed that an answer lacks is marked; it is
 * taken out when the next answer names the same feeds again. So one bad answer takes nothing away.
 * A list without feeds changes nothing, however often it comes. */
#pragma once

#include "storage/store.h"

struct list_item {
    int64_t feed_id;     /* 0: it is not known here */
    struct feed_ref ref; /* with the names and folders of the list */
};

struct list_answer {
    const struct list_item *items; /* each feed once */
    size_t n;
    bool is_same; /* the list is as it was: nothing is in `items` */
    bool is_cut;  /* a part of the list could not be read, so what is not in `items` may be in it */
};

/* Fill *out. At most `max_unknown` feeds that are not known here are added, and a subscription has
 * at most LIST_FEEDS_MAX feeds. Returns how many feeds were left out for that. All memory is in `a`
 * or borrowed. */
#define LIST_FEEDS_MAX LIMIT_OPML_OUTLINES
size_t list_plan(struct arena *a, const struct subscription *sub, const struct list_answer *in,
                 size_t max_unknown, struct list_sync *out);
