/* feed/text/uri.h - relative references made absolute (RFC 3986, section 5). Pure, any thread. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/* True when the reference begins with a scheme ("http:", "tag:"). */
bool uri_is_absolute(struct str ref);

/* Can other references be resolved against it? It must have a scheme, a host or a path from the
 * root, and must not be a script. A relative reference is not a base. */
bool uri_is_base(struct str s);

/* `ref` resolved against `base`, white space around it cut. `ref` itself when it is absolute, when
 * `base` is null, empty or has no hierarchy ("urn:x"). May borrow `ref`; else an arena string. */
struct str uri_resolve(struct arena *a, struct str base, struct str ref);

/* The same for the references of one document, which must not become many copies of a long base:
 * `*grown` (0 at first) counts what resolving has added, and past URI_GROWTH_MAX bytes of that
 * references stay as they are. */
#define URI_GROWTH_MAX ((size_t)32 * 1024 * 1024)
struct str uri_resolve_within(struct arena *a, struct str base, struct str ref, size_t *grown);

/* `s` with each "&b;" as "&b": addresses get such a semicolon from readers that took "&b=" for a
 * reference without its end. "&amp;" stays. `s` itself when nothing is to be mended, else an arena
 * string. */
struct str uri_mend_references(struct arena *a, struct str s);
