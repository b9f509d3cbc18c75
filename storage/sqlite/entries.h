/* storage/sqlite/entries.h - the SQL of tables entries and entry_keys: what is known of an entry
 * beside its revisions.
 *
 * Writing calls run inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "storage/records.h"
#include "storage/sqlite/db.h"

/* The row of an entry that is not there. */
struct entry_row entries_missing(int64_t feed_id, struct str uid);

/* The entry of a feed with this uid; out->id is 0 when there is none. */
enum rc entries_find(struct db *db, int64_t feed_id, struct str uid, struct entry_row *out,
                     struct err *err) NODISCARD;

/* The entry with this id, its uid in the arena; out->id is 0 when there is none. */
enum rc entries_load(struct db *db, int64_t id, struct arena *a, struct entry_row *out,
                     struct err *err) NODISCARD;

/* The entries of these feeds that have one of these uids, ascending by `of`. Arena. */
enum rc entries_of_uids(struct db *db, const int64_t *feed_ids, size_t n_feeds,
                        const struct str *uids, size_t n_uids, struct arena *a,
                        struct uid_match **out, size_t *n_out, struct err *err) NODISCARD;

/* The entries of a feed that have one of these uids or one of these keys; of those with the same
 * key, at most `max`, the newest. An entry may appear more than once. *out is yours (mem_free());
 * its uids are in the arena. */
enum rc entries_known(struct db *db, int64_t feed_id, const struct str *uids, size_t n_uids,
                      const int64_t *keys, size_t n_keys, size_t max, struct arena *a,
                      struct entry_row **out, size_t *n_out, struct err *err) NODISCARD;

/* Insert sets e->id. Update writes what a new revision or document changes. */
enum rc entries_insert(struct db *db, struct entry_row *e, struct err *err) NODISCARD;
enum rc entries_update(struct db *db, const struct entry_row *row, struct err *err) NODISCARD;

/* How many entries of these feeds have their newest revision at or after `seq`, and how many of
 * those are deleted. */
enum rc entries_since(struct db *db, const int64_t *feed_ids, size_t n_feeds, int64_t seq,
                      int64_t *n, int64_t *n_deleted, struct err *err) NODISCARD;

/* As reader_deleted_since(). */
enum rc deletions_since(struct db *db, const int64_t *feed_ids, size_t n_feeds, int64_t seq,
                        bool *out, struct err *err) NODISCARD;

/* As reader_count_between(). */
enum rc entries_between(struct db *db, const int64_t *feed_ids, size_t n_feeds, bool by_creation,
                        int64_t from, int64_t to, int64_t max, int64_t *out,
                        struct err *err) NODISCARD;

/* Give an entry the keys of its marks, by which it is found. `was`: its marks before; NULL: it had
 * none. */
enum rc entries_set_keys(struct db *db, const struct entry_row *e, const struct entry_marks *was,
                         struct err *err) NODISCARD;

/* The newest entries of a feed that have this key, uids in the arena; at most `max`. */
enum rc entries_of_key(struct db *db, int64_t feed_id, int64_t key, size_t max, struct arena *a,
                       struct entry_row *out, size_t *n_out, struct err *err) NODISCARD;

/* Give the entries of feed `from` and their keys to feed `to`. Where both have an entry, the one of
 * `from` is deleted, with its revisions. */
enum rc entries_merge(struct db *db, int64_t from, int64_t to, struct arena *a,
                      struct err *err) NODISCARD;
