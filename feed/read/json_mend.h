/* feed/read/json_mend.h - repairs text that is almost JSON. Pure, any thread. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

/* Append to `out` the JSON that `text` most likely means. Control characters in strings and
 * unpaired surrogates are escaped; unknown escapes are taken literally; a comma before a closing
 * bracket is left out. If the text breaks off, all complete values are kept. Text after the first
 * value is dropped. The result may still be invalid JSON. Time is linear; the result is at most six
 * times as long as the text. */
void json_mend(struct buf *out, struct str text);
