/* model/format.h - the properties of each format, apart from the way it is written. Pure, any
 * thread.
 *
 * The table is in model/formats.def. To learn what a format can do, ask format_has(), and do not
 * compare the format with FORMAT_ATOM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum feed_format {
#define FORMAT(id, name, media_type, accepts, suffix, writer, traits) FORMAT_##id,
#include "model/formats.def"
#undef FORMAT
    FORMAT_COUNT_
};

enum format_trait {
    FORMAT_IS_OFFERED = 1,    /* `type=` chooses among these; each names the others */
    FORMAT_IS_XML = 2,        /* has tombstones and foreign elements; can be a delta (RFC 3229) */
    FORMAT_IS_JSON = 4,       /* may stand in JSON-P as it is */
    FORMAT_IS_ARCHIVED = 8,   /* archive documents can be in it */
    FORMAT_IS_STREAMED = 16,  /* Smart Feeds can be in it */
    FORMAT_IS_STORED = 32,    /* entries are written as they are stored, without being parsed */
    FORMAT_TELLS_NEXT = 64,   /* the document names its next page (struct out_doc.next_url) */
    FORMAT_IS_PAGE = 128,     /* browsers show it: the answer must forbid scripts */
    FORMAT_IS_LIST = 256,     /* shows all feeds of the view, also those without entries in it */
    FORMAT_IS_ACCEPTED = 512, /* Accept chooses among these; the others have to be named */
};

/* Does the format have all of these traits? */
bool format_has(enum feed_format format, unsigned traits);

/* Its value of `type=`; its media type with parameters, for Content-Type. Static. */
const char *format_name(enum feed_format format);
const char *format_media_type(enum feed_format format);

/* The media type without parameters ("application/atom+xml"). */
struct str format_bare_type(enum feed_format format);

/* Further media types of an Accept field that mean this format, "|" between them; often empty. */
const char *format_accepts(enum feed_format format);

/* The end of an archive document's address in this format; "" for most formats. */
const char *format_suffix(enum feed_format format);

/* The first format of this name that has all of the traits. False: there is none. */
bool format_find(struct str name, unsigned traits, enum feed_format *out);

/* The names of all formats that have all of the traits, with "|" between them: the values that a
 * client may use. Writes at most `size` bytes, with the final NUL; `size` must be large enough. */
#define FORMAT_NAMES_MAX 128
void format_names(unsigned traits, char *out, size_t size);

/* The same of their bare media types. */
void format_bare_types(unsigned traits, char *out, size_t size);
