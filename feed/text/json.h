/* feed/text/json.h - writes the object form as JSON text, and reads JSON text. Pure.
 *
 * The writer streams its output and escapes strings in one place; the reader is jansson's. Output
 * is RFC 8259 UTF-8 without unnecessary space. U+2028, U+2029 and `</` are escaped so that the text
 * can stand in an HTML page.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/value.h"

void json_write(struct buf *out, const struct value *v);
void json_write_text(struct buf *out, struct str s); /* with its quotes */

/* Does a string of this JSON text have the character U+0000, which cannot be kept in every database? */
bool json_has_nul(struct str text);

/* Parse one JSON text. RC_INPUT: the error has position and reason. RC_LIMIT: more than
 * LIMIT_JSON_DEPTH levels or LIMIT_JSON_VALUES values. Integers that fit become VAL_INT, all other
 * numbers VAL_REAL. U+0000 in a string becomes U+FFFD. If a key occurs twice, the last value
 * counts. */
enum rc json_read(struct arena *a, struct str text, struct value **out, struct err *err) NODISCARD;
