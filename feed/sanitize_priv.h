/* feed/sanitize_priv.h - what sanitize.c asks of its lists and of the style reader. Pure. */
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
};

/* The list's own spelling of `lower`, a lower-case name (SVG has mixed case); NULL when it is not
 * in the list. */
const char *sanitize_listed(enum sanitize_list list, struct str lower);

/* A style attribute's decoded value with only harmless declarations; empty when nothing is left, or
 * when the value is anything but plain declarations. `svg`: inside an svg element. */
struct str sanitize_style(struct arena *a, struct str style, bool svg);
