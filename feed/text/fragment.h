/* feed/text/fragment.h - splits a fragment of foreign elements (`ext` of model/document.h) into its
 * top elements. Pure.
 *
 * The fragment is well-formed, and each top element declares the namespaces that it needs. So it
 * can be cut by looking at tags alone. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct fragment_element {
    struct str text;  /* the whole element */
    struct str tag;   /* its start tag */
    struct str ns;    /* namespace name as written in the tag; empty: no namespace */
    struct str local; /* local name */
};

/* Take the first element off *rest. False: no complete element is left. Text between elements is
 * dropped. */
bool fragment_next(struct str *rest, struct fragment_element *out);

/* Returns the length of the tag at the beginning of `s`. A `>` within quotes does not end the
 * tag. */
size_t fragment_tag_len(struct str s);

/* Returns the value of the attribute `name` ("xmlns:media") in a start tag, as written; null when
 * it is missing. */
struct str fragment_attr(struct str tag, struct str name);
