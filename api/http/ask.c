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

enum access_role ask_anonymous(const struct ask *ask, bool *is_alone)
{
    enum access_role role;

    *is_alone = !ask->cfg->is_exposed && str_is_null(ask->cfg->token) &&
                token_book_is_empty(ask->api->tokens);
    if (role_read(ask->cfg->anonymous, &role))
        return role;
    return *is_alone ? ROLE_SUBSCRIBE : ROLE_NONE;
}

bool ask_is_private(const struct ask *ask)
{
    bool is_alone;

    return ask_anonymous(ask, &is_alone) == ROLE_NONE;
}
