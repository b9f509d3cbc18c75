/* base/visible.h - text of others for eyes: without characters that are not seen. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

/* Returns the text without control and format characters (Unicode Cc and Cf): they can move the
 * cursor of a terminal, turn the direction of what follows, or hide words. Each control character,
 * line separator, and byte that is not UTF-8 becomes a space; format characters are left out. `text`
 * itself if it has none; otherwise in the arena. Null stays null. */
struct str visible(struct arena *a, struct str text);

/* Is this character seen, or a space? */
bool visible_is(uint32_t cp);

/* Read one character of `s` (not empty) at its beginning. Returns its length; *cp is 0xFFFD for a
 * byte that is not UTF-8. */
size_t visible_next(struct str s, uint32_t *cp);
