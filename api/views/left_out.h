/* api/views/left_out.h - tells in a field of the answer which feeds a merged document goes without. Pure. */
#pragma once

#include "api/views/gather.h"

#define FEEDS_LEFT_OUT "Feeds-Left-Out"

/* Returns the field, as a complete line: how many of these feeds were named by a URL and cannot be served, and the
 * URLs of the first of them, each with what a request for it alone would be answered. A List of RFC 9651. Null: there
 * are none. In the request's arena. */
struct str left_out_field(struct request *req, const struct gathered *items, size_t n);
