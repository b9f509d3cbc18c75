/* api/views/filtering.h - reads what matters in the feeds of a view: the parameters q, author,
 * category, lang, has, after and before. All requests that name feeds read it here, so a parameter
 * means the same in each. */
#pragma once

#include "api/http/ask.h"
#include "model/filter.h"

struct filtering {
    const struct filter *filter; /* ages count from now, and have become times; NULL: all matters */
    const struct filter *lasting; /* the same, but ages count from the time of each revision. Its
                                     text stays the same as time passes */
    bool has_age;
};

/* The parameters of which a filter is made. */
extern const enum param_id filtering_params[];
extern const size_t n_filtering_params;

/* Read it. In the ask's arena. */
bool filtering_read(struct ask *ask, struct filtering *out, struct problem *p) NODISCARD;

/* Read the filter of a subscription, whose ages count from the time of each revision, as its
 * canonical text; null: none. `before`: the text that it has, null: none; conditions that no
 * parameter is about stay, and an empty value takes one away. Arena. */
bool filtering_change(const struct params *ps, struct arena *a, struct str before, struct str *out,
                      struct problem *p) NODISCARD;

/* Returns the link (selflink.h) without these parameters. */
struct str filtering_unset(struct arena *a, struct str link);
