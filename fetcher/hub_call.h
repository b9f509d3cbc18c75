/* fetcher/hub_call.h - a subscription request to a hub (WebSub §5.1), over its redirects. Loop. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "net/http_client.h"

struct hub_request {
    struct str token, hub; /* given back with the answer */
    struct str topic, callback;
    struct str secret;     /* with `ends`: not sent */
    struct str credential; /* for the hub's origin; null: none. SECRET */
    int64_t lease_s;       /* asked for; likewise */
    bool ends;             /* unsubscribe */
    int64_t timeout_ms;
};

/* `why` is null when the hub took the request: it will verify it, or has. RC_CLOSED: the client is
 * being freed. Strings are borrowed for the call. */
typedef void hub_answer_fn(void *ctx, const struct hub_request *req, enum rc rc, struct str why);

/* What a hub has said, as far as it is shown: its beginning, and nothing of what repeats token or
 * secret, which only the hub and we may know. Borrowed from `text`. */
struct str hub_said(struct str text, struct str token, struct str secret);

/* POST it; the answer comes once, not before this returns. All is copied. */
void hub_call_start(struct http_client *client, const struct hub_request *req, hub_answer_fn *done,
                    void *ctx);
