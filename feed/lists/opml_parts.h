/* feed/lists/opml_parts.h - cuts a subscription list into lists that a server takes. Pure. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct opml_part {
    struct str text;    /* OPML 2.0 */
    size_t n_feeds;
    size_t n_outlines;  /* of any kind */
    size_t *outline_no; /* of outline k of the part, from 1 on: its number in the whole list; 0: it is a folder */
};

/* Cut a list of any length into parts with at most `max` outlines each, or as many as a single feed
 * and its folders need. The feeds keep their order, their folders and what opml_read() reads of them;
 * an included list is named in one part. Arena. Errors: as
 * opml_read(), but a list may have any number of outlines. */
enum rc opml_cut(struct arena *a, struct str body, size_t max, struct opml_part **out, size_t *n,
                 struct err *err) NODISCARD;
