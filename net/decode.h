/* net/decode.h - the content codings of an answer (RFC 9110 §8.4.1): gzip, deflate, br, zstd.
 * Streaming, bounded, no I/O; a decoder belongs to one thread at a time.
 *
 * The decoder accepts what browsers accept: a gzip body may have many members (RFC 1952 §2.2),
 * bytes after the end are ignored, the check sum may be missing, and deflate may come with or
 * without the header of zlib. An unknown coding ("UTF-8", "none") is treated as if the body had no
 * coding. A wrong check sum and data that end too early are errors, so that half of a document is
 * not taken for the whole.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct decoder;

#define DECODER_LAYERS 3

/* What the fetcher asks for in Accept-Encoding. */
#define DECODER_ACCEPTS "gzip, deflate, br, zstd"

/* Make a decoder for the value of Content-Encoding. The value names the codings in the order in
 * which they were applied; the decoder undoes them from the last to the first. *out is NULL when
 * there is nothing to undo. `max`: most bytes that each of the codings may decode to. RC_LIMIT:
 * there are more than DECODER_LAYERS codings. */
enum rc decoder_new(struct str codings, size_t max, struct decoder **out,
                    struct err *err) NODISCARD;
void decoder_free(struct decoder **dp);

/* Can all of these codings be undone? This is for bodies that others send to us: a body with an
 * unknown coding is refused. */
bool decoder_knows(struct str codings);

/* Decode the next bytes to the end of `out`. RC_PEER: the bytes are not coded as announced.
 * RC_LIMIT: they decode to more than `max` bytes, or to so many times their own size that it must
 * be an attack. After an error the decoder can only be freed. */
enum rc decoder_feed(struct decoder *d, const char *p, size_t n, struct buf *out,
                     struct err *err) NODISCARD;

/* Call this when all bytes have been fed. RC_PEER: the coded data end too early. */
enum rc decoder_end(const struct decoder *d, struct err *err) NODISCARD;
