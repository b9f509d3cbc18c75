/* feed/identity/complete.h - adds the members that every stored entry must have and that its
 * publisher left out. Pure.
 *
 * Receivers and pages read id, title, link, summary and updated without a check that they exist.
 * These members are added once, when an entry is taken in. So JSON answers and deliveries can send
 * the stored object as it is. Parse workers call this after identity_essence() and before the
 * object is serialized.
 */
#pragma once

#include "base/arena.h"
#include "model/document.h"

/* A new dict in the arena with the members of e->obj and those that it lacks. It shares the members
 * of e->obj, which is not changed. Added are: title (empty); link (the first of the entry's links,
 * else its id if that is an http(s) address and not a guid with isPermaLink="false", else empty);
 * summary (the first content, else empty); updated with updated_parsed (the time of publication,
 * else `received_at`, Unix seconds, as RFC 3339). The member id is the uid, so that it stays the
 * same for all readers. If the publisher sent another id, it is kept as source_id. All other
 * members that the publisher sent stay as they are, even empty texts. */
struct value *entry_complete(struct arena *a, const struct doc_entry *e, struct str uid,
                             int64_t received_at);
