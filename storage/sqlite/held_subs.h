/* storage/sqlite/held_subs.h - reads the rows of subscriptions into memory and writes them back
 * (storage/rows_subs.h).
 *
 * Called inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "storage/rows_subs.h"
#include "storage/sqlite/db.h"
#include "storage/wants.h"

/* Read what is wanted of subscriptions, as far as it is not held yet. One that does not exist is
 * held as that. */
enum rc held_subs_load(struct db *db, struct rows *r, const struct want_sub *wants, size_t n,
                       struct err *err) NODISCARD;

/* Find the feeds of subscriptions that URLs name, and hold their rows. */
enum rc held_matches_load(struct db *db, struct rows *r, const struct want_match *wants, size_t n,
                          struct err *err) NODISCARD;

/* Write a row that was touched. */
enum rc held_sub_write(struct db *db, struct held *row, struct err *err) NODISCARD;
enum rc held_sub_feed_write(struct db *db, struct held *row, struct err *err) NODISCARD;
enum rc held_dead_write(struct db *db, struct held *row, struct err *err) NODISCARD;
enum rc held_note_write(struct db *db, struct held *row, struct err *err) NODISCARD;
