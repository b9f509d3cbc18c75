/* api/http/caller.h - who asks, decided once for each request before its handler runs (api/api.c).
 *
 * A caller is a token, or an anonymous client of some address. Handlers ask for its role and for
 * what belongs to it; how it has shown who it is they do not know. Zero is nobody, who may do
 * nothing. */
#pragma once

#include "model/access.h"

struct caller {
    enum access_role role;
    int64_t owner;     /* of what it makes: the id of a token, or OWNER_... */
    int64_t rate;      /* requests a minute; 0: no bound */
    bool is_alone;     /* it is anonymous, and this server has no tokens at all, and only callers of
                          its own machine */
    struct str source; /* the bytes by which its rates are counted */
};

/* May the caller see and change what this owner has made? */
static inline bool caller_has(const struct caller *c, int64_t owner)
{
    return c->role == ROLE_ADMIN || (c->role >= ROLE_SUBSCRIBE && c->owner == owner);
}
