/* storage/sqlite/held_past.h - the pasts of feeds (storage/rows_past.h): what an operation wants of
 * them is read, and what was changed is written. Parts of held_load() and held_write().
 *
 * Called inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "storage/sqlite/db.h"
#include "storage/wants.h"

/* The rows of the feeds are held. */
enum rc held_past_load(struct db *db, struct rows *r, const struct wants *w,
                       struct err *err) NODISCARD;
enum rc held_past_write(struct db *db, struct rows *r, struct err *err) NODISCARD;
