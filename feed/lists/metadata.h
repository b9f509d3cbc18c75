/* feed/lists/metadata.h - finds the content of a metadata record (Atom-PMH), and adds it to the
 * entry that links to it. Pure.
 *
 * An entry of such a feed has administrative metadata and alternate links. Each alternate is a
 * representation of the thing that the entry describes. The entry's own members stay as the feed
 * has them; members that only the representation has are added.
 */
#pragma once

#include "base/arena.h"
#include "feed/read/parse.h"
#include "model/value.h"

#define METADATA_ALTERNATES_MAX 8

struct metadata_alternate {
    struct str href; /* absolute, as the feed has it */
    struct str type; /* media type without parameters, lower case */
};

/* The alternates of a stored entry that can be used, the best first: an Atom entry document, then
 * an HTML page, plain text, other XML, JSON. Alternates of the same kind stay in the entry's order.
 * Pages and text are used only if they are on the feed's own host (`host`, lower case), because
 * ordinary feeds also link to other pages on the web. At most METADATA_ALTERNATES_MAX are written
 * to `out`. */
size_t metadata_alternates(struct arena *a, const struct value *entry, struct str host,
                           struct metadata_alternate *out);

/* Returns true when the document's entries are certainly metadata records: it has a deletion entry,
 * or an alternate that a feed reader cannot show. Entries that link only to web pages prove
 * nothing, because ordinary feeds have them too. */
bool metadata_is_evident(struct arena *a, const struct feed_doc *doc);

/* Read a representation that was requested as `type` (the type of an alternate). Add it to `entry`
 * (a dict, changed) and to *ext (its foreign elements). False: the representation is not of the
 * promised type, and nothing was changed. Strings live as long as the arena. */
bool metadata_read(struct arena *a, const struct parse_input *in, struct str type,
                   struct value *entry, struct str *ext);
