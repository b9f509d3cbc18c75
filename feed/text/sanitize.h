/* feed/text/sanitize.h - HTML fragments made safe by an allow-list and with absolute references.
 * Pure.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

/* The fragment with only allowed elements, attributes, URL schemes and style properties, relative
 * references resolved against `base` (null: left as they are). What is dropped as an element keeps
 * its text, save script, style and their like. Arena string. */
struct str sanitize_html(struct arena *a, struct str html, struct str base);

/* The same for one of the texts of a document: `*grown` as in uri_resolve_within(). */
struct str sanitize_html_within(struct arena *a, struct str html, struct str base, size_t *grown);
