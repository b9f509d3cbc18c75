/* api/mcp/mcp_tools.h - the table of tools.def: what a client of /mcp may call. Pure, any thread. */
#pragma once

#include "api/http/routes.h"
#include "model/value.h"

enum mcp_shape {
#define SHAPE(id, pages, schema) SHAPE_##id,
#include "api/mcp/shapes.def"
#undef SHAPE
};

enum mcp_hints {
    READS = 1,    /* it changes nothing */
    DESTROYS = 2, /* it takes something away */
    OPEN = 4,     /* it may ask publishers */
};

struct mcp_tool {
    const char *name, *path, *method;
    enum mcp_shape shape;
    const char *fixed;
    enum param_id needs;
    unsigned hints;
    const char *title, *text;
    bool only;                  /* `listed` are its arguments; else the others are */
    const enum param_id *listed; /* ends with PARAM_NONE */
};

#define MCP_CURSOR "cursor" /* the argument of tools whose results have a rest */

/* Returns the tool of this name; NULL: there is none. */
const struct mcp_tool *mcp_tool_find(struct str name);

/* The route that does it. */
const struct route *mcp_tool_route(const struct mcp_tool *t);

/* The parameters that are its arguments, ending with PARAM_NONE. Arena. */
const enum param_id *mcp_tool_params(struct arena *a, const struct mcp_tool *t);

/* Do its results have a rest? */
bool mcp_tool_pages(const struct mcp_tool *t);

/* Returns the result of tools/list for a role. */
struct value *mcp_tools_list(struct arena *a, const struct api_cfg *cfg, enum access_role role);

/* Returns the names of the tools of a role: "a, b, c". Arena. */
struct str mcp_tools_names(struct arena *a, enum access_role role);
