/* api/http/routes.c - see routes.h. */
#include "api/http/routes.h"

#include "api/http/handlers.h"
#include "base/buf.h"
#include "base/mem.h"
#include "model/media_types.h"
#include "model/paths.h"

static const struct route routes[] = {
#define ROUTE(path, method, role, handler, flags, help, params)                                    \
    {path, method, ROLE_##role, handler, flags, help, (const enum param_id[]){params}},
#include "api/routes.def"
#undef ROUTE
};

const struct route *route_at(size_t i)
{
    return i < ARRAY_LEN(routes) ? &routes[i] : NULL;
}

size_t route_number(const struct route *r)
{
    return (size_t)(r - routes);
}

static bool matches(const struct route *r, struct str path)
{
    size_t len = strlen(r->path);

    if (str_eqz(path, r->path))
        return true;
    return (r->flags & BELOW) != 0 && path.len > len && path.ptr[len] == '/' &&
           str_starts(path, str_from(r->path));
}

struct str route_methods(struct arena *a, struct str path)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    for (size_t i = 0; i < ARRAY_LEN(routes); i++)
        if (matches(&routes[i], path) &&
            !((routes[i].flags & NAMED) != 0 && str_eqz(path, routes[i].path)))
            buf_printf(&out, "%s%s%s", out.len > 0 ? ", " : "", routes[i].method,
                       strcmp(routes[i].method, "GET") == 0 ? ", HEAD" : "");
    return str_dup(a, buf_view(&out));
}

const struct route *route_find(struct str path, struct str method)
{
    if (str_eqz(method, "HEAD"))
        method = STR("GET");
    for (size_t i = 0; i < ARRAY_LEN(routes); i++)
        if (matches(&routes[i], path) && str_eqz(method, routes[i].method))
            return &routes[i];
    return NULL;
}
