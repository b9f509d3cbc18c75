/* feed/read/prefilter.h - makes UTF-8 text well-formed XML on its way to the parser.
 *
 * Comments, processing instructions and the DOCTYPE are dropped. So the parser never expands an
 * entity; simple internal entities are expanded here, within limits. Tags are balanced, and their
 * attributes get quotes. References in attributes become numeric. Depth, the number of attributes
 * and their length are limited. Text does not pass through the parser, because nothing in it is
 * left to parse: references are already decoded, stray & and < are characters, and control
 * characters are removed. Time is linear in the input.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

#define PREFILTER_CHUNK (16 * 1024)

struct prefilter_text {
    struct str text;
    size_t at; /* number of tags before it; the tag of an empty element counts as two */
};

/* The text of an '&' that an id or guid has as "&amp;" in the document. It is passed as a separate
 * text with exactly this pointer. */
extern const char prefilter_written_amp[1];

/* An empty text with exactly this pointer says: the innermost element will end without its own end
 * tag, because the end tag of another text came first. */
extern const char prefilter_lost_text[1];

/* The next part of the document. Everything in it is borrowed for the call. */
struct prefilter_batch {
    struct str tags; /* at most PREFILTER_CHUNK bytes; only a longer tag is cut */
    const struct prefilter_text *texts;
    size_t n_texts;
};

typedef void prefilter_sink_fn(void *ctx, const struct prefilter_batch *batch);

struct prefilter_result {
    const char *why;  /* the first repair, as one sentence; NULL: nothing was repaired */
    bool is_netscape; /* the DOCTYPE is that of RSS 0.91 by Netscape */
    bool is_crossed;  /* an end tag closed elements that were left open, or no element */
    bool is_crowded;  /* an element has more than LIMIT_XML_ATTRIBUTES attributes */
};

enum prefilter_mode {
    PREFILTER_PLAIN = 0,
    /* When an element begins that cannot stand in the open element, end the open element first.
     * Only for documents that are known to be crossed: well-formed documents mean what they say. */
    PREFILTER_GUESSES = 1,
    /* Stop at the first crowded element, instead of leaving out its last attributes. */
    PREFILTER_REFUSES_CROWDS = 2,
};

/* Push all of `text` (valid UTF-8) through `sink`. Any thread. */
void prefilter(struct str text, enum prefilter_mode mode, prefilter_sink_fn *sink, void *ctx,
               struct prefilter_result *out);
