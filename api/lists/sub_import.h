/* api/lists/sub_import.h - turns the outlines of a list into feeds to subscribe to, and reports
 * which outlines are wrong.
 *
 * As much as possible of a list is used. An outline with an invalid address is left out, an invalid
 * setting is ignored, and both are reported. Settings count only in the list that was sent. The
 * author of an included list may name feeds, but may not choose their settings. Pure.
 */
#pragma once

#include "api/lists/list_tree.h"

#define IMPORT_NOTES 100 /* problems that are described; all are counted */

struct import_note {
    struct str list;     /* the included list with the problem; null: the list that was sent */
    size_t outline;      /* its number in that list, from 1; 0: the whole list */
    struct str url;      /* URL of the outline, public; null: the whole list is wrong */
    const char *setting; /* NULL: the outline was left out */
    struct str why;
};

struct sub_import {
    struct feed_ref *refs; /* each feed once, by its first outline */
    size_t n_refs, n_doubles, n_left_out;
    struct import_note *notes; /* the first IMPORT_NOTES */
    size_t n_problems;
};

/* Turn a tree into feeds. The settings in an outline's attributes are used where the request does
 * not set `freq` or `sanitize`. All memory is in `a`. */
void sub_import_take(struct arena *a, const struct list_tree *tree, int64_t min_period_s,
                     struct sub_import *out);

/* Write the members "doubles", "left_out", "problems" and "problem_count", each with a comma before
 * it. */
void sub_import_write(struct buf *out, const struct sub_import *im);
