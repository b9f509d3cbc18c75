/* search/terms.h - the terms of feed/words/ as the index of words takes them. Pure. */
#pragma once

#include "feed/words/terms.h"
#include "search/rows.h"

#define SEARCH_CUT TERMS_CUT

/* See search_terms_fn. */
void search_terms(const struct revision *rev, struct arena *scratch, struct buf *out);
