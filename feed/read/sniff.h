/* feed/read/sniff.h - tells feeds from web pages, and finds where a feed begins. Pure, any thread.
 *
 * Servers put error messages and pieces of HTML before a feed, and pages hold pieces of feeds: in
 * scripts, in attributes, as samples, as RDF within a drawing. A page is known by its own elements:
 * after <!DOCTYPE html>, html, head or body, no root element of a feed counts until </html>, except
 * when it is the first thing in the page: then the page is only a wrapping. */
#pragma once

#include "base/str.h"

struct sniffed {
    size_t from;     /* where the document begins: 0, or after junk */
    bool is_feed;    /* there is the root element of a feed */
    bool is_page;    /* there is none, but elements that web pages begin with */
    bool after_tags; /* before the root, or the end, there are other tags */
};

/* The local name of the tag at `s`, whose first byte is '<' or the slash of an end tag, as written:
 * "RDF" of "<rdf:RDF ...". */
struct str sniff_tag_name(struct str s);

/* Look at the first 64 KiB of a document. It takes linear time, whatever the input. */
struct sniffed sniff_document(struct str text);
