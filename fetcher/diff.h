/* fetcher/diff.h - a parsed document against what is known of its feed. Pure, any thread. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "model/document.h"
#include "storage/store.h"

/* What the comparison needs to know: out[0..n) are the uids of the entries (null for doubles) and
 * after them the refs of the tombstones; ask the store for all of them. Arena strings. */
size_t diff_uids(struct arena *a, const struct feed_doc *doc, struct str **out);

/* The changes, in document order, deletions last. known[i] is of uid i; for null uids it is not
 * looked at. `received_at`: Unix seconds, the date of undated entries that are new or changed;
 * their documents are completed with it (feed/complete.h). Returns their number; *out and all
 * strings are in the arena or the document, but each change's `doc` is in `docs`, so that it can
 * travel alone.
 *
 * A known essence in other bytes becomes a volatile_only change. A tombstone deletes an entry that
 * is known and that the document does not show with a later `updated` (RFC 6721 §3); one without
 * time, or for an unknown entry, does nothing. An entry over LIMIT_ENTRY loses its content. */
size_t diff_document(struct arena *a, struct arena *docs, const struct feed_doc *doc,
                     const struct str *uids, const struct known_entry *known, int64_t received_at,
                     struct entry_change **out);

/* The deletion of an entry at a time; `ext`: the tombstone as XML, or empty. Borrows its strings.
 */
struct entry_change diff_deletion(struct str uid, int64_t when_at, struct str ext);
