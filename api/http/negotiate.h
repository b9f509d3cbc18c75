/* api/http/negotiate.h - chooses the representation that a client gets (RFC 9110 section 12.5).
 * Pure, any thread. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"
#include "model/format.h"

/* How much an Accept field prefers a format, 0 (not at all) to 1000, by any of the media types that
 * mean it. `accept` null: there is no such field. */
int negotiate_q(struct str accept, enum feed_format format);

/* Find the format with this trait that an Accept field prefers. If it prefers several formats
 * equally, a format that it names by its own media type wins, and then the first one in the table.
 * False: the field accepts none of them. */
bool negotiate_format(struct str accept, enum format_trait use, enum feed_format *out);

/* The media types of the formats with this trait, with "|" between them, for a problem. Arena. */
const char *negotiate_offers(struct arena *a, enum format_trait use);

/* Does an Accept-Encoding field want the gzip variant? */
bool negotiate_gzip(struct str accept_encoding);
