/* net/http_auth.h - which URLs asked for Basic authentication, so that the next request brings the
 * credential at once, instead of being refused first.
 *
 * Kept is a hash of URL and credential, so nothing goes where it was not asked for: not to another
 * path, and not where Digest was offered, too. A table of fixed size: what has lost its place is
 * asked for once more. Digest always needs the challenge. All on the thread of the client's loop.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct http_auth;

struct http_auth *http_auth_new(void);
void http_auth_free(struct http_auth **ap);

/* Did this URL ask for Basic, and only for that, when it got this credential? */
bool http_auth_is_basic(const struct http_auth *auth, struct str url, struct str credential);

/* Note that it does, or that it does no longer. */
void http_auth_set_basic(struct http_auth *auth, struct str url, struct str credential, bool is);
