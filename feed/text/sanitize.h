/* feed/text/sanitize.h - makes HTML fragments safe by an allow-list, and their references absolute.
 * Pure, any thread. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

/* Returns the fragment with only the allowed elements, attributes, URL schemes and style
 * properties. Relative references are resolved against `base`; null: they stay as they are. When an
 * element is dropped, its text stays, except for script, style and the like. The result is in the
 * arena. */
struct str sanitize_html(struct arena *a, struct str html, struct str base);

/* The same for one of several texts of a document; `grown` as in uri_resolve_within(). */
struct str sanitize_html_within(struct arena *a, struct str html, struct str base, size_t *grown);
