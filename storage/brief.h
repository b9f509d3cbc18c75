/* storage/brief.h - what the directory keeps of a feed, from the feed's row and what belongs to it.
 * Pure; any thread. */
#pragma once

#include "storage/directory.h"
#include "storage/records.h"

/* Are metadata records of the feed asked for? Not of a feed that is not scheduled, or fails. */
bool brief_asks_contents(const struct feed *r);

/* Was it never a feed, has nobody subscribed to it, and has nobody asked for it since `before`
 * (Unix seconds)? It counts from when it was made: until it is fetched, its version is that time.
 */
bool brief_is_stray(const struct feed_brief *b, int64_t before);

/* `contents_at`: when the first open content may be asked for; TIME_UNKNOWN: none is open. Strings
 * are borrowed. */
struct directory_feed brief_of(const struct feed_row *row, int64_t contents_at,
                               const struct str *aliases, size_t n_aliases, int64_t event_seq);
