/* fetcher/upstream_call.h - a subscription request to a hub (WebSub §5.1) or cloud (rssCloud), over
 * its redirects. Loop. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "fetcher/upstream_rules.h"
#include "net/http_client.h"

struct upstream_request {
    struct str token; /* given back with the answer, like the next */
    struct upstream_hub hub;
    struct str topic, callback;
    struct str secret;     /* with `ends`, and to a cloud: not sent */
    struct str credential; /* for the hub's origin; null: none. SECRET */
    int64_t lease_s;       /* the lease that is asked for; with `ends`: not sent */
    bool ends;             /* unsubscribe; a cloud cannot be asked for that */
    int64_t timeout_ms;
};

/* Gets the answer. `why` is null when the hub took the request, which it has verified or will
 * verify, or when the cloud has registered us. RC_CLOSED: the client is being freed. The strings
 * are borrowed until the function returns. */
typedef void upstream_answer_fn(void *ctx, const struct upstream_request *req, enum rc rc,
                                struct str why);

/* POST the request. `done` is called once, after this function has returned. Everything in *req is
 * copied. */
void upstream_call_start(struct http_client *client, const struct upstream_request *req,
                         upstream_answer_fn *done, void *ctx);
