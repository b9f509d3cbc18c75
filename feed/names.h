/* feed/names.h - namespaces and elements by name: what a tag is to the parser. Pure, any thread. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct ns {
    const char *uri;    /* lower case */
    const char *prefix; /* the customary one; "" for those of the feed formats */
};

/* Where elements are put that a publisher invented without a namespace, since none may leave so in
 * RSS or Atom. Read as if they were in none. */
#define NS_UNKNOWN "urn:feedmill:unknown"

/* The row of a URI, or NULL. Letter case, http or https and a slash at the end do not matter. */
const struct ns *ns_find(struct str uri);

/* The URI usually bound to a prefix, for documents that forgot to; NULL when there is none. */
const char *ns_uri_of_prefix(struct str prefix);

/* True for a member that the object form gives a shape of its own (a list of links, nine numbers):
 * nothing unknown that happens to be called so may take its place, since readers rely on it. */
bool member_is_shaped(struct str key);
