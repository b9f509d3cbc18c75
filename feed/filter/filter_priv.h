/* feed/filter/filter_priv.h - a filter as the files of feed/filter/ know it. */
#pragma once

#include "feed/filter/filter.h"
#include "feed/filter/question.h"

/* A limit of the date that orders a view. */
struct moment {
    enum { MOMENT_NONE, MOMENT_AT, MOMENT_AGE } kind;
    int64_t s; /* Unix seconds, or the age in seconds */
};

struct own_filter {
    struct filter pub;                   /* must be the first member */
    const struct question *q;            /* NULL: none */
    struct str_list authors, categories; /* folded (words_fold_value()), ascending */
    struct str_list langs;               /* lower case, ascending */
    unsigned has;                        /* bits of enum entry_has: any of them; 0: not asked */
    struct moment after, before;
};

/* The terms that a revision must have (model/filter.h). NULL: they cannot narrow it down. */
const struct term_query *filter_terms(struct arena *a, const struct own_filter *f);

/* The judge. */
bool filter_judge(const struct filter *f, const struct revision *rev, struct str head, int64_t date,
                  struct arena *scratch);
