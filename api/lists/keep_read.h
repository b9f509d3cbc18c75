/* api/lists/keep_read.h - how much of its feeds a subscription, or a feed itself, wants to be kept:
 * the parameters `keep` and `keep_entries`. Pure. */
#pragma once

#include "api/http/params.h"
#include "model/keep.h"

/* Get both as a change (model/keep.h). An empty value takes the wish away; 0 is a wish for
 * everything. A check that fails sets *p and returns false. */
bool keep_read(const struct params *ps, struct arena *a, struct keep *change,
               struct problem *p) NODISCARD;
