/* api/http/routes.h - the table of api/routes.def: which resources there are. Any thread. */
#pragma once

#include "api/http/parameters.h"
#include "api/http/request.h"
#include "base/arena.h"
#include "model/access.h"

enum route_flags {
    BELOW = 1,      /* paths below it, too */
    URLENCODED = 2, /* parameters come from an urlencoded body, too */
    RECALLED = 4,   /* it may be known from before (views/recall.h) */
    ALONE = 8,      /* also for anonymous callers with the role subscribe, while there are no
                       tokens and only this machine can reach the server: so commands of an
                       operator work at once on a machine of one's own */
    NAMED = 16,     /* with BELOW: it is only for the paths below, which name things. At the path
                       itself the handler says what is missing, and Allow does not have the method */
};

struct route {
    const char *path, *method;
    enum access_role role;
    request_handler_fn *handle;
    unsigned flags;
    const char *help;
    const enum param_id *params; /* that it reads; ends with PARAM_NONE */
};

/* How many rows there are. */
enum {
    ROUTES_ = 0
#define ROUTE(path, method, role, handler, flags, help, params) +1
#include "api/routes.def"
#undef ROUTE
};

/* Returns the number of a row, from 0 on. */
size_t route_number(const struct route *r);

/* Returns the i-th row; NULL: there are fewer. */
const struct route *route_at(size_t i);

/* Returns the row for a path and a method; NULL: there is none. HEAD is GET. */
const struct route *route_find(struct str path, struct str method);

/* Returns "GET, HEAD, POST" for example; empty when there is no such path. Arena. */
struct str route_methods(struct arena *a, struct str path);
