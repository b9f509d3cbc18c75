/* net/xmlrpc_shim.h - text on its way through xmlrpc-c, which cannot carry all of it.
 *
 * Inside the library, characters beyond the BMP, carriage returns and the private-use characters
 * that stand for them are written as pairs of private-use characters; what XML 1.0 forbids is
 * dropped. The mapping is lossless for everything else. Pure functions, any thread.
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

/* Append a document that xmlrpc-c wrote, with its texts mapped back: finished XML, UTF-8. */
void unshim_document(struct buf *out, struct str s);

/* An <i8> becomes a string that starts with this mark. No other text starts with it. The library
 * crashes on an <i8> that is not a number. */
#define SHIM_I8 STR("\xEE\xA0\x80\xEE\xA0\x82")

/* A document from outside, in any encoding named by its byte order mark, its XML declaration or
 * the charset of `content_type` (in this order; else UTF-8), as plain XML without declaration,
 * attributes, comments, CDATA sections and numeric references, ready for xmlrpc-c. RC_INPUT: a
 * DOCTYPE, markup that is not well-formed, an unknown entity or encoding. RC_LIMIT: longer than
 * `max` bytes, or deeper than XML-RPC can be. */
enum rc shim_document(struct arena *a, struct str body, struct str content_type, size_t max,
                      struct str *out, struct err *err) NODISCARD;
