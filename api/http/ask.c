/* api/http/ask.c - see ask.h. */
#include "api/http/ask.h"

#include "api/http/token_book.h"

struct str ask_origin(struct arena *a, const struct api_cfg *cfg, struct str host)
{
    struct str origin = cfg->base_url;

    if (str_is_null(origin))
        return str_concat(a, STR("http://"), host);
    while (str_ends(origin, STR("/")))
        origin.len--;
    return origin;
}

static enum access_role anonymous_role(struct api *api, const struct api_cfg *cfg, bool *is_alone)
{
    enum access_role role;

    *is_alone = !cfg->is_exposed && str_is_null(cfg->token) && token_book_is_empty(api->tokens);
    if (role_read(cfg->anonymous, &role))
        return role;
    return *is_alone ? ROLE_SUBSCRIBE : ROLE_NONE;
}

enum access_role ask_anonymous(const struct ask *ask, bool *is_alone)
{
    return anonymous_role(ask->api, ask->cfg, is_alone);
}

bool ask_may_go_on(struct api *api, const struct api_cfg *then, const struct caller *c)
{
    const struct api_cfg *now = &atomic_load(&api->conf)->cfg;
    bool is_alone;

    if (c->session != 0 && !token_book_has(api->tokens, c->session))
        return false;
    if (c->owner == OWNER_OPTION)
        return now == then || str_eq(now->token, then->token);
    if (c->owner > 0)
        return token_book_has(api->tokens, c->owner);
    return anonymous_role(api, now, &is_alone) >= ROLE_READ;
}

bool ask_is_private(const struct ask *ask)
{
    bool is_alone;

    return ask_anonymous(ask, &is_alone) == ROLE_NONE;
}
