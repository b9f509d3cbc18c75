/* feed/text/sanitize_priv.h - the lists and the style reader, for sanitize.c. Pure, any thread. */
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
    SANITIZE_RESOLVED_ATTRIBUTES, /* those URL attributes that a browser resolves */
    SANITIZE_HIDDEN_ELEMENTS,     /* elements that are dropped with their text */
    SANITIZE_BLOCKS,              /* elements whose start tag ends a p */
    SANITIZE_AREAS,               /* svg and math */
    SANITIZE_FENCES, /* an end tag inside such an element does not end an element outside */
};

/* A name that is in at least one list. */
struct sanitize_name {
    struct str own; /* the spelling of the lists: SVG has mixed case */
    unsigned lists; /* bit per enum sanitize_list */
    /* For elements whose end tag may be left out; otherwise 0. The tens are its group (p; list;
     * terms; table; options). When an element begins, open elements of its group end if their row
     * is the same or higher. */
    unsigned char row;
};

/* Returns the name with this spelling, in any letter case; NULL when it is in no list. */
const struct sanitize_name *sanitize_name(struct str name);

static inline bool sanitize_is(const struct sanitize_name *name, enum sanitize_list list)
{
    return name != NULL && (name->lists >> list & 1) != 0;
}

/* Returns true when `name`, in any letter case, is in the list. */
bool sanitize_listed(enum sanitize_list list, struct str name);

/* Returns a style attribute's decoded value with only its harmless declarations. Empty when none is
 * left, or when the value is not a plain list of declarations. `svg`: inside an svg element. */
struct str sanitize_style(struct arena *a, struct str style, bool svg);
