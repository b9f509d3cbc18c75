/* api/http/auth.h - decides which requests are allowed. Pure. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/* Does an Authorization field (null: none) carry the token: as Bearer, or as the password of Basic?
 * Compared without telling where they differ. */
bool auth_has_token(struct arena *a, struct str authorization, struct str token);

/* Is this Host field (null or empty: none came) one that no foreign page in a browser can cause: an
 * IP address, localhost, or one of these names, in any case, each with or without a port? */
bool auth_host_is_ours(struct str host, const struct str *names, size_t n);

/* Does a page of another site cause this request, by Sec-Fetch-Site (null: no browser that says
 * so)? Such a request may read what CORS lets it read, and nothing else. A page of `cors_origin`
 * ("*": any; null: none) does not count as another site; the page is named by Origin, or by Referer
 * where a browser sends no Origin (scripts, images, links). */
bool auth_is_foreign(struct str sec_fetch_site, struct str origin, struct str referer,
                     struct str cors_origin);

/* May a page of this Origin (null: no browser) change something? A form on a foreign page must not
 * subscribe or end anything. Allowed are `cors_origin` (not "*"), the origin of `base_url`, and the
 * origin at which this request came: http and the Host field, unless `base_url` says with which
 * scheme that host is reached. Null: not configured. */
bool auth_origin_may_write(struct str origin, struct str host, struct str base_url,
                           struct str cors_origin);
