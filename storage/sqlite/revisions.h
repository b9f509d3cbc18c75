/* storage/sqlite/revisions.h - the SQL of the log: tables entries, revisions, overlays.
 *
 * Writing calls run inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "model/feed.h"
#include "model/view.h"
#include "storage/merge.h"
#include "storage/sqlite/db.h"

struct entry_row {
    int64_t id, feed_id;
    struct str uid; /* not read by entries_find() */
    int64_t first_seq, seq, sort_at;
    bool dated, deleted;
    int64_t iri_hash;
    unsigned char essence[16], doc_hash[16];
    int64_t updated_us, dead_at; /* as in schema.sql; TIME_UNKNOWN */
    bool has_marks;
    struct entry_marks marks; /* written by entries_mark() only */
};

/* The entry of a feed with this uid; out->id is 0 when there is none. */
enum rc entries_find(struct db *db, int64_t feed_id, struct str uid, struct entry_row *out,
                     struct err *err) NODISCARD;

/* Did another of these feeds (a JSON list) have an entry with this uid before? */
enum rc entries_elder(struct db *db, struct str feeds, struct str uid, int64_t first_seq, bool *out,
                      struct err *err) NODISCARD;

/* Insert sets e->id. Update writes what a new revision or document changes. */
enum rc entries_insert(struct db *db, struct entry_row *e, struct err *err) NODISCARD;
enum rc entries_update(struct db *db, const struct entry_row *e, struct err *err) NODISCARD;

/* The entry with this id, its uid in the arena; out->id is 0 when there is none. */
enum rc entries_load(struct db *db, int64_t id, struct arena *a, struct entry_row *out,
                     struct err *err) NODISCARD;

/* Replace the marks of an entry, and the keys by which it is found. */
enum rc entries_mark(struct db *db, struct entry_row *e, const struct entry_marks *marks,
                     struct err *err) NODISCARD;

/* The newest entries of a feed that have this key, uids in the arena; at most `max`. */
enum rc entries_of_key(struct db *db, int64_t feed_id, int64_t key, size_t max, struct arena *a,
                       struct entry_row *out, size_t *n_out, struct err *err) NODISCARD;

/* The entry of a feed that has marks which leave no doubt; out->id is 0 when there is none. */
enum rc entries_twin(struct db *db, int64_t feed_id, const struct entry_marks *marks,
                     struct arena *a, struct entry_row *out, struct err *err) NODISCARD;

/* Append r to the log; r->uid and r->first_seq are the entry's. */
enum rc revisions_append(struct db *db, const struct revision *r, int64_t entry_id,
                         struct err *err) NODISCARD;

/* The document shown instead of a current revision's. */
enum rc overlays_put(struct db *db, int64_t seq, struct str doc, struct str ext,
                     struct err *err) NODISCARD;
enum rc overlays_drop(struct db *db, int64_t seq, struct err *err) NODISCARD;

/* Newest seq of a feed; 0: none. */
enum rc revisions_last(struct db *db, int64_t feed_id, int64_t *seq, struct err *err) NODISCARD;

/* Entries of a feed whose newest revision is at or after `seq`; and those of them that are deleted.
 */
enum rc entries_since(struct db *db, int64_t feed_id, int64_t seq, int64_t *n, int64_t *n_deleted,
                      struct err *err) NODISCARD;

/* The event time of one row, microseconds; 0 when there is none. */
enum rc revisions_time(struct db *db, int64_t seq, int64_t *at_us, struct err *err) NODISCARD;

/* The date under which one row is shown: updated, else published, else when it came in.
 * TIME_UNKNOWN: there is no such row. */
enum rc revisions_shown_at(struct db *db, int64_t seq, int64_t *at, struct err *err) NODISCARD;

/* Give all entries of `from` and their revisions to `to`; where both have an entry, that of `to`
 * stays and the other goes. *n_entries, *n_items: how many of `to` there are afterwards, without
 * and with deleted ones. */
enum rc revisions_merge(struct db *db, int64_t from, int64_t to, struct arena *a,
                        int64_t *n_entries, int64_t *n_items, struct err *err) NODISCARD;

/* Keys of a feed's entries that are not deleted, newest first, at most `max`. */
typedef void key_fn(void *ctx, const struct merge_key *key);
enum rc keys_of_feed(struct db *db, int64_t feed_id, size_t max, key_fn *fn, void *ctx,
                     struct err *err) NODISCARD;

/* Is this row's entry what a view of the newest of these feeds (a list of id_list()) shows of all
 * that have its id, and not what it showed already who has everything up to `after_seq`? */
enum rc entries_is_news(struct db *db, struct str feeds, const struct revision *row,
                        int64_t after_seq, bool *out, struct err *err) NODISCARD;

/* sort_at of the last of them; TIME_UNKNOWN: there are none. */
enum rc entries_oldest(struct db *db, int64_t feed_id, int64_t *at, struct err *err) NODISCARD;

/* Keys of the newest entries of v->feed_ids (VIEW_NEWEST), at most `max`; v->len and v->skip are
 * not looked at, and doubles are not left out. seqs and iris are arrays of `max`. */
enum rc newest_keys_of(struct db *db, const struct view *v, size_t max, struct arena *scratch,
                       int64_t *seqs, int64_t *iris, size_t *n_out, struct err *err) NODISCARD;

/* Keys of a view's rows in its order, for every other order, at most `max`; v->len and v->skip are
 * not looked at. seqs is an array of `max`. */
enum rc view_keys(struct db *db, const struct view *v, size_t max, struct arena *scratch,
                  int64_t *seqs, size_t *n_out, struct err *err) NODISCARD;

/* "[1,2,3]", for statements over several feeds. In the arena. */
struct str id_list(struct arena *a, const int64_t *ids, size_t n);

/* One row of the log; with its overlay if wanted. out->seq is 0 when there is none. */
enum rc revisions_load(struct db *db, int64_t seq, bool with_overlay, struct arena *a,
                       struct revision *out, struct err *err) NODISCARD;

/* The first revision of a feed after a position that is to be pushed; *seq is 0 when none. */
enum rc push_first(struct db *db, int64_t feed_id, int64_t after, bool with_initial, int64_t *seq,
                   struct err *err) NODISCARD;

/* It and what follows of the same batch, at most `max`. */
enum rc push_batch(struct db *db, int64_t feed_id, int64_t first, bool with_initial, size_t max,
                   int64_t *seqs, size_t *n_out, struct err *err) NODISCARD;

/* Seq of the last revision at or before a time; 0 when there is none. `last`: of the log. */
enum rc revisions_at(struct db *db, int64_t at_us, int64_t last, int64_t *seq,
                     struct err *err) NODISCARD;
