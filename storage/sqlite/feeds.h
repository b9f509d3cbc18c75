/* storage/sqlite/feeds.h - the SQL of feeds: tables feeds, heads, head_log, aliases.
 *
 * Writing calls run inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "storage/records.h"
#include "storage/sqlite/db.h"
#include "storage/store.h"

/* Add the row of a feed, with its id, URLs and identity policy, but without its head. */
enum rc feeds_insert(struct db *db, const struct feed_row *row, struct err *err) NODISCARD;

/* The feeds with these ids, in this order, with their heads; those that do not exist are left out.
 * `ids` NULL: all, ascending by id. Arena. */
enum rc feeds_by_id(struct db *db, const int64_t *ids, size_t n, struct arena *a, struct feed **out,
                    size_t *n_out, struct err *err) NODISCARD;

/* The same, as far as documents show it: FEED_SHOWN, and the heads. */
enum rc feeds_shown(struct db *db, const int64_t *ids, size_t n, struct arena *a, struct feed **out,
                    size_t *n_out, struct err *err) NODISCARD;

/* One feed, for a change of it. RC_NOT_FOUND: there is no such feed. Arena. */
enum rc feeds_load(struct db *db, int64_t id, bool with_head, struct arena *a, struct feed_row *out,
                   struct err *err) NODISCARD;

/* Set head and ext of a feed, if it has them. Arena. */
enum rc heads_load(struct db *db, int64_t id, struct arena *a, struct feed *r,
                   struct err *err) NODISCARD;

/* The URL of a feed and its title, which may be null. RC_NOT_FOUND. */
enum rc feeds_name(struct db *db, int64_t id, struct arena *a, struct str *url, struct str *title,
                   struct err *err) NODISCARD;

/* As reader_listed() (storage/store.h). */
enum rc feeds_listed(struct db *db, const int64_t *ids, size_t n, struct arena *a,
                     struct feed_summary **out, size_t *n_out, struct err *err) NODISCARD;

/* Write back everything but id, URLs, credential, head and identity policy, which have statements
 * of their own. */
enum rc feeds_save(struct db *db, const struct feed_row *row, struct err *err) NODISCARD;
enum rc feeds_save_count(struct db *db, int64_t id, int n_subscriptions, struct err *err) NODISCARD;
enum rc feeds_save_identity(struct db *db, int64_t id, const struct identity_policy *p,
                            struct err *err) NODISCARD;
enum rc feeds_save_urls(struct db *db, int64_t id, struct str url, struct str page_url,
                        struct err *err) NODISCARD;
enum rc feeds_save_head(struct db *db, int64_t id, struct str head, struct str ext,
                        struct err *err) NODISCARD;

/* head_log_add(): revisions from `since_seq` on appear under this feed's URL, title, site and head.
 * head_log_at(): put into each feeds[i] those in force at seqs[i], or the first ones when seqs[i]
 * is before them; a feed that has none is left as it is. head_log_take(): give those of feed `from`
 * to feed `to`. */
enum rc head_log_add(struct db *db, int64_t since_seq, const struct feed *r,
                     struct err *err) NODISCARD;
enum rc head_log_at(struct db *db, struct feed *feeds, const int64_t *seqs, size_t n,
                    struct arena *a, struct err *err) NODISCARD;
enum rc head_log_take(struct db *db, int64_t from, int64_t to, struct err *err) NODISCARD;

/* How many entries these feeds have, with or without deleted ones. */
enum rc feeds_count(struct db *db, const int64_t *ids, size_t n, bool with_deleted, int64_t *out,
                    struct err *err) NODISCARD;

/* Delete a feed that nothing refers to any more. */
enum rc feeds_delete(struct db *db, int64_t id, struct err *err) NODISCARD;

/* Aliases: other URLs that mean the feed. aliases_find(): of which feed a URL is one; 0: of none. A
 * URL is not added if it is the own URL of any feed. A URL that means another feed means this one
 * from now on. */
enum rc aliases_find(struct db *db, struct str url, struct str credential, int64_t *feed_id,
                     struct err *err) NODISCARD;
enum rc aliases_count(struct db *db, int64_t feed_id, int64_t *n, struct err *err) NODISCARD;
enum rc aliases_add(struct db *db, int64_t feed_id, struct str url, struct str credential,
                    struct err *err) NODISCARD;
enum rc aliases_drop(struct db *db, struct str url, struct str credential,
                     struct err *err) NODISCARD;
enum rc aliases_move(struct db *db, int64_t from, int64_t to, struct err *err) NODISCARD;
enum rc aliases_load(struct db *db, int64_t feed_id, struct arena *a, struct str **out,
                     size_t *n_out, struct err *err) NODISCARD;

/* Call fn for the scheduled feeds, by id. A feed whose last check is later than `now` was checked
 * by a clock that ran ahead: it is due now. */
typedef void feeds_each_fn(void *ctx, int64_t feed_id, int64_t next_fetch_at,
                           enum fetch_reason reason);
enum rc feeds_each_due(struct db *db, int64_t now, feeds_each_fn *fn, void *ctx,
                       struct err *err) NODISCARD;
