/* storage/pg/octets.h - bytes that need not be UTF-8, in a column of type text.
 *
 * PostgreSQL takes no text that has U+0000 or is not UTF-8. A field of HTTP may be neither, and a
 * validator goes back to its publisher as it came. UTF-8 stays as it is. Else the text is U+0001
 * and, for each byte b, the character U+0100 + b. Bytes that begin with U+0001 are written so, too.
 * Pure.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

/* The text that stands for these bytes: `bytes` itself, or what is then in *buf. Null stays null.
 */
struct str pg_text_of_octets(struct str bytes, struct buf *buf);

/* The bytes for which the text stands: `text` itself, or what is then in *buf. */
struct str pg_octets_of_text(struct str text, struct buf *buf);
