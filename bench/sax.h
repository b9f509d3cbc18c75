/* bench/sax.h - libxml2's push parser with handlers that do nothing: the least that can be called
 * reading XML. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Push the document through in pieces of 16 KiB, over errors too. True when it is well-formed and
 * its encoding is right. Call xmlInitParser() once before. */
bool sax_read(struct str document);
