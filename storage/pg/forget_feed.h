/* storage/pg/forget_feed.h - a feed and all that it has go. */
#pragma once

#include "storage/pg/link.h"

/* As forget_feed() of storage/engine.h; the feed is locked. One trip, and with it goes what was
 * queued before. `p`: for the parameters. */
enum rc pg_forget_feed(struct pg_link *l, struct pg_params *p, int64_t id, struct arena *a,
                       int64_t **subs, size_t *n_subs, struct err *err) NODISCARD;
