/* api/negotiate.h - which representation a client gets. Pure. RFC 9110 §12.5. */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "feed/writer.h"

/* The format an Accept field (null: none) likes best; Atom where it does not care. False: none of
 * ours is acceptable. */
bool negotiate_format(struct str accept, enum feed_format *out);

/* The media types negotiate_format() knows, for the problem: separated by '|'. */
extern const char negotiate_offers[];

/* Shall the gzip variant be sent? */
bool negotiate_gzip(struct str accept_encoding);
