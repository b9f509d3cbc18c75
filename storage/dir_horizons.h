/* storage/dir_horizons.h - up to where retention has taken something, of each feed: a part of the
 * directory. The directory's lock guards it.
 *
 * Nearly no feed has a horizon, or nearly all have one. So the numbers stand apart from the rows of
 * feeds, in slabs that are there only if they have a number.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct dir_horizons {
    int64_t **slabs; /* by id; NULL: nothing was taken of any of its feeds */
    size_t cap;
};

void dir_horizons_release(struct dir_horizons *h);

/* 0: nothing was taken of this feed, or it is not there any more. */
void dir_horizons_set(struct dir_horizons *h, int64_t feed_id, int64_t horizon);

/* The highest one of these feeds; 0: they have none. Unknown ids have none. */
int64_t dir_horizons_of(const struct dir_horizons *h, const int64_t *ids, size_t n);

/* The highest one of all feeds. */
int64_t dir_horizons_highest(const struct dir_horizons *h);
