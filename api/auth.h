/* api/auth.h - who may ask. Pure. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/* Does an Authorization field (null: none) carry the token: as Bearer, or as the password of Basic?
 * Compared without telling where they differ. */
bool auth_has_token(struct arena *a, struct str authorization, struct str token);

/* Is this Host field (with or without a port; null or empty: none came) one that no foreign page in
 * a browser can cause: an IP address, localhost, or one of these names, in any case? */
bool auth_host_is_ours(struct str host, const struct str *names, size_t n);

/* May a page of this Origin (null: no browser) change something? Ours (its authority is `host`) and
 * the configured one may: a form on a foreign page must not subscribe or end anything. */
bool auth_origin_may_write(struct str origin, struct str host, struct str cors_origin);
