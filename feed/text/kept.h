/* feed/text/kept.h - foreign attributes and elements within a format's own elements (`<entry
 * x:rank="1">`, RFC 4287 6.4). Pure, any thread.
 *
 * The object form has no members for them. They are kept in the fragment of foreign elements
 * (model/document.h), each in an element of our own:
 *
 *     <f:on xmlns:f="urn:feedmill:attributes" e="link" n="2" xmlns:x="urn:x" x:rank="1"/>
 *
 *     <f:in xmlns:f="urn:feedmill:attributes" e="author" n="0"><x:icon xmlns:x="urn:x"/></f:in>
 *
 * `e` is the element to which it belongs (enum kept_on). `n` is the index of the link, tag or
 * person in the list of the object form. Elements of this namespace are never sent out, and are
 * never taken from a publisher.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

#define NS_KEPT "urn:feedmill:attributes"
#define KEPT_MAX 64 /* at most, of one entry or head */

/* The elements to which kept attributes belong, by their meaning in the object form. Formats have
 * other names for them. */
enum kept_on {
    KEPT_ITSELF, /* the entry or head */
    KEPT_TITLE,
    KEPT_ID,
    KEPT_PUBLISHED,
    KEPT_UPDATED,
    KEPT_SUMMARY, /* of a head: subtitle */
    KEPT_CONTENT,
    KEPT_RIGHTS,
    KEPT_GENERATOR,
    KEPT_LINK,
    KEPT_TAG,
    KEPT_AUTHOR,
    KEPT_CONTRIBUTOR,
    KEPT_NONE
};

struct kept {
    struct {
        enum kept_on on;
        size_t n;
        struct str text;  /* attributes with their declarations, a space before each; or null */
        struct str inner; /* elements; or null */
    } list[KEPT_MAX];
    size_t n;
};

/* Returns the value of the attribute `e` for this element. */
const char *kept_name(enum kept_on on);

/* Write what comes before and after a foreign element that is inside a person. */
void kept_open(struct buf *ext, enum kept_on on, size_t n);
void kept_close(struct buf *ext);

/* Read the kept attributes and elements of a fragment. The result is in the arena and never
 * NULL. */
const struct kept *kept_read(struct arena *a, struct str ext);

/* Returns the attributes that were kept for an element, as text for its start tag after the other
 * attributes. Empty when there are none. */
struct str kept_get(const struct kept *m, enum kept_on on, size_t n);

/* Write the elements that were kept for a person, each with the declarations it needs. kept_inner()
 * says whether there are any. */
bool kept_inner(const struct kept *m, enum kept_on on, size_t n);
void kept_put_inner(struct buf *out, const struct kept *m, enum kept_on on, size_t n);

extern const struct kept kept_none;
