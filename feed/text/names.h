/* feed/text/names.h - namespaces by URI and prefix. Pure, any thread. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct ns {
    const char *uri;    /* lower case */
    const char *prefix; /* the customary one; "" for those of the feed formats */
};

/* The namespace for elements that a publisher invented without a namespace, because RSS and Atom do
 * not allow such elements. When read, they count as elements without a namespace. */
#define NS_UNKNOWN "urn:feedmill:unknown"

/* Returns the row of a URI, or NULL. Letter case, http or https, and a slash at the end do not
 * matter. */
const struct ns *ns_find(struct str uri);

/* Returns the usual URI of a prefix, for documents that do not declare it; NULL when there is
 * none. */
const char *ns_uri_of_prefix(struct str prefix);

/* True for a member that has a fixed structure in the object form (a list of links, nine numbers).
 * An unknown element with the same name must not replace it, because readers depend on the
 * structure. */
bool member_is_shaped(struct str key);
