/* feed/text/iri.h - references as they leave: their parts, and whether they may be printed. Pure.
 *
 * feed/text/uri.h resolves; net/url.h makes canonical what is fetched. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/* The scheme, without colon; null when there is none. */
struct str iri_scheme(struct str s);

/* Host part (no user, no port) of a hierarchical reference; null when there is none. */
struct str iri_host(struct str s);

/* True for http: and https:. */
bool iri_is_http(struct str s);

/* True for what a browser would run when it follows it: javascript: and its like, and data: unless
 * it is a picture or sound. Blanks and controls within the scheme do not hide it. */
bool iri_is_script(struct str s);

/* True when `s` can stand as an atom:id: it has a scheme, something after it, and, if it is a web
 * address, a host. */
bool iri_is_permanent(struct str s);

/* `s` trimmed, with every byte that may not stand in an IRI percent-encoded (space, quotes, angle
 * brackets, braces, controls, stray `%`, a second `#`); with `ascii` bytes beyond ASCII too, and
 * the host of a web address in the form of IDNA ("xn--..."), which makes it an RFC 3986 URI.
 * Returns `s` trimmed when nothing is to be done. */
struct str iri_escape(struct arena *a, struct str s, bool ascii);

/* The name of a link's relation: "self", also when it is written as the registry's IRI (RFC 4287,
 * section 4.2.7.2). Other relations as they are. */
struct str iri_relation(struct str rel);
