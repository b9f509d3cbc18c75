/* api/views/feed_why.h - says in a sentence why a feed is fetched when it is. Pure; any thread. */
#pragma once

#include "base/arena.h"
#include "model/feed.h"
#include "model/levels.h"

/* Why the next fetch is at that time. A literal, or in the arena. */
struct str feed_why_next(struct arena *a, const struct feed *feed, const struct levels *levels);

/* Why a fetch was made. */
const char *feed_why_then(enum fetch_reason reason);
