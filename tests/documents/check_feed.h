/* tests/documents/check_feed.h - what must hold for every document, whatever came in. */
#pragma once

#include "feed/read/parse.h"

enum check_as { CHECK_ALONE = 1, CHECK_MERGED = 2, CHECK_BOTH = CHECK_ALONE | CHECK_MERGED };

/* Read it, identify its entries, store them as text, write them in every format, alone or merged or
 * both, and read those again: all of it valid UTF-8, well-formed XML and strict JSON with the same
 * entries, in time and memory that its length allows. Aborts where that is not so. */
void check_feed(const struct parse_input *in, enum check_as as);
