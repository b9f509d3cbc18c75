/* api/http/ask.c - see ask.h. */
#include "api/http/ask.h"

struct str ask_origin(struct arena *a, const struct api_cfg *cfg, struct str host)
{
    struct str origin = cfg->base_url;

    if (str_is_null(origin))
        return str_concat(a, STR("http://"), host);
    while (str_ends(origin, STR("/")))
        origin.len--;
    return origin;
}
