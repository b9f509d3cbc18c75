/* storage/newest.h - the newest entries of feeds, from the keys in memory (storage/directory.h).
 * The keys that a merge reaches and that nobody has asked for before are read, and stay in memory.
 */
#pragma once

#include "storage/store_priv.h"

#define NEWEST_READ_MOST 20000

/* Find them, as merge_runs() does. *found false: the answer needs older keys than are in memory,
 * also after those of `most` feeds were read; for a range with an upper date those of few feeds
 * are. The thread of the reader, in its snapshot. */
enum rc newest_in_memory(struct reader *r, const int64_t *ids, size_t n,
                         const struct merge_range *range, size_t most, struct arena *scratch,
                         int64_t *out, size_t *n_out, bool *found, struct err *err) NODISCARD;
