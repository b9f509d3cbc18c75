/* api/mcp/mcp_result.h - results of tools: bounded, with a cursor for the rest. Pure.
 *
 * A position names an item of a list. A cursor is the position of the next item; if a part of its text
 * was told before, `#` and the number of these bytes follow. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "model/value.h"

#define MCP_RESULT_MAX (256 * 1024) /* bytes of a result, as it is sent */

/* A list of which as many items are told as fit. */
struct mcp_page {
    struct value *told; /* what stands before the list: a dict, which becomes the result */
    const char *name;   /* of the list */
    struct value *items; /* dicts; at most 13 KB each without their `text` */
    struct str *at; /* at[i]: the position of item i; at[n]: the one after the last */
    size_t offset;  /* so much of the first text was told before */
    bool has_more;  /* something may follow the last item */
    bool tells_end; /* the member `cursor` says where it ended */
};

/* Split a cursor. */
void mcp_cursor_read(struct str cursor, struct str *position, size_t *offset);

/* Returns page->told with the list, and `next_cursor`. */
struct value *mcp_page_fit(struct arena *a, const struct mcp_page *page);

/* Returns the result of a call as JSON: the same as text and as structured content. Arena. */
struct str mcp_result(struct arena *a, const struct value *structured);

/* Returns the result of a call that failed: a sentence for the model. Arena. */
struct str mcp_result_error(struct arena *a, struct str sentence);
