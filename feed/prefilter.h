/* feed/prefilter.h - UTF-8 text that means to be XML, made well-formed on its way to the parser.
 *
 * Leaves: comments, processing instructions and the DOCTYPE are dropped (so no entity of it is ever
 * expanded by the parser; simple internal ones are, here, within bounds); tags are balanced; their
 * attributes get quotes, and references in these become numeric; depth, attributes and their length
 * are bounded. Text goes another way than the tags, since there is nothing left in it to parse:
 * references are characters already, stray & and < too, control characters are gone. Linear in the
 * input.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

#define PREFILTER_CHUNK (16 * 1024)

struct prefilter_text {
    struct str text;
    size_t at; /* tags of the document in front of it; that of an empty element counts as two */
};

/* The '&' of an id or guid that is "&amp;" in the document: a text of its own, and this very
 * pointer. */
extern const char prefilter_written_amp[1];

/* The innermost element will end without an end tag of its own, having met that of another text: a
 * text of no length, and this very pointer. */
extern const char prefilter_lost_text[1];

/* What comes next of the document. All of it is borrowed for the call. */
struct prefilter_batch {
    struct str tags; /* at most PREFILTER_CHUNK bytes; only a longer tag is cut */
    const struct prefilter_text *texts;
    size_t n_texts;
};

typedef void prefilter_sink_fn(void *ctx, const struct prefilter_batch *batch);

struct prefilter_result {
    const char *why;  /* the first thing that had to be mended, one sentence; NULL: nothing */
    bool is_netscape; /* the DOCTYPE is that of RSS 0.91 by Netscape */
    bool is_crossed;  /* an end tag closed elements that were left open, or none */
};

/* Push all of `text` (valid UTF-8) through. `guesses`: where an element begins that cannot stand in
 * the one before it, that one was left open. For what has turned out to be crossed only: what is
 * well-formed means what it says. Any thread. */
void prefilter(struct str text, bool guesses, prefilter_sink_fn *sink, void *ctx,
               struct prefilter_result *out);
