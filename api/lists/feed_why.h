/* api/lists/feed_why.h - says in a sentence why a feed is fetched when it is. Pure; any thread. */
#pragma once

#include "base/arena.h"
#include "model/feed.h"

/* Why the next fetch is at that time. `period_s`: that of the feed's level, or its exact one. A
 * literal, or in the arena. */
struct str feed_why_next(struct arena *a, enum fetch_reason reason, int64_t period_s, int n_errors);

/* Why a fetch was made. */
const char *feed_why_then(enum fetch_reason reason);
