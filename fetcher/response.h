/* fetcher/response.h - what an answer to a poll means. Pure, any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "net/http_client.h"

enum response_kind {
    RESPONSE_DOCUMENT,     /* 200, 203, or 226 with an instance manipulation we asked for */
    RESPONSE_NOT_MODIFIED, /* 304 to a conditional request */
    RESPONSE_MISSING,      /* 404 */
    RESPONSE_GONE,         /* 410 */
    RESPONSE_LIMITED,      /* 429, or 503 with Retry-After */
    RESPONSE_ERROR,        /* another status */
    RESPONSE_BROKEN,       /* no whole answer came */
};

struct response {
    enum response_kind kind;
    enum rc rc;                     /* the result for waiters; RC_OK for the first two kinds */
    int status;                     /* 0: none */
    bool partial;                   /* 226: entries that are absent are not deleted */
    bool moved;                     /* every hop was permanent: final_url may be adopted */
    bool unreached;                 /* nothing answered: name or connection failed */
    int64_t max_age_s;              /* -1: the answer does not say */
    int64_t retry_after_s;          /* -1: the answer does not say */
    struct str etag, last_modified; /* null when absent */
    struct str text;                /* why the answer is not a success; null if it is */
};

/* Judge an answer (borrowed; strings of the result are in `a` or in the answer). `conditional`:
 * validators were sent. `now`: Unix seconds. */
struct response response_judge(struct arena *a, enum rc rc, const struct http_answer *answer,
                               const struct err *err, bool conditional, int64_t now);
