/* feed/identity.h - which entry is this, and has it changed? Pure.
 *
 * uid: the publisher's id, else link, else title+date, else a hash of the content. Doubles inside
 * one document get the next rule's id unless they are equal, in which case the first wins.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "model/document.h"

/* The uids of all entries of a document, uids[i] for entries[i]; STR_NULL for a double that is to
 * be left out. Arena strings. */
void identity_uids(struct arena *a, const struct feed_doc *doc, struct str *uids);

/* Hash of an entry's essence: its whole object form and foreign elements, less what is volatile
 * (comment counts, scores: the table in identity.c). Key order does not matter. */
void identity_essence(const struct doc_entry *e, unsigned char out[16]);
