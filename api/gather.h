/* api/gather.h - the feeds of a request: known ones at once, unknown ones after their first fetch.
 *
 * All are waited for in parallel, up to the caller's patience (fetch_wait_ms). A feed of which a
 * document is stored is never waited for. The call's loop only.
 */
#pragma once

#include "api/call.h"

struct gathered {
    struct wanted_url want;
    int64_t id;  /* of the record, once known */
    bool ready;  /* a document of it is stored */
    bool failed; /* then the next three say why */
    enum rc rc;
    int status; /* publisher's, 0: none */
    struct str text;
};

/* Runs at once or later, with the array given. The call is the caller's again. */
typedef void gather_done_fn(struct call *c, struct gathered *items, size_t n, void *ctx);

/* `items` (with `want` filled in) and `ctx` live in the call's arena. May answer 503 itself. */
void gather_start(struct call *c, struct gathered *items, size_t n, gather_done_fn *done,
                  void *ctx);

/* Look up the feed that an item wants, without waiting: false when it is not known. Any thread. */
bool gather_find(struct api *api, struct gathered *item);

/* Why none of the items is ready, as a problem: 504 when all timed out, 422 when none is a feed,
 * 403 when the address guard forbids all, else 502. */
void gather_problem(struct call *c, const struct gathered *items, size_t n, struct problem *p);

/* The problem of one failed fetch of a document. */
void gather_failure(struct call *c, enum rc rc, int status, struct str text, struct str url,
                    struct problem *p);
