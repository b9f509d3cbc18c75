/* feed/read/encoding.h - converts the bytes of a document to UTF-8. Pure, any thread.
 *
 * These are tried in this order: the byte order mark; the charset of the Content-Type; the encoding
 * in the XML declaration; UTF-8, if the bytes are valid UTF-8; the guess of uchardet; windows-1252.
 * An encoding that does not fit the bytes is skipped, and `why` says so.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

struct decoded {
    struct str text;     /* valid UTF-8 without byte order mark; the input itself or `owned` */
    struct str encoding; /* the declared name in lower case when that was right */
    struct str why;      /* one sentence when what was declared was wrong; else null */
    struct buf owned;
};

/* Decode. `content_type` may be null. Names are arena strings. Release with decoded_release(). */
void decode_document(struct arena *a, struct str body, struct str content_type,
                     struct decoded *out);
void decoded_release(struct decoded *d);

/* The charset parameter of a media type, lower case; null. */
struct str content_type_charset(struct arena *a, struct str content_type);

/* The code point of windows-1252 for a C1 control (0x80 to 0x9F); others are returned as they are.
 * Publishers mean this by them. */
uint32_t c1_to_windows1252(uint32_t cp);
