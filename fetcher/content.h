/* fetcher/content.h - where the source "content" (content.c) asks. */
#pragma once

#include "base/arena.h"
#include "storage/store.h"

/* The host of the next content of a feed, or the feed's own host when no content is pending, or `r`
 * is NULL. In the arena. The reader's thread. */
struct str content_host(struct arena *a, int64_t feed_id, struct str feed_url, struct reader *r);
