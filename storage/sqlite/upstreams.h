/* storage/sqlite/upstreams.h - the SQL of our subscriptions at upstream hubs and clouds: table
 * upstreams.
 *
 * Writing calls run inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "model/feed.h"
#include "storage/sqlite/db.h"

/* No other one of the feed is current any more. To be called before that one is stored. */
enum rc upstreams_take_current(struct db *db, int64_t feed_id, struct str token,
                               struct err *err) NODISCARD;

/* upstreams_put(): store it under its token; trust and delivered_at stay as they are.
 * upstreams_set_trust(): set these two. */
enum rc upstreams_put(struct db *db, const struct upstream *u, struct err *err) NODISCARD;
enum rc upstreams_set_trust(struct db *db, const struct upstream *u, struct err *err) NODISCARD;

/* The one with this token; *found false: there is none. Arena. */
enum rc upstreams_load(struct db *db, struct str token, struct arena *a, struct upstream *out,
                       bool *found, struct err *err) NODISCARD;
enum rc upstreams_of(struct db *db, const struct str *tokens, size_t n_tokens, struct arena *a,
                     struct upstream **out, size_t *n_out, struct err *err) NODISCARD;
enum rc upstreams_drop(struct db *db, struct str token, struct err *err) NODISCARD;

/* The feed's upstream hub has delivered something at `now`. */
enum rc upstreams_delivered(struct db *db, int64_t feed_id, int64_t now, struct err *err) NODISCARD;

/* The feed's upstream cloud has sent a notification at `now`. What it is worth is known after the
 * fetch: the trust stays as it is. */
enum rc upstreams_announced(struct db *db, int64_t feed_id, int64_t now, struct err *err) NODISCARD;

/* Set the trust to `trust` after a poll. `was` is the trust when the poll began. If the trust is no
 * longer `was`, because a delivery came, it stays as it is. */
enum rc upstreams_trust(struct db *db, int64_t feed_id, int was, int trust,
                        struct err *err) NODISCARD;

/* All of them. Arena. */
enum rc upstreams_all(struct db *db, struct arena *a, struct upstream **out, size_t *n_out,
                      struct err *err) NODISCARD;
