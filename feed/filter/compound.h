/* feed/filter/compound.h - filters made of filters (model/filter.h). Pure; the results are in the
 * arena, and borrow what they are made of. Their texts can be read back by filter_read(). */
#pragma once

#include "feed/filter/filter.h"

/* What matches both. Each may be NULL: then all does. */
const struct filter *filter_both(struct arena *a, const struct filter *f, const struct filter *g);

/* Of these feeds what matches the filter. */
struct filter_part {
    const int64_t *ids; /* ascending, without doubles */
    size_t n;
    const struct filter *filter; /* NULL: all */
};

/* What matches one of the parts; n >= 1. A revision of no part's feeds does not match. */
const struct filter *filter_any(struct arena *a, const struct filter_part *parts, size_t n);

/* Make the filter of the text of a compound. NULL: it is none. `now`: as filter_read_at(). */
const struct filter *compound_read(struct arena *a, struct str text, int64_t now, int depth);
bool is_compound(struct str text);
