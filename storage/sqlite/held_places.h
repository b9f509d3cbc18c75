/* storage/sqlite/held_places.h - whose URLs are (storage/rows_places.h): what operations want of
 * them is read, and what was changed is written. Parts of held_load() and held_write().
 *
 * Called inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "storage/sqlite/db.h"
#include "storage/wants.h"

/* The rows of the feeds are held. */
enum rc held_places_load(struct db *db, struct rows *r, const struct wants *w,
                         struct err *err) NODISCARD;

/* After the rows of feeds were written. */
enum rc held_places_write(struct db *db, struct rows *r, struct err *err) NODISCARD;
