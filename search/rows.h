/* search/rows.h - what the index of words holds of revisions (storage/index.h). */
#pragma once

#include "base/buf.h"
#include "storage/index.h"

/* Append the terms of one revision, each with a space after it. They have no ASCII characters but
 * [a-z0-9]. */
typedef void search_terms_fn(const struct revision *rev, struct arena *scratch, struct buf *out);

/* The rows of the next revisions after `from`, of all feeds, at most `max`. out->to is the last of
 * them, or where the log ended when there were fewer. out->to == from: there is nothing new.
 * Arena. */
enum rc search_rows(struct reader *r, search_terms_fn *terms, int64_t from, int64_t end, size_t max,
                    struct arena *a, struct index_group *out, struct err *err) NODISCARD;
