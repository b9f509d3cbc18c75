/* feed/text/fragment.h - the top elements of a foreign-element fragment (`ext` of
 * model/document.h).
 *
 * The fragment is well-formed, and each top element declares the namespaces it needs: so it can be
 * cut by looking at tags alone. Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct fragment_element {
    struct str text;  /* the whole element */
    struct str tag;   /* its start tag */
    struct str ns;    /* namespace name as written in the tag; empty: in none */
    struct str local; /* local name */
};

/* Take the first element off *rest. False: no complete element is left. Text between elements is
 * dropped. */
bool fragment_next(struct str *rest, struct fragment_element *out);

/* Length of the tag at the beginning of `s`, whose `>` may stand in quotes. */
size_t fragment_tag_len(struct str s);

/* The value of attribute `name` ("xmlns:media") in a start tag, as written; null when absent. */
struct str fragment_attr(struct str tag, struct str name);
