/* bench/sax.h - libxml2's push parser with handlers that do nothing: the least that can be called
 * reading XML. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Once, before anything else of libxml2: makes it ready, and silent. */
void sax_init(void);

/* Push the document through in pieces of 16 KiB, over errors too. True when it is well-formed and
 * its encoding is right. */
bool sax_read(struct str document);
