/* score/origin.h - the score's publisher: what it answers at which time. No socket, no clock. One
 * thread at a time.
 */
#pragma once

#include "base/buf.h"
#include "score/record.h"

struct score_origin {
    int64_t began;                      /* the first request; 0: there was none */
    const char *authority[SCORE_HOSTS]; /* "127.0.0.1:8081" */
    int64_t rests_until[2];             /* the pauses that the busy host asks for; 0: not yet */
};

/* Answer `r`, whose time, host, path and fields are set: sets the feed, the status and the
 * validators of the answer. Appends the other fields ("Name: value\r\n") and the body. The texts of
 * the answer live in `a`. Returns how long the answer takes, in real milliseconds. */
int64_t score_origin_answer(struct score_origin *o, struct arena *a, struct score_request *r,
                            struct buf *fields, struct buf *body);

/* Append the addresses of all feeds, with `before` and `after` around each. */
void score_origin_list(const struct score_origin *o, const char *before, const char *after,
                       struct buf *out);
