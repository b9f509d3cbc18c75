/* api/views/gather.h - finds the feeds that a request names. Known feeds are found at once; unknown
 * feeds are fetched first.
 *
 * The request waits for all unknown feeds in parallel, for at most fetch_wait_ms. It never waits
 * for a feed of which a document is stored. Only the request's loop may call this, except where
 * noted.
 */
#pragma once

#include "api/http/request.h"

struct gathered {
    struct wanted_url want;
    bool
        is_member; /* it is named by its id, which is given, and not by `want`. If it was never
                      fetched it is awaited; if it cannot be fetched the document goes without it */
    bool is_of_view; /* a named view has it; if it cannot be had the document goes without it */
    size_t part;     /* of struct feeds_asked */
    int64_t id;      /* id of the feed, once it is known */
    bool ready;    /* a document of the feed is stored */
    bool failed;   /* the fetch failed; the next three members say why */
    enum rc rc;
    int status;      /* HTTP status from the publisher; 0: none came */
    bool is_let;     /* it may be fetched for the first time */
    bool is_refused; /* failed because the caller may only read feeds that are known */
    int64_t wait_s;  /* failed because too many such feeds were asked for: when to ask again; 0: not
                        so */
    int64_t rest_s; /* rc is RC_RESTING: for so long; 0: it is not known */
    struct str text;
};

/* Called when all feeds are found or the wait is over: either before gather_start() returns or
 * later. `items` is the array that was given to gather_start(). From now on the caller must answer
 * the request. */
typedef void gather_done_fn(struct request *req, struct gathered *items, size_t n, void *ctx);

/* Start to look for the feeds. In `items`, `want` is filled in, or `id` of a member. `items` and
 * `ctx` live in the request's arena. To a caller who may only read known feeds, the others are
 * refused one by one. This function may answer the request itself, with 403 (the page of another
 * site asks for an unknown feed) or 503 (too many requests wait); then `done` is not called. */
void gather_start(struct request *req, struct gathered *items, size_t n, gather_done_fn *done,
                  void *ctx);

/* Look up the feed of an item without waiting. False: the feed is not known. Any thread. */
bool gather_find(struct api *api, struct gathered *item);

/* The same. To a caller who may only read known feeds, a URL that somebody once asked for is not a
 * feed that is known: it was fetched, or is subscribed. Any thread. */
bool gather_knows(const struct ask *ask, struct gathered *item);

/* May the feed of an item that is not ready be fetched for the caller now? `known`: the feed is
 * known. False: item->wait_s is set. Any thread. */
bool gather_let(const struct ask *ask, struct gathered *item, bool known);

/* Set *p to the problem that explains why no item is ready: 403 when the caller may only read known
 * feeds, 429 when too many unknown feeds were asked for, 504 when all timed out, 422 when no URL
 * leads to a feed, 403 when the guard forbids all addresses, otherwise 502. */
void gather_problem(struct request *req, const struct gathered *items, size_t n, struct problem *p);

/* Set *p to the problem for one failed fetch of a document. `rest_s`: as in struct gathered. */
void gather_failure(struct request *req, enum rc rc, int status, int64_t rest_s, struct str text,
                    struct str url, struct problem *p);
