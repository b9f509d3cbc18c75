/* feed/read/json_feed.h - JSON Feed 1 and 1.1 (jsonfeed.org) to the object form. Pure. */
#pragma once

#include "feed/read/parse.h"

/* Fill `doc` from a text that begins with '{'. If it is not a JSON Feed, the version stays empty.
 * `raw_html` as in struct parse_input. */
void json_feed_read(struct arena *a, struct str text, struct str base, bool raw_html,
                    struct feed_doc *doc);
