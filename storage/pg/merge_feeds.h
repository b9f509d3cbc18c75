/* storage/pg/merge_feeds.h - two feeds become one. */
#pragma once

#include "storage/engine.h"
#include "storage/pg/link.h"

/* As merge_feeds() of storage/engine.h; both feeds are locked. Two trips, and with them goes what
 * was queued before. `p`: for the parameters. */
enum rc pg_merge_feeds(struct pg_link *l, struct pg_params *p, const struct feed *from,
                       const struct feed *to, bool with_heads, struct arena *a,
                       struct merged_feeds *out, struct err *err) NODISCARD;
