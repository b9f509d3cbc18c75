/* tests/unit/net/http_script.h - what the origin of the HTTP client's tests answers, by path.
 *
 * /ok /empty /304              what their names say
 * /echo...                     the request as it came
 * /to/CODE/TARGET              a redirect, with a body even for 304
 * /gzip /deflate /badgzip      "hello, hello, hello" compressed, or not
 * /bomb                        300 MiB of spaces, compressed
 * /endless /headers            a body without end, a header without end
 * /folds                       one field folded into 15,000 lines
 * /short /close                10 of 100 bytes; nothing
 * /slow /drip                  no answer; a byte now and then
 * /basic /digest               a challenge; 200 with the authorization as body
 * /chunked                     a chunked body
 */
#pragma once

#include "tests/unit/support/origin.h"

/* An origin_script_fn. */
/* What "/either" asks for: Digest, else Basic. */
extern _Atomic bool http_script_wants_digest;

/* /basic refuses every credential. */
extern _Atomic bool http_script_refuses;

void http_script(void *ctx, const struct origin_request *request, struct origin_page *out);
