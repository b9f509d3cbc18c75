/* feed/words/excerpt.h - the beginning of a text. Pure. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

/* Returns `text` itself (plain, UTF-8) if it has at most `max` characters; 0: any number. Otherwise
 * its first whole words that fit, with an ellipsis after them that is not counted; if not even the
 * first one fits, the ellipsis alone. Words end where white space follows; in scripts that put no
 * spaces between words, between any two characters. A character is a code point; what a reader sees
 * as one is never divided. Arena. */
struct str excerpt(struct arena *a, struct str text, size_t max);
