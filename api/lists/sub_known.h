/* api/lists/sub_known.h - finds feeds that are subscribed already, for callers that do not want to
 * subscribe twice.
 *
 * Only subscriptions without an endpoint count. They only say that a feed is polled and listed, so
 * a second one would add nothing. Strings and arrays live in the given arena.
 */
#pragma once

#include "api/http/caller.h"
#include "base/buf.h"
#include "storage/store.h"

struct sub_known {
    struct known_feed {
        int64_t feed_id, sub_id; /* sub_id: the oldest subscription with this feed */
        struct str shown_url;    /* as this request names it; set by sub_known_split() */
    } * feeds;
    size_t n;
};

/* Read all feeds of the caller's subscriptions without an endpoint, ordered by id. Reader threads.
 */
enum rc sub_known_read(struct reader *r, const struct caller *caller, struct arena *a,
                       struct sub_known *out, struct err *err) NODISCARD;

/* Split `refs`: *known gets the feeds that are in `all`, and *rest gets the others. A feed is found
 * by its URL, by an older URL of it, or by the web page that led to it. Any thread. */
void sub_known_split(struct store *s, struct arena *a, const struct sub_known *all,
                     const struct feed_ref *refs, size_t n, struct feed_ref **rest, size_t *n_rest,
                     struct sub_known *known);

/* Write the member "known" with a comma before it: [{"url","id"}]; id is that of the subscription.
 */
void sub_known_write(struct buf *out, const struct sub_known *known);
