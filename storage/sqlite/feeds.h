/* storage/sqlite/feeds.h - the SQL of feed records: tables feeds, heads, aliases.
 *
 * Writing calls run inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "model/feed.h"
#include "storage/sqlite/db.h"

/* A row of `feeds`, without head and ext unless asked for. */
struct feed_row {
    struct feed_record rec;
    bool fetched;
};

/* The record of a URL and credential (or access key): its own URL, else an alias, else a page it
 * was discovered from. *id is 0 when there is none. */
enum rc feeds_find(struct db *db, struct str url, struct str credential, int64_t *id,
                   struct err *err) NODISCARD;

/* The same, by the record's own URL and very credential only. */
enum rc feeds_find_own(struct db *db, struct str url, struct str credential, int64_t *id,
                       struct err *err) NODISCARD;

/* Make a record: level 1, due at `now`. */
enum rc feeds_insert(struct db *db, struct str url, struct str credential, int64_t now,
                     int64_t version, int64_t *id, struct err *err) NODISCARD;

/* RC_NOT_FOUND when there is no such record. */
enum rc feeds_load(struct db *db, int64_t id, bool with_head, struct arena *a, struct feed_row *out,
                   struct err *err) NODISCARD;

/* Write back everything but id, URLs, credential, head, identity policy and the count of pings. */
enum rc feeds_save(struct db *db, const struct feed_row *row, struct err *err) NODISCARD;
enum rc feeds_save_identity(struct db *db, int64_t id, const struct identity_policy *p,
                            struct err *err) NODISCARD;
enum rc feeds_save_urls(struct db *db, int64_t id, struct str url, struct str page_url,
                        struct err *err) NODISCARD;
enum rc feeds_save_head(struct db *db, int64_t id, struct str head, struct str ext,
                        struct err *err) NODISCARD;

/* Note the head under which revisions from `since_seq` on appear; and put into *r the URL, title,
 * site and head in force at `seq`, or the first ones when they came later. A record without any is
 * left as it is. head_log_take() gives the heads of one record to another. */
enum rc head_log_add(struct db *db, int64_t since_seq, const struct feed_record *r,
                     struct err *err) NODISCARD;
enum rc head_log_at(struct db *db, int64_t seq, struct arena *a, struct feed_record *r,
                    struct err *err) NODISCARD;
enum rc head_log_take(struct db *db, int64_t from, int64_t to, struct err *err) NODISCARD;

/* How many entries these feeds have, deleted ones included or not. `ids`: a JSON list. */
enum rc feeds_count(struct db *db, struct str ids, bool with_deleted, int64_t *out,
                    struct err *err) NODISCARD;

/* Delete a record that nothing refers to any more. */
enum rc feeds_delete(struct db *db, int64_t id, struct err *err) NODISCARD;

/* Note the time a reader asked for a feed. */
enum rc feeds_touch(struct db *db, int64_t id, int64_t now, struct err *err) NODISCARD;

/* A ping named the feed: it is due now. *found: there is such a record. */
enum rc feeds_ping(struct db *db, int64_t id, int64_t now, bool *found, struct err *err) NODISCARD;

/* Aliases. One that is some record's own URL is left out, and so is one when the feed has `most` of
 * them; one of another record moves here. */
enum rc aliases_add(struct db *db, int64_t feed_id, struct str url, struct str credential,
                    int64_t most, struct err *err) NODISCARD;
enum rc aliases_drop(struct db *db, struct str url, struct str credential,
                     struct err *err) NODISCARD;
enum rc aliases_move(struct db *db, int64_t from, int64_t to, struct err *err) NODISCARD;
enum rc aliases_load(struct db *db, int64_t feed_id, struct arena *a, struct str **out,
                     size_t *n_out, struct err *err) NODISCARD;

/* All records by id; those that are scheduled, with their due times and reasons. A feed that was
 * last checked after `now`, by a clock that ran ahead, is due now. */
typedef void feeds_each_fn(void *ctx, int64_t feed_id, int64_t next_fetch_at,
                           enum fetch_reason reason);
enum rc feeds_each(struct db *db, feeds_each_fn *fn, void *ctx, struct err *err) NODISCARD;
enum rc feeds_each_due(struct db *db, int64_t now, feeds_each_fn *fn, void *ctx,
                       struct err *err) NODISCARD;

/* The access key in a credential as a URL carries it ("fm-..." with or without ":"); null when it
 * is none. Pure. */
struct str access_key_of(struct str credential);
