/* feed/json_mend.h - JSON that is none, made into some. Pure, any thread. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

/* Append to `out` what was most likely meant by `text`: control characters within strings and
 * unpaired surrogates escaped, unknown escapes taken literally, commas before a closing bracket
 * left out; of a document that breaks off, all values that are complete. What follows the first
 * value is dropped. It may still be no JSON. Linear in time; at most six times the size. */
void json_mend(struct buf *out, struct str text);
