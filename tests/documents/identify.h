/* tests/documents/identify.h - the uids that a document's entries get at first sight. */
#pragma once

#include "feed/identity/identity.h"

/* uids has room for doc->n_entries; null for doubles. Aborts when the same document, seen again,
 * would not be the same entries, whatever rule tells them apart. */
void identify(struct arena *a, const struct feed_doc *doc, struct str *uids);
