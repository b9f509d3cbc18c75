/* feed/words/likeness.h - ways of comparing entries that may tell the same story. Pure.
 */
#pragma once

#include "model/likeness.h"

/* Of a view by date, at most one of those alike is shown. By the canonical link (link_canonical());
 * by the title without markup, whatever its case and white space. An entry without a link, or whose
 * title has no words, is like no other. */
extern const struct likeness likeness_link, likeness_title;

/* The canonical form of a link: scheme and host in lower case, the host in its IDNA form, no
 * default port, no fragment, dot segments resolved, an empty path as "/", what is not allowed in a
 * URL percent-encoded; and without the parameters of trackers (utm_..., fbclid, gclid). A link that
 * is not http or https stays as it is, but for its fragment. Null: there is none. Arena. */
struct str link_canonical(struct arena *a, struct str link);
