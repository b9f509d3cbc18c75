/* api/http/caller.h - the caller of a request. It is identified once, before the handler runs
 * (api/api.c).
 *
 * A caller is a token, or an anonymous client of some address. Handlers look at its role and
 * at what belongs to it, not at how it was identified. Zero is nobody, who may do nothing. */
#pragma once

#include "model/access.h"

struct caller {
    enum access_role role;
    int64_t owner;     /* of what it makes: the id of a token, or OWNER_... */
    int64_t rate;      /* requests a minute; 0: no bound */
    bool is_alone;     /* it is anonymous, there are no tokens at all, and only programs on this
                          machine can reach the server */
    int64_t session;   /* the id of the token of its session (api/session.c); 0: it has none */
    struct str source; /* the bytes by which its rates are counted */
};

/* May the caller see and change what this owner has made? */
static inline bool caller_has(const struct caller *c, int64_t owner)
{
    return c->role == ROLE_ADMIN ||
           (c->role >= ROLE_SUBSCRIBE &&
            (c->owner == owner || (c->is_alone && owner == OWNER_ANONYMOUS)));
}

/* May the caller see and change feeds of which it has no subscription? */
static inline bool caller_sees_all(const struct caller *c)
{
    return c->role == ROLE_ADMIN || c->is_alone;
}

/* The owner of what the caller has a callback agree to, at the hub or the cloud. Such a lease is
 * renewed by whoever has the callback, also when there are tokens by then. */
static inline int64_t caller_lease_owner(const struct caller *c)
{
    return c->owner == OWNER_LOCAL ? OWNER_ANONYMOUS : c->owner;
}
