/* feed/complete.h - the members every stored entry has, whatever its publisher left out. Pure.
 *
 * Receivers and pages read id, title, link, summary and updated without asking. They are completed
 * once, when an entry is taken in, so that JSON answers and pushes are the stored object and
 * nothing else. Called by parse workers, after identity_essence(), before the object is serialized.
 */
#pragma once

#include "base/arena.h"
#include "model/document.h"

/* e->obj and what it lacks: title (empty), link (the first of its links, else the id if that is an
 * http(s) address, else empty), summary (its first content, else empty), updated with
 * updated_parsed (when it was published, else `received_at`, Unix seconds, as RFC 3339). Its id is
 * the uid, by which it stays the same for all who know it; another one that its publisher sends
 * stands as source_id. What else he sent stays as it is, an empty text too. A new dict in the arena
 * that shares the members of e->obj, which is left alone. */
struct value *entry_complete(struct arena *a, const struct doc_entry *e, struct str uid,
                             int64_t received_at);
