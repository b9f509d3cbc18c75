/* storage/dir_seqs.h - a number of each of a few feeds, such as up to where retention has taken something: a part of
 * the directory. The directory's lock guards it.
 *
 * Nearly no feed has such a number, or nearly all have one. So the numbers stand apart from the rows of
 * feeds, in slabs that are there only if they have a number.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct dir_seqs {
    int64_t **slabs; /* by id; NULL: none of its feeds has a number */
    size_t cap;
};

void dir_seqs_release(struct dir_seqs *s);

/* `seq`, not negative. 0: the feed has none, or is not there any more. */
void dir_seqs_set(struct dir_seqs *s, int64_t feed_id, int64_t seq);

/* The number of a feed; 0: it has none. Unknown ids have none. */
int64_t dir_seqs_of(const struct dir_seqs *s, int64_t feed_id);

/* The highest one of these feeds, and of all. */
int64_t dir_seqs_highest_of(const struct dir_seqs *s, const int64_t *ids, size_t n);
int64_t dir_seqs_highest(const struct dir_seqs *s);
