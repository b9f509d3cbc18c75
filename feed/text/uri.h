/* feed/text/uri.h - makes relative references absolute (RFC 3986, section 5). Pure, any thread. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/* Returns true when the reference begins with a scheme ("http:", "tag:"). */
bool uri_is_absolute(struct str ref);

/* Returns true when other references can be resolved against `s`. It must have a scheme, and a host
 * or a path from the root, and must not be a script. */
bool uri_is_base(struct str s);

/* Returns `ref` resolved against `base`, without white space around it. Returns `ref` itself when
 * it is absolute, or when `base` is null, empty or not hierarchical ("urn:x"). The result may
 * borrow `ref`; otherwise it is in the arena. */
struct str uri_resolve(struct arena *a, struct str base, struct str ref);

/* The same for the references of one document, so that a long base does not become many copies.
 * `*grown` (0 at first) counts the bytes that resolving has added. After URI_GROWTH_MAX bytes,
 * references stay as they are. */
#define URI_GROWTH_MAX ((size_t)32 * 1024 * 1024)
struct str uri_resolve_within(struct arena *a, struct str base, struct str ref, size_t *grown);

/* Returns `s` with "&b" for each "&b;". Such a semicolon comes from programs that took "&b=" for a
 * reference without its end. "&amp;" stays. Returns `s` itself when nothing changes, otherwise an
 * arena string. */
struct str uri_mend_references(struct arena *a, struct str s);
