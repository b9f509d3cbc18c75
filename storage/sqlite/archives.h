/* storage/sqlite/archives.h - the SQL of a feed's past: tables archives (documents of it) and
 * graves (tombstones of entries that are not known).
 *
 * Called inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "storage/records.h"
#include "storage/sqlite/db.h"

/* ---- archive documents ----------------------------------------------------------------------- */

/* Note that a document of the feed leads to this one. It must be read, unless it was read already.
 * If it was read in another walk (`walk` not 0), it is read again. At most ARCHIVES_MAX of a feed.
 */
enum rc archives_want(struct db *db, int64_t feed_id, struct str url, int64_t walk,
                      struct err *err) NODISCARD;

enum rc archives_find(struct db *db, int64_t feed_id, struct str url, struct archive_row *out,
                      bool *found, struct err *err) NODISCARD;

/* Note that the document was read. */
enum rc archives_read(struct db *db, int64_t feed_id, struct str url, struct err *err) NODISCARD;

/* Note that the document could not be read, or not to its end (`was_cut`). From `try_at` on it is
 * requested again. */
enum rc archives_failed(struct db *db, int64_t feed_id, struct str url, int64_t try_at,
                        bool was_cut, struct err *err) NODISCARD;

/* The document to read next. Of the documents that may be requested at `now`, it is the last one to
 * which the feed led. *url is null when there is no such document. Arena. */
enum rc archives_next(struct db *db, int64_t feed_id, int64_t now, struct arena *a, struct str *url,
                      struct err *err) NODISCARD;

/* Does the feed have documents that must be read, now or later? */
enum rc archives_pending(struct db *db, int64_t feed_id, bool *out, struct err *err) NODISCARD;

/* Forget unread documents with a lower `order`. INT64_MAX: forget all, including those that are to
 * be read once more. */
enum rc archives_forget(struct db *db, int64_t feed_id, int64_t order, struct err *err) NODISCARD;

/* Give the documents and tombstones of feed `from` to feed `to`, which keeps what it has. */
enum rc archives_move(struct db *db, int64_t from, int64_t to, struct err *err) NODISCARD;

/* ---- tombstones ------------------------------------------------------------------------------ */

/* Deletions that a document told of entries which are not known; of those with one uid the latest
 * counts. At TOMBSTONES_MAX of a feed the caller adds no more. */
enum rc tombstones_count(struct db *db, int64_t feed_id, int64_t *n, struct err *err) NODISCARD;
enum rc tombstones_put(struct db *db, int64_t feed_id, struct str uid, int64_t when_us,
                       struct err *err) NODISCARD;

/* *when_us: microseconds; TIME_UNKNOWN: there is none. */
enum rc tombstones_find(struct db *db, int64_t feed_id, struct str uid, int64_t *when_us,
                        struct err *err) NODISCARD;
enum rc tombstones_clear(struct db *db, int64_t feed_id, struct err *err) NODISCARD;
