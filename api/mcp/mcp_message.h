/* api/mcp/mcp_message.h - messages of JSON-RPC 2.0, as the Model Context Protocol uses them. Pure. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "model/value.h"

enum mcp_code {
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_NO_METHOD = -32601,
    MCP_INVALID_PARAMS = -32602,
};

enum mcp_kind {
    MCP_REQUEST,
    MCP_NOTICE, /* a notification or a response: nothing is answered */
    MCP_INVALID,
};

struct mcp_message {
    enum mcp_kind kind;
    struct str method;
    const struct value *id;     /* of a request; NULL: null */
    const struct value *params; /* a dict, or NULL */
    const char *why;            /* MCP_INVALID: what would be right */
};

/* Read one message, which borrows from `v`. */
void mcp_message_read(const struct value *v, struct mcp_message *out);

/* Returns the response with this result, which is JSON; the response that tells an error. `id`: that
 * of the request; NULL: not known. Arena. */
struct str mcp_response(struct arena *a, const struct value *id, struct str result);
struct str mcp_failure(struct arena *a, const struct value *id, enum mcp_code code,
                       struct str message);
