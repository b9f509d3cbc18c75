/* tests/fuzz/fuzz_decode.c - any bytes as a coded body: however they are cut, the result is the
 * same and within its bound. The first byte chooses codings and size of the pieces. */
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "net/decode.h"
#include "tests/fuzz/bound.h"

#define BODY_MAX (1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static enum rc decode(struct str codings, struct str in, size_t step, struct buf *out)
{
    struct decoder *d;
    enum rc rc = decoder_new(codings, BODY_MAX, &d, NULL);

    ASSERT(rc == RC_OK && d != NULL);
    for (; in.len > 0 && rc == RC_OK; in = str_slice(in, step < in.len ? step : in.len, in.len))
        rc = decoder_feed(d, in.ptr, step < in.len ? step : in.len, out, NULL);
    if (rc == RC_OK)
        rc = decoder_end(d, NULL);
    decoder_free(&d);
    ASSERT(out->len <= BODY_MAX);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const char *const codings[] = {"gzip", "deflate", "br", "gzip, gzip",
                                          "deflate, br, gzip"};
    AUTO(buf_release) struct buf whole = BUF_INIT(BUF_ANY);
    AUTO(buf_release) struct buf cut = BUF_INIT(BUF_ANY);
    struct bound bound = bound_start(len);
    struct str in, coding;
    enum rc rc;

    if (len < 2)
        return 0;
    coding = str_from(codings[data[0] % ARRAY_LEN(codings)]);
    in = str_of((const char *)data + 1, len - 1);
    rc = decode(coding, in, in.len, &whole);
    if (len > 4096) /* byte for byte only what is short */
        return 0;
    /* the ratio is judged by what has come so far, so cuts may stop a bomb earlier */
    if (decode(coding, in, 1 + data[0] / 16, &cut) == rc && rc == RC_OK)
        ASSERT(str_eq(buf_view(&whole), buf_view(&cut)));
    else
        ASSERT(rc != RC_OK || whole.len > BODY_MAX / 2);
    bound_check_time(&bound);
    return 0;
}
