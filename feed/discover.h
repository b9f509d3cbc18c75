/* feed/discover.h - feeds that an HTML page announces. Pure.
 *
 * Counted is every link element outside comments, scripts and the like whose rel has `alternate`
 * and whose type is a feed type (RSS, Atom, RDF, JSON Feed and their x- and text/ forms), or whose
 * rel has `feed`. href is resolved against the first base element, else `page_url`; doubles are
 * dropped; document order.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

struct discovered_feed {
    struct str href;  /* absolute when page_url is */
    struct str type;  /* media type, lower case, parameters cut; null when missing */
    struct str title; /* null when missing */
};

/* The number of feeds; *out is in the arena. `content_type` (may be null) may name the charset. */
size_t discover_feeds(struct arena *a, struct str html, struct str page_url,
                      struct str content_type, struct discovered_feed **out);
