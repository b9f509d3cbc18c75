/* api/http/first_fetches.h - bounds how many feeds that were never fetched callers may have
 * fetched, so that this server is not a fetcher for hire (--unknown-rate). Any thread. */
#pragma once

#include "api/http/request.h"

/* May one more unknown document be fetched for the caller now? A caller has a tenth of what all
 * have together; the role admin has no bound. False: *wait_s says when to ask again. */
bool first_fetches_take(const struct ask *ask, int64_t *wait_s);

/* The same for n documents at once: all or none. */
bool first_fetches_take_all(struct api *api, const struct api_cfg *cfg, const struct caller *c,
                            size_t n, int64_t *wait_s);

/* How many of `n` unknown feeds may be fetched now because lists of anonymous callers name them? All
 * such lists are one caller: their makers are gone. */
size_t first_fetches_of_lists(struct api *api, const struct api_cfg *cfg, size_t n);

/* How many a caller has a minute. */
int64_t first_fetches_share(const struct api_cfg *cfg);

/* May the request have an unknown document fetched that is not a feed? `what` it is: "list", "page". It
 * counts as a feed. False: *p says why not. The request's loop. */
bool first_fetches_let(const struct request *req, const char *what, struct problem *p) NODISCARD;

/* Set *p to: too many unknown feeds were asked for. */
void first_fetches_problem(struct problem *p, struct arena *a, int64_t wait_s);
