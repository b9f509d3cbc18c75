/* storage/sqlite/deliveries.h - the SQL of what became of deliveries: tables deliveries and
 * dead_letters.
 *
 * Writing calls run inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "model/feed.h"
#include "storage/sqlite/db.h"

/* Forget the log of a subscription that ends. */
enum rc deliveries_drop(struct db *db, int64_t sub_id, struct err *err) NODISCARD;

/* The last lines, newest first, at most `max`. Arena. */
enum rc deliveries_of(struct db *db, int64_t sub_id, size_t max, struct arena *a,
                      struct delivery_note **out, size_t *n_out, struct err *err) NODISCARD;

/* The dead letters of a subscription, oldest first, at most `max`. Arena. */
enum rc dead_of(struct db *db, int64_t sub_id, size_t max, struct arena *a,
                struct dead_letter **out, size_t *n_out, struct err *err) NODISCARD;

/* The first one that is to be delivered again, and whose revision or event still exists: 0 or 1.
 * Each delivery asks for it, so it is found by an index alone. Arena. */
enum rc dead_wanted(struct db *db, int64_t sub_id, struct arena *a, struct dead_letter **out,
                    size_t *n_out, struct err *err) NODISCARD;

/* As reader_dead_counts(). */
enum rc dead_counts(struct db *db, int64_t first, int64_t last, struct arena *a, struct dead_count **out,
                    size_t *n_out, struct err *err) NODISCARD;
