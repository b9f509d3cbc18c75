/* api/lists/sub_secrets.h - what is to be sent with the fetches of a feed, as a request gives it:
 * `fetch_header.NAME`, `user_agent`, `cookie`, `bearer`, `proxy`. No problem repeats a value. Any thread. */
#pragma once

#include "api/http/caller.h"
#include "api/http/params.h"
#include "net/guard.h"

/* Does the request have one of them that is not empty? */
bool sub_secrets_are_given(const struct params *ps);

/* May the caller say what is sent? All who name a feed get what its publisher, or its proxy, answers
 * to that: so only admins may, and whoever is alone on this machine. */
bool sub_secrets_may(const struct caller *c, struct arena *a, struct problem *p) NODISCARD;

/* Get them as fetch_secrets_text(): they are for the origin of the URL `home`. All that are given
 * together take the place of what the feed had. *out null: the request has none that is not empty,
 * as HTML forms send them; with `may_end` null is for none at all, and empty for empty ones alone. A proxy whose
 * address the guard of fetches refuses is refused here, too; a name is judged when it is resolved. */
bool sub_secrets_read(const struct params *ps, const struct guard *guard, struct arena *a,
                      struct str home, bool may_end, struct str *out, struct problem *p) NODISCARD;
