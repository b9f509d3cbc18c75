/* storage/sqlite/views.h - which rows a view shows, in which order: keys read from indexes.
 *
 * All functions that return an enum rc may return RC_IO.
 */
#pragma once

#include "model/feed.h"
#include "model/view.h"
#include "storage/merge.h"
#include "storage/sqlite/db.h"

/* "[1,2,3]", for statements over several feeds. In the arena. */
struct str id_list(struct arena *a, const int64_t *ids, size_t n);

/* Keys of a feed's entries that are not deleted, newest first, at most `max`. */
typedef void key_fn(void *ctx, const struct merge_key *key);
enum rc keys_of_feed(struct db *db, int64_t feed_id, size_t max, key_fn *fn, void *ctx,
                     struct err *err) NODISCARD;

/* sort_at of a feed's oldest entry that is not deleted; TIME_UNKNOWN: it has none. */
enum rc entries_oldest(struct db *db, int64_t feed_id, int64_t *at, struct err *err) NODISCARD;

/* Keys of the entries of v->feed_ids in the order of a view by date, at most `max`, into the arrays
 * seqs and iris of that length. v->len and v->skip do not count, and entries that share an id all
 * appear. */
enum rc newest_keys_of(struct db *db, const struct view *v, size_t max, struct arena *scratch,
                       int64_t *seqs, int64_t *iris, size_t *n_out, struct err *err) NODISCARD;

/* Keys of a view's rows in its order, which is not by date, at most `max`, into the
 * array seqs of that length. v->len and v->skip do not count. */
enum rc view_keys(struct db *db, const struct view *v, size_t max, struct arena *scratch,
                  int64_t *seqs, size_t *n_out, struct err *err) NODISCARD;
