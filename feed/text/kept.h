/* feed/text/kept.h - foreign attributes of a format's own elements (`<entry x:rank="1">`, RFC
 * 4287 6.4).
 *
 * The object form has no place for them. They are kept in the fragment of foreign elements
 * (model/document.h), one element of our own for each:
 *
 *     <f:on xmlns:f="urn:feedmill:attributes" e="link" n="2" xmlns:x="urn:x" x:rank="1"/>
 *
 *     <f:in xmlns:f="urn:feedmill:attributes" e="author" n="0"><x:icon xmlns:x="urn:x"/></f:in>
 *
 * `e` says which element it was in the terms of enum kept_on, `n` which of several: the place of
 * its link, tag or person in the list of the object form. Nothing in this namespace leaves, and
 * nothing in it is taken from a publisher. Pure.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

#define NS_KEPT "urn:feedmill:attributes"
#define KEPT_MAX 64 /* of one entry or head */

/* Elements by their meaning in the object form, whatever their names in the format were. */
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
        struct str text; /* attributes with their declarations, a blank in front of each; or null */
        struct str inner; /* elements; or null */
    } list[KEPT_MAX];
    size_t n;
};

/* The value of `e`. */
const char *kept_name(enum kept_on on);

/* Write what comes before and after a foreign element inside a person. */
void kept_open(struct buf *ext, enum kept_on on, size_t n);
void kept_close(struct buf *ext);

/* Read the kept attributes and elements of a fragment, in the arena; never NULL. */
const struct kept *kept_read(struct arena *a, struct str ext);

/* The attributes kept for an element, to be written into its start tag after the others; empty
 * when there are none. */
struct str kept_get(const struct kept *m, enum kept_on on, size_t n);

/* Write the elements that were kept for a person, each with the declarations it needs. kept_inner()
 * says whether there are any. */
bool kept_inner(const struct kept *m, enum kept_on on, size_t n);
void kept_put_inner(struct buf *out, const struct kept *m, enum kept_on on, size_t n);

extern const struct kept kept_none;
