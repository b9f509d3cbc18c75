/* feed/prefilter.h - UTF-8 text that means to be XML, made well-formed on its way to the parser.
 *
 * Leaves: comments, processing instructions and the DOCTYPE are dropped (so no entity of it is ever
 * expanded by the parser; simple internal ones are, here, within bounds); references become numeric
 * or plain characters; stray & and < are escaped; control characters go; tags are balanced;
 * attributes get quotes; depth, attributes and their length are bounded. Linear in the input. Text
 * with references leaves as CDATA sections, in one piece per chunk, which the parser likes better.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

#define PREFILTER_CHUNK (16 * 1024)

/* Receives the mended text in pieces of at most PREFILTER_CHUNK bytes. */
typedef void prefilter_sink_fn(void *ctx, const char *p, size_t len);

struct prefilter_result {
    const char *why;  /* the first thing that had to be mended, one sentence; NULL: nothing */
    bool is_netscape; /* the DOCTYPE is that of RSS 0.91 by Netscape */
};

/* Push all of `text` (valid UTF-8) through. Any thread. */
void prefilter(struct str text, prefilter_sink_fn *sink, void *ctx, struct prefilter_result *out);
