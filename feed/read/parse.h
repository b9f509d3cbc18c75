/* feed/read/parse.h - parses the bytes of a document into the object form. Pure, any thread.
 *
 * It uses no clock, no network and no globals; call xmlInitParser() once before threads start.
 * The same bytes give the same result. RSS 0.9x/1.0/2.0, Atom 0.3/1.0 and JSON Feed are
 * recognised by their content, not by media type. Parsing never fails: a document that is not a
 * feed has version "", and `bozo_why` says why. Depth, entries, attributes and output are limited
 * (base/limits.h). */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "model/document.h"

struct parse_input {
    struct str body;             /* without content coding, in its own charset */
    struct str url;              /* its URL, for relative references; null: unknown */
    struct str content_type;     /* whole value of the field; null: unknown */
    struct str content_location; /* used as base instead of `url`; may be null */
    struct str content_language; /* default language; may be null */
    bool raw_html;               /* HTML is kept as it was written: neither made safe, nor its
                                    references absolute */
};

/* Parse a document. The result is in the arena, is never NULL, and borrows nothing of the input.
 * Each thread needs its own arena. */
struct feed_doc *feed_parse(struct arena *a, const struct parse_input *in);

/* Returns true when the bytes look like an HTML page rather than a feed. Then the page may lead to
 * feeds. */
bool feed_looks_like_html(struct str body);

/* Returns the whole document as one dict, as `feedmill parse` prints it: bozo, bozo_exception,
 * version, encoding, namespaces, feed, entries. */
struct value *feed_doc_object(struct arena *a, const struct feed_doc *doc);
