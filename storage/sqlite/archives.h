/* storage/sqlite/archives.h - the SQL of a feed's past: tables archives (documents of it) and
 * graves (tombstones of entries that are not known).
 *
 * Called inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "storage/records.h"
#include "storage/sqlite/db.h"

/* ---- archive documents ----------------------------------------------------------------------- */

/* Call fn for each document of the feed that is not read, or not to its end. Arena. */
typedef void archives_each_fn(void *ctx, const struct archive_row *row);
enum rc archives_each_open(struct db *db, int64_t feed_id, struct arena *a, archives_each_fn *fn,
                           void *ctx, struct err *err) NODISCARD;

/* One document. *found: it is known. Arena. */
enum rc archives_find(struct db *db, int64_t feed_id, struct str url, struct arena *a,
                      struct archive_row *out, bool *found, struct err *err) NODISCARD;

/* How many documents are known, and the highest `order` of those that were read. */
enum rc archives_count(struct db *db, int64_t feed_id, int64_t *n, int64_t *last_read,
                       struct err *err) NODISCARD;

/* Write a document, whether it has a row or not; delete its row. */
enum rc archives_put(struct db *db, const struct archive_row *row, struct err *err) NODISCARD;
enum rc archives_drop(struct db *db, int64_t feed_id, struct str url, struct err *err) NODISCARD;

/* Give the documents and tombstones of feed `from` to feed `to`, which keeps what it has. */
enum rc archives_move(struct db *db, int64_t from, int64_t to, struct err *err) NODISCARD;

/* ---- tombstones ------------------------------------------------------------------------------ */

/* *when_us: microseconds; TIME_UNKNOWN: there is none. */
enum rc tombstones_find(struct db *db, int64_t feed_id, struct str uid, int64_t *when_us,
                        struct err *err) NODISCARD;
enum rc tombstones_count(struct db *db, int64_t feed_id, int64_t *n, struct err *err) NODISCARD;
enum rc tombstones_put(struct db *db, int64_t feed_id, struct str uid, int64_t when_us,
                       struct err *err) NODISCARD;

/* Delete all tombstones of the feed. */
enum rc tombstones_clear(struct db *db, int64_t feed_id, struct err *err) NODISCARD;
