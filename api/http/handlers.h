/* api/http/handlers.h - the handlers of the route table, declared from it.
 *
 * A handler runs on the loop of its request, with the parameters read. It replies, or holds the
 * request and replies later.
 */
#pragma once

#include "api/http/request.h"

#define ROUTE(path, method, handler, flags, help) void handler(struct request *req);
#include "api/routes.def"
#undef ROUTE
