/* storage/verdicts.h - what was judged of late: which revisions filters tell, and as which kind.
 *
 * A revision never changes, and a filter neither, so a verdict holds for ever. Many subscriptions
 * with one filter share it. It is a table of one size, in which a newer verdict may take the place
 * of an older one. Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct verdicts;

struct verdicts *verdicts_new(void);
void verdicts_free(struct verdicts **vp);

#define VERDICT_UNKNOWN (-2)

/* Look up what the filter with this text says of revisions, by seq: kinds[n] as of filtered_kinds()
 * (storage/filtered.h), or VERDICT_UNKNOWN. */
void verdicts_get(struct verdicts *v, struct str filter, const int64_t *seqs, size_t n, int *kinds);
void verdicts_put(struct verdicts *v, struct str filter, const int64_t *seqs, size_t n,
                  const int *kinds);
