/* api/mcp/mcp_result.h - results of tools: bounded, with a cursor for the rest. Pure.
 *
 * A position names an item of a list. A cursor is the position of the next item. If a part of its text
 * was told before, `#` follows, the mark of the item with this text, a dot, and the number of these
 * bytes: if another item stands there by then, or its text has changed, the text is told from its
 * beginning. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "model/value.h"

#define MCP_RESULT_MAX (256 * 1024) /* bytes of a result, as it is sent */

#define MCP_MARK 16 /* hex digits */

/* Says whether something is the same as in the answer before. Empty: there was none. */
struct mcp_mark {
    char hex[MCP_MARK + 1];
};

/* What was told of the first text. */
struct mcp_part {
    struct mcp_mark mark;
    size_t offset; /* 0: nothing */
};

/* A list of which as many items are told as fit. */
struct mcp_page {
    struct value *told; /* what stands before the list: a dict, which becomes the result */
    const char *name;   /* of the list */
    struct value *items; /* dicts; at most 13 KB each without their `text` */
    struct str *at; /* at[i]: the position of item i; at[n]: the one after the last */
    struct mcp_part part; /* of the first text, told before */
    bool has_more;  /* something may follow the last item */
    bool tells_end; /* the member `cursor` says where it ended */
};

/* Returns the mark of these texts. */
struct mcp_mark mcp_mark_of(const struct str *texts, size_t n);

bool mcp_mark_same(const struct mcp_mark *a, const struct mcp_mark *b);

/* Read the digits of a mark. False: they are none. */
bool mcp_mark_read(struct str hex, struct mcp_mark *out) NODISCARD;

/* Split a cursor. */
void mcp_cursor_read(struct str cursor, struct str *position, struct mcp_part *part);

/* Returns page->told with the list, and `next_cursor`. */
struct value *mcp_page_fit(struct arena *a, const struct mcp_page *page);

/* Returns the result of a call as JSON: the same as text and as structured content. Arena. */
struct str mcp_result(struct arena *a, const struct value *structured);

/* Returns the result of a call that failed: a sentence for the model. Arena. */
struct str mcp_result_error(struct arena *a, struct str sentence);
