/* feed/text/sanitize_priv.h - what sanitize.c asks of its lists and of the style reader. Pure. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

enum sanitize_list {
    SANITIZE_ELEMENTS,
    SANITIZE_ATTRIBUTES,
    SANITIZE_MATHML_ELEMENTS,
    SANITIZE_MATHML_ATTRIBUTES,
    SANITIZE_SVG_ELEMENTS,
    SANITIZE_SVG_ATTRIBUTES,
    SANITIZE_CSS_PROPERTIES,
    SANITIZE_SVG_CSS_PROPERTIES,
    SANITIZE_CSS_KEYWORDS,
    SANITIZE_VOID_ELEMENTS,
    SANITIZE_SCHEMES,
    SANITIZE_URL_ATTRIBUTES,
    SANITIZE_RESOLVED_ATTRIBUTES, /* of these, those that a browser resolves */
    SANITIZE_HIDDEN_ELEMENTS,     /* which go with their text */
    SANITIZE_BLOCKS,              /* whose start tag ends a p */
    SANITIZE_AREAS,               /* svg and math */
    SANITIZE_FENCES,              /* no end tag within ends an element outside */
};

/* A name that stands in one list or more. */
struct sanitize_name {
    struct str own; /* the spelling of the lists: SVG has mixed case */
    unsigned lists; /* bit per enum sanitize_list */
    /* Of an element whose end tag may be left out, else 0. The tens are its group (p; list; terms;
     * table; options). Where an element begins, open ones of its group with its row or a higher one
     * end. */
    unsigned char row;
};

/* The name that is spelled `name` in whatever case; NULL when it stands in no list. */
const struct sanitize_name *sanitize_name(struct str name);

static inline bool sanitize_is(const struct sanitize_name *name, enum sanitize_list list)
{
    return name != NULL && (name->lists >> list & 1) != 0;
}

/* True when `name`, in whatever case, stands in the list. */
bool sanitize_listed(enum sanitize_list list, struct str name);

/* A style attribute's decoded value with only harmless declarations; empty when nothing is left, or
 * when the value is anything but plain declarations. `svg`: inside an svg element. */
struct str sanitize_style(struct arena *a, struct str style, bool svg);
