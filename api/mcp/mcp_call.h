/* api/mcp/mcp_call.h - runs the route of a tool within the request to /mcp, and makes the tool's
 * result of what the route answers. The request's loop. */
#pragma once

#include "api/mcp/mcp_tools.h"

/* Gets the result, as JSON in the request's arena. */
typedef void mcp_called_fn(struct request *req, struct str result, void *ctx);

/* Call a tool that the caller's role allows. `args`: a dict, or NULL. `done` is called once, now or
 * later, unless the client leaves. One call of a request at a time. */
void mcp_call(struct request *req, const struct mcp_tool *tool, const struct value *args,
              mcp_called_fn *done, void *ctx);
