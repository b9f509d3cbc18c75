/* tests/documents/check_feed.h - what must hold for every document, whatever came in. */
#pragma once

#include "feed/read/parse.h"

/* Read it, identify its entries, store them as text, write them in every format, alone and merged,
 * and read those again: all of it valid UTF-8, well-formed XML and strict JSON with the same
 * entries, in time and memory that its length allows. Aborts where that is not so. */
void check_feed(const struct parse_input *in);
