/* storage/placed.c - see placed.h. */
#include "storage/placed.h"

#include <stdlib.h>

static int by_place(const void *x, const void *y)
{
    const struct placed_feed *a = x, *b = y;

    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return (a->feed.feed_id > b->feed.feed_id) - (a->feed.feed_id < b->feed.feed_id);
}

void placed_set(struct placed_feed *feeds, size_t n, struct arena *a, struct subscription *out)
{
    if (n > 1)
        qsort(feeds, n, sizeof *feeds, by_place);
    out->feeds = ARENA_ARRAY(a, struct sub_feed, n);
    for (size_t i = 0; i < n; i++)
        out->feeds[i] = feeds[i].feed;
    out->n_feeds = n;
    sub_take_list(out);
}

void sub_take_list(struct subscription *out)
{
    if (out->n_feeds == 0 || out->feeds[0].listed != LISTED_LIST)
        return;
    out->list = out->feeds++;
    out->n_feeds--;
}
