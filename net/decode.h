/* net/decode.h - the content codings of an answer (RFC 9110 §8.4.1): gzip, deflate, br. Streaming,
 * bounded, no I/O; a decoder belongs to one thread at a time.
 *
 * As liberal as browsers are: a gzip body may have many members (RFC 1952 §2.2), bytes behind the
 * end are ignored, so is a missing check sum; deflate comes with and without the header of zlib; a
 * coding that is not known ("UTF-8", "none") is taken for none. Strict where it matters: a wrong
 * check sum or data that end too early are errors, so that half a document is not taken for one.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct decoder;

#define DECODER_LAYERS 3

/* What the fetcher asks for in Accept-Encoding. */
#define DECODER_ACCEPTS "gzip, deflate, br"

/* A decoder for the value of Content-Encoding (several codings, in the order they were applied, are
 * undone from the last to the first). *out is NULL when there is nothing to undo. `max`: bytes that
 * any of the codings may come to. RC_LIMIT: more than DECODER_LAYERS codings. */
enum rc decoder_new(struct str codings, size_t max, struct decoder **out,
                    struct err *err) NODISCARD;
void decoder_free(struct decoder **dp);

/* Can all of these codings be undone? For bodies that are sent to us: there a coding that is not
 * known is refused. */
bool decoder_knows(struct str codings);

/* Decode the next bytes to the end of `out`. RC_PEER: they are not coded as announced; RC_LIMIT:
 * more than `max` bytes, or so much more than came in that it can only be meant to hurt. After an
 * error the decoder is only good for freeing. */
enum rc decoder_feed(struct decoder *d, const char *p, size_t n, struct buf *out,
                     struct err *err) NODISCARD;

/* All has come. RC_PEER: the coded data end too early. */
enum rc decoder_end(const struct decoder *d, struct err *err) NODISCARD;
