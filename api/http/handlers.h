/* api/http/handlers.h - declares the handlers of the route table.
 *
 * A handler runs on the loop of its request, after the parameters have been read. It replies, or
 * holds the request and replies later. */
#pragma once

#include "api/http/request.h"

#define ROUTE(path, method, role, handler, flags, help, params) void handler(struct request *req);
#include "api/routes.def"
#undef ROUTE
