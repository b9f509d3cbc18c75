/* fetcher/past.h - fills the part of an outcome that tells about the feed's past. Pure, any thread.
 */
#pragma once

#include "base/arena.h"
#include "feed/lists/history.h"
#include "fetcher/job.h"
#include "storage/store.h"

/* Fill *out from the document. `may_be_feed`: the document before this one may be at the feed's own
 * URL, which was asked first and led here. */
void past_of(struct arena *a, const struct job *job, const struct feed_doc *doc,
             const struct feed_history *history, bool may_be_feed, struct doc_past *out);

/* Returns true when the feed is known to have metadata records. */
bool past_is_harvested(const struct feed *feed);
