/* fetcher/moves.h - when a permanent redirect (301, 308; RFC 9110, section 15.4) of a known feed is
 * believed: after a week and three fetches that found the feed there, because publishers answer so
 * by mistake, and during maintenance. A feed that was never fetched with success moves at once (D104), and
 * so does one from http to https at the same host. Pure, any thread.
 */
#pragma once

#include "model/feed.h"

#define MOVE_SURE_S ((int64_t)7 * 24 * 3600)
#define MOVE_SURE_TIMES 3

/* The redirect after a fetch at `now` (Unix seconds) that was led to `to`, which is borrowed.
 * `was`: as the row has it. `is_proved`: the answer came with the feed, or says that what came from
 * there before is unchanged. */
struct feed_move move_seen(const struct feed_move *was, struct str to, int64_t now, bool is_proved);

/* Is the redirect believed at `now`? */
bool move_is_sure(const struct feed_move *move, int64_t now);

/* Does a permanent redirect of the feed to `to`, a canonical URL, need no such proof? */
bool move_is_plain(const struct feed *feed, struct str to);
