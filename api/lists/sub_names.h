/* api/lists/sub_names.h - a subscriber's own names for feeds: the parameters `title` and `folder`.
 * Pure. A check that fails sets *p and returns false. */
#pragma once

#include "api/http/params.h"

/* Get `title`, for a request or subscription of `n_feeds` feeds. Null: it is missing; empty: it is
 * empty. */
bool sub_title_read(const struct params *ps, struct arena *a, size_t n_feeds, struct str *out,
                    struct problem *p) NODISCARD;

/* Get `folder`, as it is stored (struct sub_feed). Null: it is missing; empty: it names none. */
bool sub_folder_read(const struct params *ps, struct arena *a, struct str *out,
                     struct problem *p) NODISCARD;
