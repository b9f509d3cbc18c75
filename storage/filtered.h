/* storage/filtered.h - filtered reading: the rows of a view that match its filter.
 *
 * Only the filter's judge says what matches. The index of words (storage/index.h) finds candidates;
 * what comes after its place is judged without it.
 */
#pragma once

#include "model/filter.h"
#include "storage/store.h"

/* What reader_rows() does for a view with a filter; store.h says what it gives. */
enum rc filtered_rows(struct reader *r, const struct view *v, struct arena *a,
                      struct revision **out, size_t *n_out, struct err *err) NODISCARD;
