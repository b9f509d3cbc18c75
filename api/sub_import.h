/* api/sub_import.h - the outlines of a list as feeds to subscribe, and what is wrong with some.
 *
 * A list is taken as far as it goes: an outline whose address is none is left out, a setting that
 * cannot be is passed over, and both are told. Settings count in the list that was sent alone: who
 * writes a list that it includes may name feeds, but not say how they are treated. Pure.
 */
#pragma once

#include "api/list_tree.h"

#define IMPORT_NOTES 100 /* problems that are told; all are counted */

struct import_note {
    struct str list;     /* the included list it is about; null: the one that was sent */
    size_t outline;      /* its number in that list, from 1; 0: the whole list */
    struct str url;      /* the outline's, public; null: the list is to blame */
    const char *setting; /* NULL: the outline was left out */
    struct str why;
};

struct sub_import {
    struct feed_ref *refs; /* each feed once, by its first outline */
    size_t n_refs, n_doubles, n_left_out;
    struct import_note *notes; /* the first IMPORT_NOTES */
    size_t n_problems;
};

/* The settings of an outline's own attributes count where `freq` and `sanitize` of the request say
 * nothing. All in `a`. */
void sub_import_take(struct arena *a, const struct list_tree *tree, int64_t min_period_s,
                     struct sub_import *out);

/* Members "doubles", "left_out", "problems", "problem_count", each with a comma in front. */
void sub_import_write(struct buf *out, const struct sub_import *im);

/* Names of folders as they are stored; null when there are none or they are too many. */
struct str folder_json(struct arena *a, const struct str *names, size_t n);
