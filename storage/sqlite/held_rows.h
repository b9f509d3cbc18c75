/* storage/sqlite/held_rows.h - reads rows into memory and writes them back (storage/rows.h).
 *
 * Called inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "storage/sqlite/db.h"
#include "storage/wants.h"

/* Read all rows that are wanted and not held yet. What was changed must have been written. */
enum rc held_load(struct db *db, struct rows *r, const struct wants *w, struct err *err) NODISCARD;

/* Read a row, if it is not held yet. A feed that does not exist is held as missing. */
enum rc held_feed_load(struct db *db, struct rows *r, int64_t id, bool with_head,
                       struct err *err) NODISCARD;

/* Write what was changed, table after table. After an error, the transaction cannot go on. */
enum rc held_write(struct db *db, struct rows *r, struct err *err) NODISCARD;
