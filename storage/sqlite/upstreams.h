/* storage/sqlite/upstreams.h - the SQL of our subscriptions at publishers' hubs: table upstreams.
 *
 * Writing calls run inside the storer's transaction. All may give RC_IO.
 */
#pragma once

#include "model/feed.h"
#include "storage/sqlite/db.h"

/* Keep it under its token; trust and delivered_at stay as they are. */
enum rc upstreams_put(struct db *db, const struct upstream *u, struct err *err) NODISCARD;
enum rc upstreams_drop(struct db *db, struct str token, struct err *err) NODISCARD;

/* The feed's hub has delivered something. */
enum rc upstreams_delivered(struct db *db, int64_t feed_id, int64_t now, struct err *err) NODISCARD;

/* A poll that began when the trust was `was` makes it `trust`; not when a delivery came meanwhile.
 */
enum rc upstreams_trust(struct db *db, int64_t feed_id, int was, int trust,
                        struct err *err) NODISCARD;

/* All of them. */
enum rc upstreams_all(struct db *db, struct arena *a, struct upstream **out, size_t *n_out,
                      struct err *err) NODISCARD;
