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
    struct str encoding; /* in lower case: the declared one, if it was right */
    struct str why;      /* a sentence, if the declared encoding was wrong; otherwise null */
    struct buf owned;
};

/* Decode the body. `content_type` may be null. Names are arena strings. Release *out with
 * decoded_release(). */
void decode_document(struct arena *a, struct str body, struct str content_type,
                     struct decoded *out);
void decoded_release(struct decoded *d);

/* Returns the charset parameter of a media type in lower case; null when there is none. */
struct str content_type_charset(struct arena *a, struct str content_type);

/* Returns the code point of windows-1252 that publishers mean by a C1 control (0x80 to 0x9F). Other
 * code points are returned unchanged. */
uint32_t c1_to_windows1252(uint32_t cp);
