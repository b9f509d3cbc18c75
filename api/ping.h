/* api/ping.h - a ping, however it comes in: checked, limited, logged, handed on. */
#pragma once

#include "api/call.h"

struct ping {
    struct str name;        /* null: none was given */
    struct str url;         /* site or feed */
    struct str rss_url;     /* null or empty: not given */
    struct str changes_url; /* of weblogUpdates.ping: another name of the site or feed; null */
};

enum ping_result { PING_TAKEN, PING_BAD, PING_TOO_MANY, PING_BUSY };

/* Take a ping of this call's source, once a call. *message says what came of it, in the arena; *bad
 * names the parameter of a bad one. An unknown URL is taken, and makes no feed (PING-05). */
enum ping_result ping_take(struct call *c, const struct ping *ping, struct arena *a,
                           struct str *message, const char **bad);

/* Answer the call with what is in `out`, as reply_buf(); if it took a ping, when that is on disk.
 * The call is over, or held. `media_type` is a constant. */
void ping_answer(struct call *c, const char *media_type, struct buf *out);
