/* feed/uri.h - relative references made absolute (RFC 3986, section 5). Pure, any thread. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/* True when the reference begins with a scheme ("http:", "tag:"). */
bool uri_is_absolute(struct str ref);

/* `ref` resolved against `base`, white space around it cut. `ref` itself when it is absolute, when
 * `base` is null, empty or has no hierarchy ("urn:x"). May borrow `ref`; else an arena string. */
struct str uri_resolve(struct arena *a, struct str base, struct str ref);
