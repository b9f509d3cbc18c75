/* storage/term_text.h - a condition on terms as the text that an engine understands. Pure. */
#pragma once

#include "base/buf.h"
#include "model/filter.h"

/* How an engine writes a condition. */
struct term_syntax {
    const char *quote;              /* before and after a term */
    const char *prefix;             /* after a term that is a beginning */
    const char *and_word, *or_word; /* between parts */
};

/* Append "the condition, or TERM_ANY" (storage/index.h). */
void term_text(struct buf *out, const struct term_syntax *syntax, const struct term_query *q);
