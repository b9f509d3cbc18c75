/* feed/xml_reader.h - text to builder calls: prefilter, then libxml2's SAX2 push parser. */
#pragma once

#include "feed/builder.h"

/* Read `text` (valid UTF-8) into the builder; `guesses` as in prefilter.h. NULL when it was
 * well-formed, else one sentence, in the arena, on what was not. *crossed: tags did not match. */
const char *xml_read(struct builder *b, struct str text, bool guesses, bool *crossed);
