/* feed/read/xml_reader.h - reads XML text into builder calls, by the prefilter and libxml2's SAX2
 * push parser. */
#pragma once

#include "feed/read/builder.h"

/* Read `text` (valid UTF-8) into the builder; `guesses` as in prefilter.h. Returns NULL when the
 * text was well-formed, otherwise a sentence (in the arena or static) that says what was wrong.
 * *crossed: start and end tags did not match. */
const char *xml_read(struct builder *b, struct str text, bool guesses, bool *crossed);
