/* feed/text/iri.h - the parts of references (URLs and other IRIs), and the forms in which they are
 * written into documents. Pure, any thread.
 *
 * feed/text/uri.h resolves references. net/url.h has the canonical form of URLs that are fetched.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/* The scheme, without its colon; null: there is none. */
struct str iri_scheme(struct str s);

/* The host of a hierarchical reference, without user and port; null: there is none. */
struct str iri_host(struct str s);

/* Is the scheme http or https? */
bool iri_is_http(struct str s);

/* Would a browser run a script when it follows this reference? True for javascript: and similar
 * schemes, and for data: except pictures and sound. Blanks and control characters within the scheme
 * are ignored, as browsers do. */
bool iri_is_script(struct str s);

/* Can `s` be an atom:id? It must have a scheme, and text after it; if it is http or https, it must
 * have a host. */
bool iri_is_permanent(struct str s);

/* `s` trimmed, with every byte that is not allowed in an IRI percent-encoded: space, quotes, angle
 * brackets, braces, controls, a `%` that begins no %XX, a second `#`. With `ascii` the result is a
 * URI (RFC 3986): bytes beyond ASCII are percent-encoded, too, and the host of an http(s) address
 * gets its IDNA form ("xn--..."). The result is in the arena, or a part of `s` if nothing had to be
 * encoded. */
struct str iri_escape(struct arena *a, struct str s, bool ascii);

/* The name of a link relation. A relation that is written as an IRI of the registry becomes its
 * name
 * ("self"; RFC 4287, section 4.2.7.2). Others stay as they are. */
struct str iri_relation(struct str rel);
