/* storage/sqlite/revisions.h - the SQL of the log: tables revisions and overlays.
 *
 * Writing calls run inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "model/feed.h"
#include "storage/sqlite/db.h"

/* Append r to the log; r->uid and r->first_seq are the entry's. */
/* How many there are. */
enum rc revisions_count(struct db *db, int64_t *out, struct err *err) NODISCARD;

enum rc revisions_append(struct db *db, const struct revision *r, int64_t entry_id,
                         struct err *err) NODISCARD;

/* Store or drop the overlay of a current revision: a document that is shown instead of the
 * revision's own. */
enum rc overlays_put(struct db *db, int64_t seq, struct str doc, struct str ext,
                     struct err *err) NODISCARD;
enum rc overlays_drop(struct db *db, int64_t seq, struct err *err) NODISCARD;

/* The rows of the log with these numbers, in this order, with their overlays if wanted. Those that
 * do not exist are left out. Arena. */
enum rc revisions_by_seq(struct db *db, const int64_t *seqs, size_t n, bool with_overlays,
                         struct arena *a, struct revision **out, size_t *n_out,
                         struct err *err) NODISCARD;

/* One row of the log, with its overlay if wanted. out->seq is 0 when there is none. */
enum rc revisions_load(struct db *db, int64_t seq, bool with_overlay, struct arena *a,
                       struct revision *out, struct err *err) NODISCARD;

/* The event times of rows, microseconds, into at_us[n]; 0 where there is no such row. */
enum rc revisions_times(struct db *db, const int64_t *seqs, size_t n, int64_t *at_us,
                        struct err *err) NODISCARD;

/* The date under which one row is shown, Unix seconds: updated, else published, else when it came
 * in. TIME_UNKNOWN: there is no such row. */
enum rc revisions_shown_at(struct db *db, int64_t seq, int64_t *at, struct err *err) NODISCARD;

/* Seq of the last revision at or before a time (microseconds); 0 when there is none. `last`: the
 * last seq of the log. */
enum rc revisions_at(struct db *db, int64_t at_us, int64_t last, int64_t *seq,
                     struct err *err) NODISCARD;

/* The first revision of a feed that is to be pushed to a subscription, of which position, events
 * and with_initial count; *seq is 0 when there is none. */
enum rc push_first(struct db *db, int64_t feed_id, const struct subscription *sub, int64_t *seq,
                   struct err *err) NODISCARD;

/* The revision `first`, and those of the same batch that follow it, at most `max`. */
enum rc push_batch(struct db *db, int64_t feed_id, const struct subscription *sub, int64_t first,
                   size_t max, int64_t *seqs, size_t *n_out, struct err *err) NODISCARD;

/* Those after `after` and before `before`, at most `max`; of the subscription, as above, but for
 * its position. */
enum rc push_range(struct db *db, int64_t feed_id, const struct subscription *sub, int64_t after,
                   int64_t before, size_t max, int64_t *seqs, size_t *n_out,
                   struct err *err) NODISCARD;

/* How many are to be pushed, counted to `max`. */
enum rc push_count(struct db *db, int64_t feed_id, const struct subscription *sub, int64_t max,
                   int64_t *n, struct err *err) NODISCARD;

/* The event time of the last revision at or before `seq`; 0: there is none. */
enum rc revisions_time_before(struct db *db, int64_t seq, int64_t *at_us,
                              struct err *err) NODISCARD;

/* Give all entries of feed `from` and their revisions to feed `to`; where both have an entry, the
 * one of `to` stays. *n_entries, *n_items: how many `to` has then, without and with deleted ones.
 */
enum rc revisions_merge(struct db *db, int64_t from, int64_t to, struct arena *a,
                        int64_t *n_entries, int64_t *n_items, struct err *err) NODISCARD;
