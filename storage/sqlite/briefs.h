/* storage/sqlite/briefs.h - what the directory keeps of feeds, read by sets.
 *
 * All functions may return RC_IO.
 */
#pragma once

#include "storage/directory.h"
#include "storage/sqlite/feeds.h"

/* Read what the directory keeps of these feeds, except the keys: out[i] is that of ids[i], with
 * brief.id 0 when there is no such feed. rows[i]: the feed's present row, if it is known; NULL: it
 * is read. `rows` NULL: none is known. Arena. */
enum rc briefs_load(struct db *db, const int64_t *ids, const struct feed_row *const *rows, size_t n,
                    struct arena *a, struct directory_feed *out, struct err *err) NODISCARD;

/* The same of the next feeds after `after`, ascending, at most `max`. */
enum rc briefs_after(struct db *db, int64_t after, size_t max, struct arena *a,
                     struct directory_feed *out, size_t *n_out, struct err *err) NODISCARD;

/* Read the newest keys of these feeds, at most `max` of each: out[i] is that of ids[i]. */
enum rc briefs_keys(struct db *db, const int64_t *ids, size_t n, size_t max, struct key_run *out,
                    struct err *err) NODISCARD;
