/* api/http/negotiate.h - which representation a client gets. Pure. RFC 9110 section 12.5. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"
#include "model/format.h"

/* How much an Accept field (null: none) likes a format, by all media types that mean it: 0 (not at
 * all) to 1000. */
int negotiate_q(struct str accept, enum feed_format format);

/* The format with this trait that an Accept field likes best. Of formats that it likes equally the
 * first one is taken, and one that is named before one that another type means. False: none of them
 * is acceptable. */
bool negotiate_format(struct str accept, enum format_trait use, enum feed_format *out);

/* The media types of the formats with this trait, for a problem: "|" between them. */
const char *negotiate_offers(struct arena *a, enum format_trait use);

/* Shall the gzip variant be sent? */
bool negotiate_gzip(struct str accept_encoding);
