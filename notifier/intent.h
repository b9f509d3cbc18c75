/* notifier/intent.h - rules for the confirmation of a request by its subscriber (WebSub 5.3,
 * PubSubHubbub 0.3 section 6.2, rssCloud): what the subscriber is asked, and what its answer means.
 * Pure, any thread. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/hub.h"

/* Append the URL to be called: the callback with its own query, and our parameters after it.
 * `challenge` is not used in a denial. */
void intent_url(struct buf *url, struct arena *a, const struct hub_intent *in,
                struct str challenge);

/* How the subscriber is called. */
struct intent_call {
    struct str method, url, body, media_type; /* null: there is no body */
};

/* Make the call that asks for the confirmation; strings in `a`. By rssCloud, a handler at the
 * address of its caller, or one that is called by XML-RPC, gets a notification as a test; any other
 * one has to give the challenge back. */
struct intent_call intent_call(struct arena *a, const struct hub_intent *in, struct str challenge);

struct intent_verdict {
    bool confirmed; /* it answered as it must: intent_judge() */
    bool unreached; /* it did not answer, or with 5xx; it may answer later */
};

/* Judge the answer. `rc`, `status` (0: none) and `body` are from the HTTP client. The answer must
 * be 2xx. Its body must be exactly the challenge (WebSub), or the challenge with white space around
 * it (rssCloud, http-post), or the result true (xml-rpc). A test at the caller's own address needs
 * no body (http-post), or any result (xml-rpc). A page that only repeats its URL does not pass. */
struct intent_verdict intent_judge(const struct hub_intent *in, enum rc rc, int status,
                                   struct str body, struct str challenge);

/* The pause before the next try, in milliseconds. `n_tries` (>= 1) tries have been made, and `v` is
 * the verdict of the last one. -1: no more tries. When the requester waits for the result, there is
 * only one try. */
int64_t intent_pause_ms(const struct hub_intent *in, struct intent_verdict v, int n_tries);

/* "subscribe", "unsubscribe", "denied" */
const char *intent_mode_name(enum hub_mode mode);
