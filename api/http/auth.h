/* api/http/auth.h - decides which requests are allowed. Pure. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

#define AUTH_KEY "key" /* the parameter of a GET that has a token */

/* The token in an Authorization field (null: none): that of Bearer, or the password of Basic. Null:
 * there is none. SECRET. Arena. */
struct str auth_token(struct arena *a, struct str authorization);

/* The value of the cookie with this name in a Cookie field (null: there is none); null: it has no such
 * cookie. SECRET. */
struct str auth_cookie(struct str field, struct str name);

/* Are the two the same? The time that this takes does not tell where they differ. */
bool auth_same(struct str x, struct str y);

/* Take the parameter `key`, a token, out of the query of a target. *key gets its decoded value, or
 * null. Returns the target without it, in the arena. */
struct str auth_without_key(struct arena *a, struct str target, struct str *key);

/* Returns true when a foreign page in a browser cannot cause a request with this Host field (null
 * or empty: there is none). This is so for an IP address, localhost, or one of `names`, in any
 * letter case, each with or without a port. */
bool auth_host_is_ours(struct str host, const struct str *names, size_t n);

/* Returns true when a page of another site causes this request, by Sec-Fetch-Site (null: the client
 * is not a browser that sends it). Such a request may only read what CORS allows. A page of
 * `cors_origin` ("*": any; null: none) does not count as another site. The page is named by Origin;
 * if a browser sends no Origin (scripts, images, links), by Referer. */
bool auth_is_foreign(struct str sec_fetch_site, struct str origin, struct str referer,
                     struct str cors_origin);

/* Returns true when a page of this Origin (null: not a browser) may change something. A form on a
 * foreign page must not subscribe or end anything. Allowed are `cors_origin` (not "*"), the origin
 * of `base_url`, and the origin at which this request came: http and the Host field, unless
 * `base_url` has that host with another scheme. Null: not configured. */
bool auth_origin_may_write(struct str origin, struct str host, struct str base_url,
                           struct str cors_origin);
