/* notifier/intent.h - the rules by which a subscriber confirms what was asked for in its name
 * (WebSub 5.3, PubSubHubbub 0.3 section 6.2): what it is asked, and what its answer means.
 *
 * Pure; any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/hub.h"

/* Append the URL that is called: the callback with its own query, and our parameters after it. A
 * denial has no challenge. */
void intent_url(struct buf *url, struct arena *a, const struct hub_intent *in,
                struct str challenge);

struct intent_verdict {
    bool confirmed; /* it answered 2xx with the challenge, and nothing else, as the body */
    bool unreached; /* it did not answer, or 5xx: it may answer at another time */
};

/* `rc`, `status` (0: none) and `body` as the HTTP client gave them. */
struct intent_verdict intent_judge(enum rc rc, int status, struct str body, struct str challenge);

/* The pause before the next try, in milliseconds. `n_tries` (>= 1) tries have been made, and `v` is
 * the verdict of the last one. -1: no more tries. When the requester waits for the result, there is
 * only one try. */
int64_t intent_pause_ms(const struct hub_intent *in, struct intent_verdict v, int n_tries);

/* "subscribe", "unsubscribe", "denied" */
const char *intent_mode_name(enum hub_mode mode);
