/* feed/text/utf8.h - bytes of others as text. Pure. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

/* `s` itself if all of it is valid UTF-8. Otherwise a copy with U+FFFD for each byte that is not.
 */
struct str utf8_of(struct arena *a, struct str s);
