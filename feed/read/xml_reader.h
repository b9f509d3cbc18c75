/* feed/read/xml_reader.h - text to builder calls: prefilter, then libxml2's SAX2 push parser. */
#pragma once

#include "feed/read/builder.h"

/* Read `text` (valid UTF-8) into the builder; `guesses` as in prefilter.h. Returns NULL when the
 * text was well-formed, else a sentence, in the arena, that says what was wrong. *crossed: start
 * and end tags did not match. */
const char *xml_read(struct builder *b, struct str text, bool guesses, bool *crossed);
