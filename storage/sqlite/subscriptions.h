/* storage/sqlite/subscriptions.h - the SQL of subscriptions: tables subscriptions, sub_feeds.
 *
 * Writing calls run inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "model/feed.h"
#include "storage/sqlite/db.h"
#include "storage/store.h"

/* The subscriptions with these ids, in this order, with their feeds; those that do not exist are
 * left out. `ids` NULL: all, ascending by id. Arena. */
enum rc subs_by_id(struct db *db, const int64_t *ids, size_t n, struct arena *a,
                   struct subscription **out, size_t *n_out, struct err *err) NODISCARD;

/* As reader_push_subs(). */
enum rc subs_pushed(struct db *db, struct push_sub *subs, size_t n, struct err *err) NODISCARD;

/* What its sink alone knows: JSON, SECRET. */
enum rc subs_settings(struct db *db, int64_t id, struct arena *a, struct str *out,
                      struct err *err) NODISCARD;

/* As reader_asking(). */
enum rc subs_asking(struct db *db, struct arena *a, int64_t **out, size_t *n_out,
                       struct err *err) NODISCARD;

/* As reader_find_sub(). */
enum rc subs_find(struct db *db, struct str sink, struct str endpoint, struct str settings,
                  struct str owner, int64_t *id, int64_t *n_owned, struct err *err) NODISCARD;

/* The ids above `after_id`, ascending, at most `max`. Arena. */
enum rc subs_ids_after(struct db *db, int64_t after_id, size_t max, struct arena *a, int64_t **out,
                       size_t *n_out, struct err *err) NODISCARD;

/* As reader_subs_listed(). */
enum rc subs_listed(struct db *db, int64_t after_id, size_t max, struct arena *a,
                    struct sub_summary **out, size_t *n_out, struct err *err) NODISCARD;

/* Ids of the subscriptions that have this feed. */
enum rc subs_of_feed(struct db *db, int64_t feed_id, struct arena *a, int64_t **out, size_t *n_out,
                     struct err *err) NODISCARD;

/* Those that have the feed and this sink, ascending. */
/* As reader_followers(). */
struct list_followers;
enum rc subs_of_list(struct db *db, int64_t feed_id, struct arena *a, struct list_followers *out,
                     struct err *err) NODISCARD;

enum rc subs_of_feed_by_sink(struct db *db, int64_t feed_id, struct str sink, struct arena *a,
                             int64_t **out, size_t *n_out, struct err *err) NODISCARD;

/* Which feeds of a subscription does this URL mean? It is the URL by which the feed was subscribed,
 * the feed's own, an alias, or the web page it was discovered from. */
enum rc sub_feeds_match(struct db *db, int64_t sub_id, struct str url, struct arena *a,
                        int64_t **out, size_t *n_out, struct err *err) NODISCARD;

/* Make all subscriptions to feed `from` subscriptions to feed `to`. A subscription that has both
 * then has `to` once. */
enum rc sub_feeds_move(struct db *db, int64_t from, int64_t to, struct err *err) NODISCARD;
