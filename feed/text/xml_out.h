/* feed/text/xml_out.h - writes XML piece by piece into a buffer. Pure, any thread.
 *
 * Characters that XML 1.0 forbids (controls, U+FFFE, U+FFFF, broken UTF-8) are left out. Names are
 * written as they are, so they must be our own. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

/* Write character data: `&`, `<` and `>` are escaped, CR becomes a reference. */
void xml_text(struct buf *out, struct str s);

/* Write an attribute value without its quotes: as xml_text(), and quotes, tabs and line ends are
 * escaped, too. */
void xml_attr_text(struct buf *out, struct str s);

/* Write ` name="value"`; nothing when `value` is null. */
void xml_attr(struct buf *out, const char *name, struct str value);

/* Write `<name>text</name>` and a line end; nothing when `text` is null. */
void xml_element(struct buf *out, const char *name, struct str text);

/* The same with attributes in the start tag. `attrs` is XML, with a space before each attribute. */
void xml_element_at(struct buf *out, const char *name, struct str text, struct str attrs);
