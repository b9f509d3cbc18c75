/* fetcher/response.h - what an answer to a poll means. Pure, any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "net/http_client.h"

enum response_kind {
#define RESPONSE(NAME, outcome, meaning) RESPONSE_##NAME,
#include "fetcher/response_kinds.def"
#undef RESPONSE
    RESPONSE_KINDS_
};

/* Seconds of the pause after a 429 that does not say how long. */
#define RESPONSE_PAUSE_S 60

struct response {
    enum response_kind kind;
    enum rc rc;                     /* the result for waiters; RC_OK for the first two kinds */
    int status;                     /* 0: none */
    bool partial;                   /* 226: entries that are absent are not deleted */
    bool moved;                     /* every hop was permanent: final_url may be adopted */
    bool is_held;                   /* LIMITED, and not asked at all: a redirect led to a host that rests */
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

/* The kind's name in the metrics: "not_modified". */
const char *response_outcome(enum response_kind kind);
