/* api/mcp/mcp_shapes.h - makes the result of a tool of what its route answered: the texts of feeds
 * marked as foreign, without markup and without characters that are not seen. Pure, any thread. */
#pragma once

#include "api/mcp/mcp_result.h"
#include "api/mcp/mcp_tools.h"

#define MCP_AHEAD 100 /* by so many items the next one may have moved back in a list */

/* What was asked. */
struct mcp_asked {
    const struct mcp_tool *tool;
    struct str position; /* the cursor, as mcp_cursor_read() gives it; null: there was none */
    struct mcp_part part;
    size_t start;         /* where the next item of a numbered list was, and its mark: */
    struct mcp_mark mark; /* it may have moved since */
    size_t base;          /* the number of the first item of the answer */
    size_t max;           /* items of the list: one more was asked for */
    bool is_filtered;
    int64_t id;   /* SHAPE_ENDED, as the next one */
    bool is_part; /* it goes on without some of it */
};

/* Returns the result, as JSON in the arena. `body`: of the answer. RC_INPUT: it is not JSON. */
enum rc mcp_shape_answer(struct arena *a, const struct mcp_asked *asked, struct str body,
                         struct str *out, struct err *err) NODISCARD;

/* Returns the sentence that tells a problem to a model. */
struct str mcp_shape_problem(struct arena *a, const struct problem *p);
