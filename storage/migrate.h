/* storage/migrate.h - copies a whole log from one engine to the other, or compares two. */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct migrate_cfg {
    const char *from, *to; /* one is a file, the other an address of PostgreSQL */
    bool check;            /* copy nothing: compare what both have */
};

/* Called for each table when it is done. `same`: of a check, and true otherwise. */
typedef void migrate_fn(void *ctx, const char *table, int64_t n_rows, bool same);

/* Copy all rows in one transaction: all or nothing. Ids, numbers of the log, times, the identity of
 * the log and its secret stay as they are, so cursors, access keys and signed links stay valid.
 * Both sides are locked meanwhile, so no daemon may work on them. RC_INPUT: they are not one of
 * each; RC_CONFLICT: the target has data; with `check`, the two differ. RC_UNSUPPORTED: built
 * without PostgreSQL, or a database is not Feedmill's. */
enum rc migrate_run(const struct migrate_cfg *cfg, migrate_fn *fn, void *ctx,
                    struct err *err) NODISCARD;
