/* feed/record.h - the content of a metadata record (Atom-PMH): where it is found, and how it
 * becomes part of the entry that led there. Pure.
 *
 * An entry of such a feed has administrative metadata and alternate links, each to a representation
 * of the record. Its own members stay as the feed has them; what the representation knows besides
 * is added.
 */
#pragma once

#include "base/arena.h"
#include "feed/parse.h"
#include "model/value.h"

#define RECORD_FORMS_MAX 8

struct record_form {
    struct str href; /* absolute, as the feed has it */
    struct str type; /* media type without parameters, lower case */
};

/* The alternates of a stored entry that can be taken in, the best first: an Atom entry document,
 * then a page, plain text, other XML, JSON; those of one kind in the entry's order. Pages and text
 * only of the feed's own host (`host`, lower case): links of an ordinary feed to the rest of the
 * web are none of them. At most RECORD_FORMS_MAX are written to `out`. */
size_t record_forms(struct arena *a, const struct value *entry, struct str host,
                    struct record_form *out);

/* Is it beyond doubt that the document's entries describe records? It has a deletion entry, or an
 * alternate that no reader of news could show. Entries that lead to pages and nothing else are what
 * ordinary feeds have, too. */
bool record_is_evident(struct arena *a, const struct feed_doc *doc);

/* Read a representation that was asked for as `type` (of a form), and add it to `entry` (a dict,
 * changed) and to *ext (its foreign elements). False when it is nothing of the kind that was
 * promised, and nothing has changed. Strings live as long as the arena. */
bool record_read(struct arena *a, const struct parse_input *in, struct str type,
                 struct value *entry, struct str *ext);
