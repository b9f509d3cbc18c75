/* storage/pg/retain.h - statements of retention: what is old, and its removal. */
#pragma once

#include "storage/engine.h"
#include "storage/pg/link.h"

/* As the calls of the same names in `struct writes`; the feed is locked. A trip each; with it goes
 * what was queued before. `p`: for the parameters. */
enum rc pg_old_revisions(struct pg_link *l, struct pg_params *p, int64_t feed_id, int64_t after,
                         int64_t limit, size_t max, struct arena *a, struct old_revisions *out,
                         struct err *err) NODISCARD;
enum rc pg_take_revisions(struct pg_link *l, struct pg_params *p, int64_t feed_id,
                          const struct taken *what, int64_t now, struct err *err) NODISCARD;
enum rc pg_gone_entries(struct pg_link *l, struct pg_params *p, int64_t feed_id,
                        const struct gone_entry *after, int64_t before, size_t max, struct arena *a,
                        struct gone_entry **out, size_t *n, struct err *err) NODISCARD;
enum rc pg_end_entries(struct pg_link *l, struct pg_params *p, int64_t feed_id,
                       const struct ended *what, int64_t now, struct err *err) NODISCARD;
