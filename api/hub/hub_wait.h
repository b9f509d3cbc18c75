/* api/hub/hub_wait.h - hands requests at our hub and our cloud to the storer, and finds those that
 * wait for their verification. */
#pragma once

#include "api/http/request.h"
#include "api/hub/hub_pending.h"
#include "model/hub.h"
#include "storage/store.h"

struct hub_waiters;
struct hub_waiters *hub_waiters_new(struct store *s);

/* Free it. Call it after the last commit. */
void hub_waiters_free(struct hub_waiters **wp);

/* Answer the waiting requests whose intents have been settled. Runs on the storer's thread. */
void hub_waiters_notice(struct hub_waiters *w, const struct commit_notice *notice);

/* What came of a request. */
struct hub_end {
    enum rc rc;                 /* RC_OK: it is stored; RC_FULL: there is no room; RC_CONFLICT: what
                                   it would change belongs to another caller; RC_AGAIN: it is over,
                                   but what came of it is not known here */
    struct hub_settled settled; /* if the intent waits: what came of its verification */
};

/* Runs on the request's loop, at most once, and must answer the request. */
typedef void hub_end_fn(struct request *req, const struct hub_end *end, void *ctx);

/* Store the intent, and hold the request until it is stored or, if in->waits, settled. NULL: `end`
 * is called, now or later, or the request would wait while the server stops, and was refused.
 * Otherwise a limit is reached, which is returned, and the caller answers.
 * `ctx` is in the request's arena. */
const struct hub_full *hub_wait_start(struct request *req, const struct hub_intent *in,
                                      hub_end_fn *end, void *ctx) NODISCARD;
