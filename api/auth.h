/* api/auth.h - who may ask. Pure. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/* Does an Authorization field (null: none) carry the token: as Bearer, or as the password of Basic?
 * Compared without telling where they differ. */
bool auth_has_token(struct arena *a, struct str authorization, struct str token);

/* May a page of this Origin (null: no browser) change something? Ours (its authority is `host`) and
 * the configured one may: a form on a foreign page must not subscribe or end anything. */
bool auth_origin_may_write(struct str origin, struct str host, struct str cors_origin);
