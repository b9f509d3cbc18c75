/* bench/sax.h - libxml2's push parser with handlers that do nothing: the least work that counts as
 * reading XML. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Make libxml2 ready, and silent. Call it once, before any other call of libxml2. */
void sax_init(void);

/* Push the document through in pieces of 16 KiB; errors do not stop it. Returns true when the
 * document is well-formed and its encoding is right. */
bool sax_read(struct str document);
