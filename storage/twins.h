/* storage/twins.h - which entry of a feed is the same as one of a document, by marks
 * (model/marks.h).
 *
 * All entries of the feed that are held (storage/rows.h) are sorted by their keys once, so that a
 * look-up costs little however many there are. Only the storer's thread uses it.
 */
#pragma once

#include "storage/rows.h"

struct twins {
    struct map keys; /* struct twins_of_key */
};

#define TWINS_INIT                                                                                 \
    {                                                                                              \
        .keys = MAP_INIT                                                                           \
    }

/* Sort the entries of the feed that are held now. The arena must live as long as *t. */
void twins_fill(struct twins *t, struct rows *r, int64_t feed_id, struct arena *a);
void twins_release(struct twins *t);

/* The entry whose marks leave no doubt that it is the same, the newest one if there are several.
 * NULL: there is none. Of entries that share a key, the newest TWINS_OF_KEY count. */
#define TWINS_OF_KEY 8
struct held_entry *twins_find(const struct twins *t, const struct entry_marks *marks);
