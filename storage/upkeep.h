/* storage/upkeep.h - care of a database: a copy of it while it is used, a look for damage, and its
 * smallest form.
 *
 * For files, and the look for damage for PostgreSQL, too. That has programs of its own for the rest; for its address
 * each other call is RC_UNSUPPORTED, and *err names the program. A database of another schema than this program's is
 * RC_UNSUPPORTED, too, where it matters. Any thread; the calls take as long as reading the file
 * takes.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "model/filter.h"

struct store;

/* Between what a copy has and the first number that it will give: whatever the log has given after
 * the copy was made is in there. So a cursor of the log from that time is one before all that is
 * new. */
#define UPKEEP_GAP (INT64_C(1) << 20)

/* Called now and then: so many pages are copied. False: the copy is wanted no more. */
typedef bool upkeep_progress_fn(void *ctx, int64_t n_done, int64_t n_all);

/* Called for each fault that is found. `rule` says what should be so, `what` where it is not.
 * Borrowed. */
typedef void upkeep_fault_fn(void *ctx, struct str rule, struct str what);

struct upkeep_calls { /* NULL: the engine has a program for it */
    enum rc (*backup)(const char *db, const char *to, upkeep_progress_fn *fn, void *ctx,
                      struct err *err);
    enum rc (*copy)(const char *db, int64_t spare, upkeep_progress_fn *fn, void *ctx, int *fd,
                    int64_t *len, struct err *err);
    enum rc (*may_replace)(const char *to, struct err *err);
    enum rc (*make_part)(const char *part, int *fd, struct err *err);
    enum rc (*check)(const char *db, filter_read_fn *read_filter, upkeep_fault_fn *fn, void *ctx,
                     struct err *err);
    struct str (*shown)(struct arena *a, const char *db); /* NULL: as it is */
    enum rc (*compact)(const char *db, int64_t *before, int64_t *after, struct err *err);
};

/* Copy the database `db` to the file `to`, as it is at one moment. A daemon may work on it
 * meanwhile. The file appears under its name when it is whole and on disk, with the access rights
 * 0600; one that was there is replaced. It is a database with the same identity and secret:
 * cursors, links, tokens and subscriptions stay valid. Its next number is UPKEEP_GAP higher.
 * RC_INPUT: `to` is the database itself, or not a plain file. RC_CLOSED: fn wanted it no more.
 * RC_IO. */
enum rc upkeep_backup(const char *db, const char *to, upkeep_progress_fn *fn, void *ctx,
                      struct err *err) NODISCARD;

/* The same, as a file on the disk of the database that has no name there: when *fd is closed,
 * however that happens, it is gone. *fd is the caller's, *len its length in bytes. `spare`: so many
 * bytes of the disk are left to others.
 * RC_FULL: that leaves no room for the copy. RC_CLOSED: fn wanted it no more. RC_IO. */
enum rc upkeep_copy(const char *db, int64_t spare, upkeep_progress_fn *fn, void *ctx, int *fd,
                    int64_t *len, struct err *err) NODISCARD;

/* The same of the database on which the store works, which goes on working. It leaves some room on
 * the disk for what is stored meanwhile. It ends before the store is closed. */
enum rc store_copy(struct store *s, upkeep_progress_fn *fn, void *ctx, int *fd, int64_t *len,
                   struct err *err) NODISCARD;

/* May a copy that comes from somewhere else be given this name? RC_INPUT: no, it is not a plain
 * file, or a process works on it as a database, or on the one to which it belongs. RC_IO: it cannot
 * be looked at. */
enum rc upkeep_may_replace(const char *to, struct err *err) NODISCARD;

/* Make the file `part` for a copy that is not whole yet, and lock it: *fd is the caller's. Only its
 * owner may read it, because it has secrets. What a process that was killed has left of this name
 * is replaced. RC_CONFLICT: a living one writes to it. RC_IO. */
enum rc upkeep_make_part(const char *part, int *fd, struct err *err) NODISCARD;

/* Give the file `part`, which is open as `fd`, the name `to` in the same folder, and make both
 * last. RC_IO. */
enum rc upkeep_publish(const char *part, int fd, const char *to, struct err *err) NODISCARD;

/* Look for damage of a file, or nothing of that kind for PostgreSQL; then for tables and indexes that a new database has and this one
 * lacks, then for rows that break a rule of the log (storage/log_rules.def), each told to `fn`: at
 * most a few for each rule. `read_filter`: filter_read() of feed/filter/. A daemon may work on it
 * meanwhile. RC_CONFLICT: there was at least one. Everything else: it could not be looked at, or not to the end. */
enum rc upkeep_check(const char *db, filter_read_fn *read_filter, upkeep_fault_fn *fn, void *ctx,
                     struct err *err) NODISCARD;

/* What to call the database in a message: an address without its secrets. Arena. */
struct str upkeep_shown(struct arena *a, const char *db);

/* Write the file anew, without free space. Needs as much room beside it, for a while. No daemon may
 * work on it: RC_IO. *before and *after: bytes. */
enum rc upkeep_compact(const char *db, int64_t *before, int64_t *after, struct err *err) NODISCARD;
