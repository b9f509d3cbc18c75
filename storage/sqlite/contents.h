/* storage/sqlite/contents.h - the SQL of table contents: which of the metadata records (Atom-PMH)
 * among the entries still need their content.
 *
 * Writing calls run inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "storage/records.h"
#include "storage/sqlite/db.h"

/* out->entry_id is 0 when there is none. */
enum rc contents_find(struct db *db, int64_t entry_id, struct content_row *out,
                      struct err *err) NODISCARD;

/* Write the row of an entry, whether it has one or not; row->entry_id is not used. */
enum rc contents_put(struct db *db, int64_t entry_id, const struct content_row *row,
                     struct err *err) NODISCARD;
enum rc contents_drop(struct db *db, int64_t entry_id, struct err *err) NODISCARD;

/* The newest entry of a feed whose content is open and may be asked for at `now`. */
enum rc contents_next(struct db *db, int64_t feed_id, int64_t now, struct content_row *out,
                      struct err *err) NODISCARD;

/* When the first open content of a feed may be asked for; TIME_UNKNOWN: none is open. */
enum rc contents_due(struct db *db, int64_t feed_id, int64_t *at, struct err *err) NODISCARD;

/* Feed `from` becomes part of feed `to`, with its rows. */
enum rc contents_move(struct db *db, int64_t from, int64_t to, struct err *err) NODISCARD;

/* Call fn for each feed that has open contents. */
typedef void contents_each_fn(void *ctx, int64_t feed_id);
enum rc contents_each_feed(struct db *db, contents_each_fn *fn, void *ctx,
                           struct err *err) NODISCARD;
