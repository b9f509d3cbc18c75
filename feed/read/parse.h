/* feed/read/parse.h - bytes of a document, as fetched or from a file, to the object form.
 *
 * Pure: no clock, no network, no globals (call xmlInitParser() once before threads). Same bytes,
 * same result. Understands RSS 0.9x/1.0/2.0, Atom 0.3/1.0 and JSON Feed by content, not by media
 * type. Never fails on content: a document that is not a feed has version "" and says why in
 * `bozo_why`. Bounded: depth, entries, attributes and output by base/limits.h.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "model/document.h"

struct parse_input {
    struct str body;             /* decoded from Content-Encoding, not from its charset */
    struct str url;              /* where it came from, for relative references; null: unknown */
    struct str content_type;     /* whole header field value; null: unknown */
    struct str content_location; /* base before url, when present */
    struct str content_language; /* default language */
    bool raw_html;               /* HTML is kept as it was written: neither made safe, nor its
                                    references absolute */
};

/* Parse into the arena; the result lives as long as the arena, and borrows nothing of the input.
 * Never NULL. Any thread, one arena each. */
struct feed_doc *feed_parse(struct arena *a, const struct parse_input *in);

/* True when the bytes look like an HTML page rather than a feed: then discovery is worth a try. */
bool feed_looks_like_html(struct str body);

/* The whole document as one dict: bozo, bozo_exception, version, encoding, namespaces, feed,
 * entries; what `feedmill parse` prints. */
struct value *feed_doc_object(struct arena *a, const struct feed_doc *doc);
