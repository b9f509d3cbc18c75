/* net/xmlrpc_shim.h - maps text for xmlrpc-c, which cannot handle all characters, and maps it back.
 *
 * For the library, each character beyond the BMP, each carriage return, and each private-use
 * character that the mapping itself uses becomes a pair of private-use characters. Characters that
 * XML 1.0 forbids are dropped. All others come back unchanged. Pure functions, any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Map UTF-8 text to the form that xmlrpc-c can carry, and back. Invalid bytes become U+FFFD. The
 * result may be the argument itself. */
struct str shim_text(struct arena *a, struct str s);
struct str unshim_text(struct arena *a, struct str s);

/* Append a document that xmlrpc-c wrote, with its texts mapped back. The result is XML in UTF-8. */
void unshim_document(struct buf *out, struct str s);

/* An <i8> becomes a string that starts with this mark. No other text starts with it. The library
 * crashes on an <i8> that is not a number. */
#define SHIM_I8 STR("\xEE\xA0\x80\xEE\xA0\x82")

/* Make a document from outside ready for xmlrpc-c. *out is mapped XML without declaration,
 * attributes, comments, CDATA sections and numeric references. The encoding is the one of the byte
 * order mark, of the XML declaration, or of the charset of `content_type`, in this order; without
 * any of them it is UTF-8, or windows-1252 if the bytes are not UTF-8. RC_INPUT: the document has a
 * DOCTYPE, an unknown entity or an unknown encoding, or is not well-formed. RC_LIMIT: it is longer
 * than `max` bytes, or nested deeper than XML-RPC can be. */
enum rc shim_document(struct arena *a, struct str body, struct str content_type, size_t max,
                      struct str *out, struct err *err) NODISCARD;
