/* storage/upkeep.h - care of a database: a copy of it while it is used, a look for damage, and its
 * smallest form.
 *
 * For files. A PostgreSQL has programs of its own for all of it; for its address each call is
 * RC_UNSUPPORTED, and *err names the program. A database of another schema than this program's is
 * RC_UNSUPPORTED, too, where it matters. Any thread; the calls take as long as reading the file
 * takes.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* Between what a copy has and the first number that it will give: whatever the log has given after
 * the copy was made is in there. So a cursor of the log from that time is one before all that is
 * new. */
#define UPKEEP_GAP (INT64_C(1) << 20)

/* Called now and then: so many pages are copied. */
typedef void upkeep_progress_fn(void *ctx, int64_t n_done, int64_t n_all);

/* Called for each fault that is found. `rule` says what should be so, `what` where it is not.
 * Borrowed. */
typedef void upkeep_fault_fn(void *ctx, struct str rule, struct str what);

struct upkeep_calls {
    enum rc (*backup)(const char *db, const char *to, upkeep_progress_fn *fn, void *ctx,
                      struct err *err);
    enum rc (*check)(const char *db, upkeep_fault_fn *fn, void *ctx, struct err *err);
    enum rc (*compact)(const char *db, int64_t *before, int64_t *after, struct err *err);
};

/* Copy the database `db` to the file `to`, as it is at one moment. A daemon may work on it
 * meanwhile. The file appears under its name when it is whole and on disk, with the access rights
 * 0600; one that was there is replaced. It is a database with the same identity and secret:
 * cursors, links, tokens and subscriptions stay valid. Its next number is UPKEEP_GAP higher.
 * RC_INPUT: `to` is the database itself, or not a plain file. RC_IO. */
enum rc upkeep_backup(const char *db, const char *to, upkeep_progress_fn *fn, void *ctx,
                      struct err *err) NODISCARD;

/* Look for damage of the file, then for rows that break a rule of the log
 * (storage/sqlite/log_rules.def), each told to `fn`: at most a few for each rule. A daemon may work
 * on it meanwhile. RC_CONFLICT: there was at least one. RC_IO: it cannot be read at all. */
enum rc upkeep_check(const char *db, upkeep_fault_fn *fn, void *ctx, struct err *err) NODISCARD;

/* Write the file anew, without free space. Needs as much room beside it, for a while. No daemon may
 * work on it: RC_IO. *before and *after: bytes. */
enum rc upkeep_compact(const char *db, int64_t *before, int64_t *after, struct err *err) NODISCARD;
