/* feed/marks.h - foreign attributes of a format's own elements (`<entry x:rank="1">`, RFC
 * 4287 6.4).
 *
 * The object form has no place for them. They are kept in the fragment of foreign elements
 * (model/document.h), one element of our own for each that has some:
 *
 *     <f:on xmlns:f="urn:feedmill:attributes" e="link" n="2" xmlns:x="urn:x" x:rank="1"/>
 *
 *     <f:in xmlns:f="urn:feedmill:attributes" e="author" n="0"><x:icon xmlns:x="urn:x"/></f:in>
 *
 * `e` says which element it was in the terms of enum mark_on, `n` which of several: the place of
 * its link, tag or person in the list of the object form. Nothing in this namespace leaves, and
 * nothing in it is taken from a publisher. Pure.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "feed/builder.h"

#define NS_MARKS "urn:feedmill:attributes"
#define MARKS_MAX 64 /* of one entry or head */

/* Elements by what they become, whatever they were called. */
enum mark_on {
    MARK_ITSELF, /* the entry or head */
    MARK_TITLE,
    MARK_ID,
    MARK_PUBLISHED,
    MARK_UPDATED,
    MARK_SUMMARY, /* of a head: subtitle */
    MARK_CONTENT,
    MARK_RIGHTS,
    MARK_GENERATOR,
    MARK_LINK,
    MARK_TAG,
    MARK_AUTHOR,
    MARK_CONTRIBUTOR,
    MARK_NONE
};

struct marks {
    struct {
        enum mark_on on;
        size_t n;
        struct str text; /* attributes with their declarations, a blank in front of each; or null */
        struct str inner; /* elements; or null */
    } list[MARKS_MAX];
    size_t n;
};

/* What an element of the formats (lower case, no prefix) is called here. */
enum mark_on mark_of(struct str tag);

/* Append the mark of an element with the foreign ones of its attributes, if it has any. False
 * when it has none. */
bool mark_put(struct buf *ext, enum mark_on on, size_t n, const struct attrs *at);

/* The same for a foreign element within a person: what goes before and behind it. */
void mark_open(struct buf *ext, enum mark_on on, size_t n);
void mark_close(struct buf *ext);

/* Those of a fragment, in the arena; never NULL. */
const struct marks *marks_read(struct arena *a, struct str ext);

/* The attributes kept for an element, to be written into its start tag behind the others; empty
 * when there are none. */
struct str marks_get(const struct marks *m, enum mark_on on, size_t n);

/* Write the elements kept of a person, each with the declarations it needs. marks_inner: are there
 * any? */
bool marks_inner(const struct marks *m, enum mark_on on, size_t n);
void marks_put_inner(struct buf *out, const struct marks *m, enum mark_on on, size_t n);

extern const struct marks marks_none;
