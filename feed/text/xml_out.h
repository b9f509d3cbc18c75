/* feed/text/xml_out.h - XML text written piece by piece into a buffer, always well-formed
 * characters.
 *
 * What XML 1.0 forbids (controls, U+FFFE, U+FFFF, broken UTF-8) is left out. Names are ours and
 * written as they are. Pure.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

/* Character data: `&`, `<`, `>` escaped, CR as a reference. */
void xml_text(struct buf *out, struct str s);

/* An attribute value without its quotes: as xml_text, and quotes, tabs and line ends too. */
void xml_attr_text(struct buf *out, struct str s);

/* ` name="value"`; nothing when `value` is null. */
void xml_attr(struct buf *out, const char *name, struct str value);

/* `<name>text</name>` and a line end; nothing when `text` is null. */
void xml_element(struct buf *out, const char *name, struct str text);

/* The same with attributes in its start tag: `attrs` is XML, a blank in front of each. */
void xml_element_at(struct buf *out, const char *name, struct str text, struct str attrs);
