/* api/pings/ping.h - takes pings, whatever their protocol: checks them, limits and logs them, and
 * passes them on. */
#pragma once

#include "api/http/request.h"

struct ping {
    struct str name;        /* null: none was given */
    struct str url;         /* site or feed */
    struct str rss_url;     /* null or empty: not given */
    struct str changes_url; /* another URL of the site or feed (weblogUpdates.ping); null */
};

enum ping_result { PING_TAKEN, PING_BAD, PING_TOO_MANY, PING_BUSY };

/* Take a ping from the source of this request; at most once for each request. *message is set to
 * the result, in the arena; *bad is set to the name of a bad parameter. A ping with an unknown URL
 * is taken, but does not create a feed (PING-05). */
enum ping_result ping_take(struct request *req, const struct ping *ping, struct arena *a,
                           struct str *message, const char **bad);

/* Answer the request with the bytes in `out`, like reply_buf(). If the request took a ping, the
 * answer waits until the ping is on disk. After the call the request is over or held. `media_type`
 * is a constant. */
void ping_answer(struct request *req, const char *media_type, struct buf *out);
